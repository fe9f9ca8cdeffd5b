#pragma once

#include <algorithm>
#include <cmath>

#include "headway/sim/laws/windowed_limit.hpp"

namespace headway::sim {

/// The limit follows the gradient of latency, long over short, and grows by `queue` where there is
/// none.
///
/// As published it ignores drops; `halve_on_drop` is ours. Units: latencies in nanoseconds.
/// Source: Netflix concurrency-limits (78a74b9), Gradient2Limit with its defaults, and
/// ExpAvgMeasurement(600, 10).
struct netflix_gradient2 {
  double estimate = 20;
  double permits_min = 20;
  double permits_max = 200;
  double queue = 4;
  double smoothing = 0.2;
  double tolerance = 1.5;
  bool halve_on_drop = false;

  double long_rtt = 0;
  double warm_up_sum = 0;
  int warm_up_count = 0;

  static constexpr int long_window = 600;
  static constexpr int warm_up = 10;

  double allowed() const noexcept { return std::floor(estimate); }
  void update(duration rtt, int in_flight, bool dropped) noexcept {
    auto const short_rtt = static_cast<double>(rtt.count());
    auto const base = learned(short_rtt);
    if (base / short_rtt > 2) long_rtt *= 0.95;  // recovers from a long overload
    if (dropped && halve_on_drop) {
      estimate = std::max(permits_min, estimate / 2);
      return;
    }
    if (in_flight < estimate / 2) return;
    auto const gradient = std::clamp(tolerance * base / short_rtt, 0.5, 1.0);
    auto const wanted = estimate * gradient + queue;
    estimate =
        std::clamp(estimate * (1 - smoothing) + wanted * smoothing, permits_min, permits_max);
  }
  friend bool operator==(netflix_gradient2 const&, netflix_gradient2 const&) = default;

 private:
  /// Updates the long-term latency: a plain mean first, then exponential.
  double learned(double sample_rtt) noexcept {
    if (warm_up_count < warm_up) {
      warm_up_sum += sample_rtt;
      long_rtt = warm_up_sum / ++warm_up_count;
    } else {
      constexpr auto factor = 2.0 / (long_window + 1);
      long_rtt = long_rtt * (1 - factor) + sample_rtt * factor;
    }
    return long_rtt;
  }
};

using netflix_gradient2_law = windowed_limit<netflix_gradient2>;
static_assert(law<netflix_gradient2_law>);

}  // namespace headway::sim
