/// A dry run: a governor that holds nothing back, and notes what it would have held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "headway/governor.hpp"

namespace headway {

/// Attempts that a law would have held back.
struct observation {
  std::int64_t requests = 0;  ///< count of them
  duration held_max{};        ///< the longest for the pace: all would have been so much later
  friend bool operator==(observation const&, observation const&) = default;
};

/// A law that holds nothing back: `own` hears all that it would hear, and is not obeyed.
template <law L>
struct observed_law {
  L own{};               ///< the law that is observed
  observation so_far{};  ///< what it would have held back
  int in_flight = 0;     ///< permits out, the next one included

  time_point ready_at(std::int64_t cost) const noexcept {
    return own.ready_at(cost) == never ? never : time_point::min();
  }
  double allowed() const noexcept { return std::numeric_limits<double>::infinity(); }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    auto const turn = std::max(now, own.ready_at(cost));
    if (turn > now || in_flight > own.allowed()) ++so_far.requests;
    so_far.held_max = std::max(so_far.held_max, turn - now);
    auto permit = own.take(turn, cost, u);
    permit.paced = turn > now;
    return permit;
  }
  void on_success(time_point now, sample const& s, fraction u) noexcept {
    own.on_success(now, obeyed(s), u);
  }
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
    own.on_throttle(now, obeyed(s), r, u);
  }
  void on_failure(time_point now, sample const& s, fraction u) noexcept {
    own.on_failure(now, obeyed(s), u);
  }
  /// Takes an attempt that was given up before it was answered, where the law asks for it.
  void on_cancel(time_point now, stamp const& sent) noexcept {
    if constexpr (requires { own.on_cancel(now, sent); }) own.on_cancel(now, sent);
  }
  void on_hint(time_point now, hint const& h) noexcept { own.on_hint(now, h); }
  friend bool operator==(observed_law const&, observed_law const&) = default;

 private:
  /// Returns the sample as it were if `own` had been obeyed: its window would have bound.
  sample obeyed(sample s) const noexcept {
    s.app_limited = s.app_limited && s.in_flight < own.allowed();
    return s;
  }
};

/// Governor that decides and notes, but delays nothing: no law, ceiling or hint of a server holds
/// a request. A throttled one still backs off, by itself, since nothing else holds it.
///
///   headway::basic_throttled api(headway::default_observer{});
///
/// Takes the place of the governor in each driver; the calls are governor's. Threads: as governor.
template <backoff B, law L>
class observing_governor : private governor<B, observed_law<L>> {
  using base = governor<B, observed_law<L>>;

 public:
  /// Uses the defaults.
  observing_governor() : observing_governor(B{}) {}
  /// Starts idle. Of `settings` the ceilings do not count.
  explicit observing_governor(B backoff, L law = {}, governor_settings settings = {})
      : base(std::move(backoff), {.own = std::move(law)}, without_holds(settings)) {}

  using base::busy_until;
  using base::cancel;
  using base::expired;
  using base::held_until;
  using base::in_flight;
  using base::level;
  using base::next;
  using base::parked;
  using base::submit;
  using base::waiting;
  using base::wakeup;
  using base::why;

  /// Sends it. Requires: next(now) == t.
  void start(time_point now, ticket t, fraction u) {
    base::law_to_tell().in_flight = in_flight() + 1;
    base::start(now, t, u);
  }
  /// Takes the head of an answer.
  bool learn(time_point now, ticket t, attempt_result head, fraction u) {
    auto const advice = std::exchange(head.advice, {});
    auto const taught = base::learn(now, t, head, u);
    if (taught && advice != hint{}) base::law_to_tell().on_hint(now, advice);
    return taught;
  }
  /// Takes the answer.
  decision finish(time_point now, ticket t, attempt_result result, fraction u) {
    auto const advice = base::flies(t) ? base::unheard(t, result) : hint{};
    result.advice = {};
    auto const decided = base::finish(now, t, result, u);
    if (advice != hint{}) base::law_to_tell().on_hint(now, advice);
    return decided;
  }
  /// Does nothing: what a server said elsewhere holds nothing here.
  void hold(time_point) noexcept {}

  /// Returns the law that is observed.
  L const& law_state() const noexcept { return base::law_state().own; }
  /// Returns what it would have held back so far.
  observation const& observed() const noexcept { return base::law_state().so_far; }

  friend bool operator==(observing_governor const&, observing_governor const&) = default;

 private:
  static governor_settings without_holds(governor_settings s) {
    s.first_alone = 0ns;
    s.rate_ceiling.reset();
    s.in_flight_max = std::numeric_limits<int>::max();
    if (s.throttled == after_throttle::stand_in_line) s.throttled = after_throttle::back_off;
    return s;
  }
};

}  // namespace headway
