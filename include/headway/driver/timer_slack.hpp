#pragma once

#include "headway/export.hpp"
#include "headway/time.hpp"

namespace headway::blocking {

/// Lowers the timer slack of the calling thread while it lives: the kernel may then wake that
/// thread late by at most `slack` (Linux: 50 µs otherwise). This halves the lateness of a thread
/// that waited for its turn, and costs power: so headway never does it for you. Without effect
/// elsewhere. Threads: made and destroyed by the same thread. Source: prctl(2), PR_SET_TIMERSLACK.
class HEADWAY_EXPORT timer_slack {
 public:
  /// Lowers the slack of the calling thread, from now on.
  explicit timer_slack(duration slack = 1us) noexcept;
  ~timer_slack();
  timer_slack(timer_slack const&) = delete;
  timer_slack& operator=(timer_slack const&) = delete;

 private:
  int before_;  // nanoseconds, -1: unknown
};

}  // namespace headway::blocking
