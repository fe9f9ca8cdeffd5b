#pragma once

#include "headway/sim/math.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// CUBIC on a rate: `beta` of it on a throttle, then back along a cubic that is flat where the
/// throttle was, `k()` seconds later.
///
/// Units: rates in units per second.
/// Source: botocore 1.43, retries/throttling.py, CubicCalculator; the C++, Java, TypeScript, Swift
/// and Rust SDKs have the same formulas.
struct cubic_rate {
  double rate_max = 0;  ///< at the last throttle
  time_point last_throttle{};

  static constexpr double beta = 0.7;
  static constexpr double scale = 0.4;

  double k() const noexcept { return cube_root(rate_max * (1 - beta) / scale); }

  double on_success(time_point now) const noexcept {
    auto const t = to_seconds(now - last_throttle) - k();
    return scale * t * t * t + rate_max;
  }
  double on_throttle(time_point now, double rate) noexcept {
    rate_max = rate;
    last_throttle = now;
    return beta * rate;
  }
  friend bool operator==(cubic_rate const&, cubic_rate const&) = default;
};

}  // namespace headway::sim
