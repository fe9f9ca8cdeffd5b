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

/// Instants of the wall clock, to the millisecond.
using wall_time = std::chrono::sys_time<std::chrono::milliseconds>;

/// When `at` was, by the wall clock as it is set now.
inline wall_time wall_time_of(time_point at = clock_now()) noexcept {
  auto const now = std::chrono::system_clock::now();
  return std::chrono::floor<std::chrono::milliseconds>(now - (clock_now() - at));
}

}  // namespace headway::app
