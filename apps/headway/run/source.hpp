/// A source: where the requests of a run come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/headers.hpp"
#include "headway/time.hpp"
#include "jobs/job.hpp"
#include "os/poller.hpp"
#include "provider/spent_by_others.hpp"
#include "status/progress.hpp"

namespace headway::app {

/// Each request comes once, without those that have ended. Threads: one.
class source {
 public:
  source() = default;
  source(source const&) = delete;
  source& operator=(source const&) = delete;
  virtual ~source() = default;

  /// What goes to an origin with each request.
  bound_headers const& headers() const noexcept { return bound; }

  /// What becomes of lines outlives the run.
  virtual bool remembers() const noexcept = 0;
  /// It was being sent when an earlier run was killed.
  virtual bool in_doubt(job const&) const noexcept = 0;
  /// It is no longer in doubt: it may be repeated, and what it may have cost is spent.
  virtual void settle(job const&) {}
  /// It is in doubt, and must not be repeated.
  bool perhaps_sent(job const& j) const noexcept { return !idempotent(j) && in_doubt(j); }
  /// Whether a request that was taken may be sent now; else it waits until look() says more.
  virtual bool may_go(time_point, job const&) const { return true; }
  /// What has become of the lines that were taken.
  struct news {
    struct lines {
      std::int64_t first, last;
    };
    std::vector<lines> lost{};               ///< another run has them: they are not ours any longer
    std::vector<std::string> said{};         ///< for people, sentences
    std::string over{};                      ///< by what it was ended; "": it goes on …
    bool for_good = false;                   ///< … if it can
    std::int64_t doubted = 0;                ///< attempts of lost runs whose lines are ours by now
    std::optional<spent_by_others> spent{};  ///< news of it
  };
  virtual news look(time_point) { return {}; }
  /// How many requests there are that were taken, and how many of these wait for their turn; all
  /// for longer than we have patience if they are `parked`. Where it returns true, the recorder is
  /// to look after its ledger.
  virtual bool demand(std::size_t /*live*/, std::size_t /*waiting*/, bool /*parked*/) {
    return false;
  }
  /// A line is left for another run.
  virtual void leave_open(job const&) {}
  /// Adds what is known of the whole of which this is a part, and takes back what the run has ended
  /// that does not count: another run has it.
  virtual void tell(standing&, time_point) {}

  /// The next request; nullopt: there is none, or not yet. Reads at most once. An error ends it
  /// with a failure().
  std::optional<job> next();
  /// There was no room for it; it comes first again.
  void put_back(job j) { put_back_ = std::move(j); }

  /// next() may have one, without waiting, that was not put back.
  bool ready() const noexcept { return more_may_come && !at_end && !put_back_; }
  /// No more requests come.
  bool ended() const noexcept { return at_end; }
  /// What is wrong with the input, null if nothing; what came before is good.
  std::exception_ptr failure() const noexcept { return failure_; }

  /// The poller is to say when there is more, where that is `wanted` and known in no other way.
  virtual void watch(poller&, bool /*wanted*/) const {}
  /// `fd` of the poller is ready. False when it is not ours.
  virtual bool ready(poller::event const&) noexcept { return false; }

 protected:
  /// The next request that has not ended; nullopt as next(), which says whether more may come by
  /// `more_may_come` and `at_end`. Errors: fatal.
  virtual std::optional<job> take() = 0;

  bound_headers bound{};
  /// Lines that are not ours any longer do not come first again.
  void forget(std::int64_t first, std::int64_t last) {
    if (put_back_ && first <= put_back_->line && put_back_->line <= last) put_back_.reset();
  }
  /// No more requests come, for this reason.
  void fail(std::exception_ptr why) noexcept {
    failure_ = std::move(why);
    at_end = true;
  }

  bool more_may_come = true;
  bool at_end = false;

 private:
  std::optional<job> put_back_{};
  std::exception_ptr failure_{};
};

}  // namespace headway::app
