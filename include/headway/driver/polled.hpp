#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "headway/driver/clock.hpp"
#include "headway/driver/entropy.hpp"
#include "headway/driver/turn.hpp"
#include "headway/headway.hpp"

namespace headway {

/// A governor for a loop of the caller's own: it never waits, only answers.
///
///   submit() each request; then, after each event or when timeout() is over:
///   while (auto t = api.expired()) tell its owner that it comes too late
///   while (auto p = api.parked()) tell its owner that the server holds it for too long
///   while (auto t = api.next()) send it; call done() when its answer comes
///
/// Threads: distinct objects safe, shared objects unsafe.
template <class Governor = default_governor>
class basic_polled {
 public:
  /// Starts with `governor`; the same `seed` and the same times give the same decisions.
  explicit basic_polled(Governor governor = Governor(), std::uint64_t seed = entropy())
      : governor_(std::move(governor)), chance_(seed) {}

  /// Queues a request, or returns why and until when it is refused.
  std::variant<ticket, refused> submit(request_terms const& terms = {}) {
    auto const now = steady_now();
    auto answer = governor_.submit(now, terms);
    auto const parked = governor_.parked(now);
    if (auto const* const id = std::get_if<ticket>(&answer); id && parked && parked->id == *id) {
      governor_.cancel(now, *id);
      answer = refused{parked->why, parked->until};
    }
    return answer;
  }
  /// Starts the request that may go now, if any, and returns it: send it. A `retry` comes back
  /// here.
  std::optional<ticket> next() { return take_turn(governor_, steady_now(), chance_); }
  /// Forgets a request past its deadline, if any, and returns it: tell its owner.
  std::optional<ticket> expired() {
    auto const now = steady_now();
    auto const late = governor_.expired(now);
    if (late) governor_.cancel(now, *late);
    return late;
  }
  /// Forgets a request that a server's hint holds, that was refused alone, or that waits for a
  /// broken server, for longer than hint_max, if any, and returns it: tell its owner.
  std::optional<parked_request> parked() {
    auto const now = steady_now();
    auto const found = governor_.parked(now);
    if (found) governor_.cancel(now, found->id);
    return found;
  }
  /// Reports the head of an answer before its end; as governor::learn(). Call done() at the end.
  bool learn(ticket id, attempt_result const& head = {}) {
    return governor_.learn(steady_now(), id, head, chance_());
  }
  /// Reports the result of an attempt. After `park`, wait that long or cancel().
  decision done(ticket id, attempt_result const& result = {}) {
    return governor_.finish(steady_now(), id, result, chance_());
  }
  /// Forgets a request, waiting or flying.
  void cancel(ticket id) { governor_.cancel(steady_now(), id); }

  /// Holds all requests until `until`, as the server said elsewhere.
  void hold(time_point until) noexcept { governor_.hold(until); }

  /// Returns when to ask again if nothing happens before: later than now; `never`: not at all.
  time_point wakeup() const noexcept { return governor_.wakeup(steady_now()); }
  /// Returns wakeup() as a span; duration::max() for `never`.
  duration timeout() const noexcept {
    auto const now = steady_now();
    auto const at = governor_.wakeup(now);
    return at == never ? duration::max() : at - now;
  }

  /// Returns what holds the first waiting request back.
  held_back why() const noexcept { return governor_.why(steady_now()); }
  /// Returns the governor, to look at.
  Governor const& state() const noexcept { return governor_; }

 private:
  Governor governor_;
  rng chance_;
};

/// A polled governor with the default law.
using polled = basic_polled<>;

}  // namespace headway
