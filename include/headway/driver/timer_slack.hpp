#pragma once

#include "headway/export.hpp"
#include "headway/time.hpp"

namespace headway::blocking {

/// While it lives, the kernel may wake the calling thread late by at most `slack` (Linux: 50 µs
/// otherwise). Halves how late a thread goes that waited for its turn, and costs power: so it is
/// never done for you. Without effect elsewhere. Threads: of one thread, which also ends it.
/// Source: prctl(2), PR_SET_TIMERSLACK.
class HEADWAY_EXPORT timer_slack {
 public:
  /// For the calling thread, from now on.
  explicit timer_slack(duration slack = 1us) noexcept;
  ~timer_slack();
  timer_slack(timer_slack const&) = delete;
  timer_slack& operator=(timer_slack const&) = delete;

 private:
  int before_;  // nanoseconds, -1: unknown
};

}  // namespace headway::blocking
