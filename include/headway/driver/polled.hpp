#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <variant>

#include "headway/driver/clock.hpp"
#include "headway/headway.hpp"

namespace headway {

/// A governor in somebody else's loop: it is never waited in, only asked.
///
///   submit() each request; then, whenever anything happened or timeout() is over:
///   while (auto t = api.expired()) tell its owner that it comes too late
///   while (auto p = api.parked()) tell its owner that the server wants it to wait for too long
///   while (auto t = api.next()) send it; call done() when its answer comes
///
/// Threads: distinct objects safe, shared objects unsafe.
template <class Governor = default_governor>
class basic_polled {
 public:
  /// `seed`: the same one, and the same times, give the same decisions.
  explicit basic_polled(Governor governor = Governor(), std::uint64_t seed = std::random_device{}())
      : governor_(std::move(governor)), chance_(seed) {}

  /// Queues a request, or refuses it with why and until when.
  std::variant<ticket, refused> submit(request_terms const& terms = {}) {
    auto const now = steady_now();
    auto answer = governor_.submit(now, terms);
    auto const parked = governor_.parked(now);
    if (auto const* const id = std::get_if<ticket>(&answer); id && parked && parked->id == *id) {
      governor_.cancel(now, *id);
      answer = refused{reason::server_hint, parked->until};
    }
    return answer;
  }
  /// Whose turn it is, if anyone may go: started, so send it now. A `retry` comes back here.
  std::optional<ticket> next() {
    auto const now = steady_now();
    auto const turn = governor_.next(now);
    if (turn) governor_.start(now, *turn, chance_());
    return turn;
  }
  /// One whose deadline has passed, if any: forgotten, so tell its owner.
  std::optional<ticket> expired() {
    auto const now = steady_now();
    auto const late = governor_.expired(now);
    if (late) governor_.cancel(now, *late);
    return late;
  }
  /// One that a server's hint holds for longer than hint_max, if any: forgotten, so tell its owner.
  std::optional<parked_request> parked() {
    auto const now = steady_now();
    auto const found = governor_.parked(now);
    if (found) governor_.cancel(now, found->id);
    return found;
  }
  /// What came of an attempt. After `park`, wait that long or cancel().
  decision done(ticket id, attempt_result const& result = {}) {
    return governor_.finish(steady_now(), id, result, chance_());
  }
  /// Forgets a request, waiting or flying.
  void cancel(ticket id) { governor_.cancel(steady_now(), id); }

  /// The server said so elsewhere: nothing goes before `until`.
  void hold(time_point until) noexcept { governor_.hold(until); }

  /// When to ask again if nothing happens before: later than now; `never`: not at all.
  time_point wakeup() const noexcept { return governor_.wakeup(steady_now()); }
  /// The same as a span; duration::max() for `never`.
  duration timeout() const noexcept {
    auto const now = steady_now();
    auto const at = governor_.wakeup(now);
    return at == never ? duration::max() : at - now;
  }

  /// What holds the first back who waits.
  held_back why() const noexcept { return governor_.why(steady_now()); }
  /// The governor, to look at.
  Governor const& state() const noexcept { return governor_; }

 private:
  Governor governor_;
  rng chance_;
};

/// With the default law.
using polled = basic_polled<>;

}  // namespace headway
