#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "headway/backoff/full_jitter.hpp"
#include "headway/governor.hpp"
#include "headway/shared/pace.hpp"

namespace headway {

/// The default governor for a driver, by a pace that others share: processes of a machine
/// (machine_governor), or hosts (postgres::board).
///
/// They share pace, permits, what was learned and a server's hints; each has its own queue,
/// retries, ceilings and retry budget. Every act looks at the others' acts, and so does expired(),
/// which a driver calls before next(). Threads: as governor.
class pace_governor {
 public:
  /// Paces by `with`, which is not null.
  explicit pace_governor(std::shared_ptr<pace> with, governor_settings const& settings = {})
      : pace_(std::move(with)), inner_({}, {.with = pace_}, settings) {}
  pace_governor(pace_governor&&) = default;  ///< leaves the other one for destruction only
  pace_governor& operator=(pace_governor&&) = delete;

  /// Queues a request, or says why not and until when; as governor's, like all that follows.
  std::variant<ticket, refused> submit(time_point now, request_terms const& terms = {}) {
    look(now);
    return inner_.submit(now, terms);
  }
  /// Returns the request that may go, as of the last look at the others.
  std::optional<ticket> next(time_point now) const noexcept { return inner_.next(now); }
  /// Takes the turn of a request from the others; false if one was faster. Requires:
  /// next() named it, and start() follows.
  bool claim(time_point now, ticket t, fraction u) noexcept {
    if (pace_->claim(now, inner_.cost_of(t), u)) return true;
    look(now);
    return false;
  }
  /// Takes the permit of a request that goes.
  void start(time_point now, ticket t, fraction u) {
    inner_.start(now, t, u);
    if (waiting() == 0) look(now);  // it waits no more
  }
  /// Hears the head of an answer; all learn from it.
  bool learn(time_point now, ticket t, attempt_result const& head, fraction u) {
    auto const taught = inner_.learn(now, t, head, u);
    look(now);
    return taught;
  }
  /// Ends an attempt; all learn from it.
  decision finish(time_point now, ticket t, attempt_result const& result, fraction u) {
    auto const decided = inner_.finish(now, t, result, u);
    look(now);
    return decided;
  }
  /// Forgets a request, waiting or in flight.
  void cancel(time_point now, ticket t) {
    inner_.cancel(now, t);
    look(now);
  }
  /// Looks at the others, and returns a waiting request that is past its deadline.
  std::optional<ticket> expired(time_point now) noexcept {
    look(now);
    return inner_.expired(now);
  }
  /// Returns the first waiting request, if a server's hint holds it for longer than hint_max.
  std::optional<parked_request> parked(time_point now) const noexcept { return inner_.parked(now); }
  /// Returns when to look again if nothing happens before.
  time_point wakeup(time_point now) const noexcept {
    auto const at = inner_.wakeup(now);
    return waiting() > 0 ? std::min(at, pace_->look_again(now)) : at;
  }
  /// Returns what holds the first waiting request back.
  held_back why(time_point now) const noexcept { return inner_.why(now); }
  /// Holds all requests of all until `until`, as a server asked elsewhere.
  void hold(time_point until) noexcept { pace_->hold(until), inner_.hold(until); }
  /// Returns the permits of this process.
  int in_flight() const noexcept { return inner_.in_flight(); }
  /// Returns the waiting requests of this process.
  std::size_t waiting() const noexcept { return inner_.waiting(); }
  /// Returns the law of all.
  any_law const& law_state() const noexcept { return pace_->law(); }
  /// Returns until when a server's hint holds it.
  time_point held_until(std::int64_t cost = 1) const noexcept { return inner_.held_until(cost); }
  /// Returns until when a new one in its place could be faster.
  time_point busy_until() const noexcept { return inner_.busy_until(); }

  /// Returns the most others that shared it at any look.
  int company() const noexcept { return pace_->company(); }

 private:
  void look(time_point now) noexcept { look_at(*pace_, inner_, now); }

  std::shared_ptr<pace> pace_;
  governor<full_jitter, shared_law> inner_;
};

}  // namespace headway
