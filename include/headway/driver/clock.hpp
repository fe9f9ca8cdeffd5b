#pragma once

#include <chrono>

#include "headway/time.hpp"

namespace headway {

/// Reads the one clock of the drivers: monotonic, on the timeline of the core. Threads: safe.
inline time_point steady_now() noexcept {
  return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace headway
