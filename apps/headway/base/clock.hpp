/// The one place where `headway run` reads the time.
#pragma once

#include <chrono>

#include "headway/time.hpp"

namespace headway::app {

/// CLOCK_MONOTONIC on the core's timeline.
inline time_point clock_now() noexcept {
  return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

/// Wall time: for HTTP-dates without a Date to compare them with, and for what outlives a boot.
inline std::chrono::sys_seconds wall_now() noexcept {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace headway::app
