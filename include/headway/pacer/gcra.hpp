#pragma once

#include <algorithm>
#include <cmath>

#include "headway/policy.hpp"

namespace headway {

/// Generic Cell Rate Algorithm: one unit each `interval`, early by at most `burst_tolerance`.
///
/// In any span w at most (w + burst_tolerance) / interval + 1 units conform. The state is one
/// instant. Source: ITU-T I.371 Annex A, GCRA(T, tau), virtual scheduling: conforming iff t >= TAT
/// - tau.
struct gcra {
  duration interval = 10ms;     ///< T: between units
  duration burst_tolerance{0};  ///< τ: how much earlier a unit may come
  time_point tat{};             ///< theoretical arrival time of the next unit

  static constexpr duration credit_max = 7 * 24h;  ///< a dearer one would hold all as if for ever

  /// Returns a pacer of `units` a `period`, at most `burst` at once.
  ///
  /// Intervals under 100 ms get 1 ms of tolerance even without a burst: without it, a pacer that
  /// wakes late reaches only 56 % of 10,000/s. Requires: units > 0, period > 0, burst >= 1.
  static gcra per(double units, duration period, std::int64_t burst = 1) noexcept {
    auto const each =  // rounded up: truncated, 7/min would admit 8 in a minute
        std::max(from_nanoseconds(std::ceil(static_cast<double>(period.count()) / units)), 1ns);
    auto const floor = each < 100ms ? duration(1ms) : duration(0);
    return {.interval = each, .burst_tolerance = std::max(times(each, burst - 1), floor)};
  }

  time_point ready_at(std::int64_t cost) const noexcept {
    auto const extra = times(interval, cost - 1);
    if (cost > 1 && extra > burst_tolerance) return never;
    return later(tat, extra - burst_tolerance);
  }
  /// Returns when `cost` units may go, if they may go on credit: where they never conform, once all
  /// that it can save is saved. They are paid off after them: a span admits them besides what
  /// conforms. It never lends for longer than `credit_max`.
  time_point lends_at(std::int64_t cost) const noexcept {
    auto const at = ready_at(cost);
    return at == never && times(interval, cost) <= credit_max ? tat : at;
  }
  void take(time_point now, std::int64_t cost) noexcept {
    tat = later(std::max(tat, now), times(interval, cost));
  }
  /// Takes units back that were spent ahead of time and not used.
  void give_back(time_point now, std::int64_t cost) noexcept {
    tat = std::max(std::min(tat, now), later(tat, -times(interval, cost)));
  }
  void on_success(time_point, sample const&) noexcept {}
  void on_throttle(time_point, sample const&, fraction) noexcept {}
  friend bool operator==(gcra const&, gcra const&) = default;

 private:
  static duration times(duration d, std::int64_t n) noexcept {
    std::int64_t product = 0;
    return __builtin_mul_overflow(d.count(), n, &product) ? duration::max() : duration(product);
  }
};
static_assert(pacer<gcra>);

/// Returns a pacer of evenly spaced units, whatever the server answers. Source: the "RateLimiter of
/// 4 permits per second" of seed text 002.
inline gcra fixed_rate(double per_second) noexcept {
  return gcra::per(per_second, 1s);
}

/// Sets no pace: for windows of a fixed size. Source: seed text 003, which admits as soon as
/// the window has room.
struct unpaced {
  time_point ready_at(std::int64_t) const noexcept { return time_point::min(); }
  void take(time_point, std::int64_t) noexcept {}
  void on_success(time_point, sample const&) noexcept {}
  void on_throttle(time_point, sample const&, fraction) noexcept {}
  friend bool operator==(unpaced const&, unpaced const&) = default;
};
static_assert(pacer<unpaced>);

}  // namespace headway
