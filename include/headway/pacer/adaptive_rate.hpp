#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway {

/// Spaces units evenly at a rate that falls by `factor` on a throttle and rises by `increment` on a
/// success.
///
/// Units: rates in units per second. Source: seed text 002: "start … with a slightly aggressive
/// limit of say 10 requests/second … (1/2 each time), with an incremental linear return based on
/// the number of successful requests". The text gives no increment; with 0.05 a halved 10/s returns
/// after 100 successes.
struct adaptive_rate {
  double rate = 10.0;         ///< now
  double factor = 0.5;        ///< on a throttle
  double increment = 0.05;    ///< for each success
  double floor = 0.05;        ///< the least rate
  double ceiling = 10'000.0;  ///< the greatest rate
  time_point next{};          ///< not before this

  time_point ready_at(std::int64_t) const noexcept { return next; }
  void take(time_point now, std::int64_t cost) noexcept {
    auto const late = now - next < 1ms ? next : now;  // a late wake-up must not lower the rate
    next = later(late, from_seconds(static_cast<double>(cost) / rate));
  }
  void on_success(time_point, sample const& s) noexcept {
    if (!s.app_limited) rate = std::min(ceiling, rate + increment);
  }
  void on_throttle(time_point now, sample const&, fraction) noexcept {
    rate = std::max(floor, rate * factor);
    next = std::max(next, later(now, from_seconds(1 / rate)));
  }
  friend bool operator==(adaptive_rate const&, adaptive_rate const&) = default;
};
static_assert(pacer<adaptive_rate>);

}  // namespace headway
