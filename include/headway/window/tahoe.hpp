#pragma once

#include "headway/window/reno.hpp"

namespace headway {

/// TCP Tahoe over requests: Reno, but a cut restarts from the initial window. Source: seed text
/// 003, "set … cwnd to either the initial value (“Tahoe”) or the new ssthresh (“Reno”)".
struct tahoe {
  double cwnd = 20;        ///< the window, in permits
  double ssthresh = 1024;  ///< slow start ends there
  double beta = 0.5;       ///< share of the window that ssthresh is after a cut
  double initial = 20;     ///< cwnd after a cut

  double allowed() const noexcept { return cwnd; }
  void on_success(time_point, sample const& s) noexcept {
    cwnd = grown_window(cwnd, ssthresh, s.in_flight);
  }
  void on_throttle(time_point, sample const&) noexcept {
    ssthresh = cwnd * beta;
    cwnd = initial;
  }
  friend bool operator==(tahoe const&, tahoe const&) = default;
};
static_assert(window<tahoe>);

}  // namespace headway
