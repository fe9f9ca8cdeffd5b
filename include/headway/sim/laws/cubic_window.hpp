#pragma once

#include <algorithm>
#include <utility>

#include "headway/law/paced.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/policy.hpp"
#include "headway/sim/math.hpp"

namespace headway::sim {

/// TCP CUBIC over requests: `beta` of the window on a cut, then back along a cubic of time that is
/// flat at the window of the cut; as fast as Reno where that is faster. Slow start until the first
/// cut.
///
/// Time does not pass while the application is the bottleneck, nor between an answer and the send
/// of the next one answered. Source: RFC 9438 §4.2 to §4.7 and §5.8 (beta 0.7, C 0.4). As for
/// `reno`, the initial 20 is seed text 003's, and the floor of 1 is ours.
struct cubic_window {
  double cwnd = 20;
  bool slow_start = true;
  double w_max = 0;    ///< where the cubic is flat
  double k = 0;        ///< seconds from the cut to there
  double prior = 0;    ///< the window before the cut
  double w_est = 0;    ///< the window that Reno would have by now
  duration elapsed{};  ///< since the cut, as far as it counts
  time_point last_answer{};

  static constexpr double beta = 0.7;
  static constexpr double c = 0.4;
  static constexpr double alpha = 3 * (1 - beta) / (1 + beta);  ///< as fair as Reno with beta 0.5

  double allowed() const noexcept { return cwnd; }

  void on_success(time_point now, sample const& s) noexcept {
    auto const since = std::exchange(last_answer, now);
    if (s.app_limited) return;
    if (slow_start) {
      ++cwnd;
      return;
    }
    auto const rtt = std::max(s.rtt, duration(0));
    elapsed += std::min(now - since, rtt);
    w_est += (w_est < prior ? alpha : 1) / cwnd;
    if (auto const target = cubic_at(elapsed); target < w_est)
      cwnd = std::max(cwnd, w_est);
    else
      cwnd += (std::clamp(cubic_at(elapsed + rtt), cwnd, 1.5 * cwnd) - cwnd) / cwnd;
  }
  void on_throttle(time_point now, sample const&) noexcept {
    w_max = cwnd < w_max ? cwnd * (1 + beta) / 2 : cwnd;  // fast convergence
    prior = cwnd;
    cwnd = std::max(1.0, beta * cwnd);
    k = cube_root(std::max(0.0, w_max - cwnd) / c);
    w_est = cwnd;
    slow_start = false;
    elapsed = {};
    last_answer = now;
  }
  friend bool operator==(cubic_window const&, cubic_window const&) = default;

 private:
  double cubic_at(duration t) const noexcept {
    auto const d = to_seconds(t) - k;
    return c * d * d * d + w_max;
  }
};
static_assert(window<cubic_window>);

using cubic_window_law = paced<unpaced, cubic_window>;

}  // namespace headway::sim
