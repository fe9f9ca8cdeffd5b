/// A seed of chance.
#pragma once

#include <cstdint>

#include "headway/driver/entropy.hpp"

namespace headway::app {

/// Returns 64 bits of the system's entropy.
inline std::uint64_t seed() {
  return entropy();
}

}  // namespace headway::app
