/// The purse of a run: whether what is left to spend allows one request more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headway/random.hpp"
#include "journal/journal.hpp"
#include "provider/judgement.hpp"
#include "provider/price.hpp"
#include "run/options.hpp"
#include "run/request.hpp"
#include "run/source.hpp"
#include "run/spending.hpp"

namespace headway::app {

/// Keeps `spending` in the notes of a journal or queue, and gives way to other hosts where only one
/// of those that announce a request has room for it. Threads: one.
class purse {
 public:
  /// `log`: of earlier runs, or null.
  purse(run_options const&, journal const* log);
  /// From now on what was spent is noted there.
  void open(std::function<void(note)> keep) { keep_ = std::move(keep); }

  spending const& spent() const noexcept { return spending_; }
  bool unlimited() const noexcept { return spending_.empty(); }

  /// Whether one more may go beside the `out` that have no answer.
  bool has_room(std::int64_t out) const noexcept {
    return !yields_until_ && spending_.room_beside(out);
  }
  /// Whether the last that was announced, of `out`, has no room beside those of other hosts.
  bool crowded(std::int64_t out) const noexcept { return !spending_.room_beside(out - 1); }
  /// It gives way. All hosts may have found so: chance decides which one is alone next.
  void yield(time_point now, fraction u);
  /// It went: the next one gives way for a short time only.
  void went() noexcept { yielded_ = 0; }
  /// Whether it has given way for long enough by now; true once.
  bool rested(time_point now) noexcept;
  /// When it has; `never` where it does not give way.
  time_point wakeup() const noexcept { return yields_until_.value_or(never); }

  /// Pays for a request that was served. Returns why nothing more may go, a sentence, or "".
  std::string pay(job const&, judgement const&);
  /// What earlier attempts of a request may have cost is spent; `in_doubt`: one of an earlier run.
  void settle(request&, bool in_doubt);
  /// An attempt of an earlier run may have cost something: that is spent.
  void resolve();
  /// What other runs of a queue did.
  void hear(source::news const&);
  void allow(quota_units most) { spending_.allow(std::move(most)); }

 private:
  void note_down() const;

  std::vector<price> const prices_;
  std::function<void(note)> keep_{};
  spending spending_;
  std::optional<time_point> yields_until_{};
  int yielded_ = 0;  // in a row
};

}  // namespace headway::app
