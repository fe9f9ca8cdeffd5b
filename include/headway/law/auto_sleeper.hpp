#pragma once

#include "headway/backoff/proportional_jitter.hpp"
#include "headway/policy.hpp"

namespace headway {

/// Responsive exponential backoff: a worker sleeps after each call; the sleep grows on each failure
/// and shrinks after `down_multiplier_threshold` successes.
///
/// Behaves as the original does, corners included: the first interval is not randomised; growth is
/// capped at `max_interval`, a shrink is not; a shrink below `initial_interval` drops to zero; a
/// success at zero adds to the invocations only; failures do not reset the success counter, a
/// shrink does; doubles are truncated to nanoseconds.
///
/// As a law it is one worker: one permit, with its next start at least `current_interval` after its
/// last finish. Source: seed text 000, AutoSleeper, with its defaults.
struct auto_sleeper {
  duration initial_interval = 500ms;   ///< after a first throttle
  duration max_interval = 15min;       ///< the most
  duration max_randomization = 2min;   ///< half-width at most
  double up_multiplier = 1.5;          ///< of the interval, for each throttle
  double down_multiplier = 0.9;        ///< of the interval, after enough successes
  double randomization_factor = 0.3;   ///< half-width as a share of the interval
  int down_multiplier_threshold = 10;  ///< successes in a row that shrink it

  /// Counters that metrics() of the seed text returns.
  struct counters {
    std::int64_t total_invocation = 0;  ///< answers
    std::int64_t total_went_up = 0;     ///< times that the interval grew
    std::int64_t total_went_down = 0;   ///< times that it shrank
    std::int64_t total_slept = 0;       ///< answers followed by a sleep
    duration total_sleep_time{0};       ///< in all
    friend bool operator==(counters const&, counters const&) = default;
  };
  counters metrics{};            ///< so far
  duration current_interval{0};  ///< spread already
  int current_success = 0;       ///< in a row
  time_point next_start{};       ///< not before

  /// Counts a failure and returns how long to sleep now.
  duration failed(fraction u) noexcept {
    ++metrics.total_invocation;
    go_up(u);
    return sleep();
  }

  /// Counts a success and returns how long to sleep now.
  duration succeeded(fraction u) noexcept {
    ++metrics.total_invocation;
    if (current_interval == duration::zero()) return current_interval;
    if (++current_success == down_multiplier_threshold) go_down(u);
    return sleep();
  }

  time_point ready_at(std::int64_t) const noexcept { return next_start; }
  double allowed() const noexcept { return 1; }
  stamp take(time_point now, std::int64_t, fraction) noexcept { return {.sent = now}; }
  void on_success(time_point now, sample const&, fraction u) noexcept {
    next_start = later(now, succeeded(u));
  }
  void on_throttle(time_point now, sample const&, resource, fraction u) noexcept {
    next_start = later(now, failed(u));
  }
  void on_failure(time_point, sample const&, fraction) noexcept {}
  void on_hint(time_point, hint const&) noexcept {}
  friend bool operator==(auto_sleeper const&, auto_sleeper const&) = default;

 private:
  void go_up(fraction u) noexcept {
    ++metrics.total_went_up;
    auto const next = randomised(static_cast<double>(current_interval.count()) * up_multiplier,
                                 randomization_factor, max_randomization, u);
    current_interval = current_interval == duration::zero() ? initial_interval
                       : next > static_cast<double>(max_interval.count())
                           ? max_interval
                           : duration(static_cast<std::int64_t>(next));
  }
  void go_down(fraction u) noexcept {
    ++metrics.total_went_down;
    current_success = 0;
    auto const next = randomised(static_cast<double>(current_interval.count()) * down_multiplier,
                                 randomization_factor, max_randomization, u);
    current_interval = next < static_cast<double>(initial_interval.count())
                           ? duration::zero()
                           : duration(static_cast<std::int64_t>(next));
  }
  duration sleep() noexcept {
    metrics.total_sleep_time += current_interval;
    ++metrics.total_slept;
    return current_interval;
  }
};
static_assert(law<auto_sleeper>);

}  // namespace headway
