#pragma once

#include "headway/window/reno.hpp"

namespace headway {

/// TCP Tahoe over requests: as Reno, but a cut starts again from the initial window.
/// Source: seed text 003, "set … cwnd to either the initial value (“Tahoe”) or the new ssthresh
/// (“Reno”)".
struct tahoe {
  double cwnd = 20;
  double ssthresh = 1024;
  double beta = 0.5;
  double initial = 20;

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
