/// Time as the core knows it: a timeline, not a clock.
///
/// Policies take the time as an argument and cannot read it, so production and simulator run the
/// same object code.
#pragma once

#include <chrono>
#include <cstdint>

namespace headway {

using namespace std::chrono_literals;

/// Timeline of all headway instants. It has no now() on purpose.
struct timeline {
  /// Nanoseconds: 292 years either way.
  using duration = std::chrono::nanoseconds;
  /// 64 bits.
  using rep = duration::rep;
  /// One nanosecond.
  using period = duration::period;
  /// An instant.
  using time_point = std::chrono::time_point<timeline>;
  static constexpr bool is_steady = true;  ///< never goes back
};

/// A span, in nanoseconds.
using duration = timeline::duration;
/// An instant on the timeline.
using time_point = timeline::time_point;

/// Later than each instant: "only an event can change this".
inline constexpr time_point never = time_point::max();

/// Returns `t + d`, saturating at `never` and at the start of time.
constexpr time_point later(time_point t, duration d) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(t.time_since_epoch().count(), d.count(), &sum))
    return time_point(duration(sum));
  return d.count() > 0 ? never : time_point::min();
}

/// Truncates `ns` to whole nanoseconds, saturating; returns zero for NaN and negatives.
constexpr duration from_nanoseconds(double ns) noexcept {
  if (!(ns > 0)) return duration::zero();
  return ns >= 9.2e18 ? duration::max() : duration(static_cast<std::int64_t>(ns));
}

/// Converts as from_nanoseconds() does.
constexpr duration from_seconds(double seconds) noexcept {
  return from_nanoseconds(seconds * 1e9);
}

/// Converts to a double, exact to the nanosecond below 104 days.
constexpr double to_seconds(duration d) noexcept {
  return static_cast<double>(d.count()) / 1e9;
}

}  // namespace headway
