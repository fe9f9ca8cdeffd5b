#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway {

/// Returns the window after a success: slow start below ssthresh, congestion avoidance above, and
/// never more than one beyond the permits out, which "prevents boundless growth when many requests
/// are sent at a rate below the supported one". Source: seed text 003, "Updated algorithm"; it
/// compares size(flying), not cwnd, with ssthresh.
inline double grown_window(double cwnd, double ssthresh, double flying) noexcept {
  auto const step = flying < ssthresh ? 1.0 : 1.0 / cwnd;
  return std::max(cwnd, std::min(flying + 1, cwnd + step));
}

/// TCP Reno over requests: additive increase, and `beta` of the window on a cut. Source: seed text
/// 003 (cwnd 20, ssthresh 1024; beta 0.5, or 0.9 "if the allowed rate is … fairly stable"). RFC
/// 5681 §3.1 has the TCP original. The floor of 1 is ours: below it nothing would be sent again.
struct reno {
  double cwnd = 20;        ///< the window, in permits
  double ssthresh = 1024;  ///< slow start ends there
  double beta = 0.5;       ///< share of the window left after a cut

  double allowed() const noexcept { return cwnd; }
  void on_success(time_point, sample const& s) noexcept {
    cwnd = grown_window(cwnd, ssthresh, s.in_flight);
  }
  void on_throttle(time_point, sample const&) noexcept {
    ssthresh = cwnd * beta;
    cwnd = std::max(1.0, ssthresh);
  }
  friend bool operator==(reno const&, reno const&) = default;
};
static_assert(window<reno>);

}  // namespace headway
