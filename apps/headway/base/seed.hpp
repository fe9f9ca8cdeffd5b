/// A seed of chance.
#pragma once

#include <cstdint>
#include <random>

namespace headway::app {

/// Returns 64 bits of the system's entropy.
inline std::uint64_t seed() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32 | entropy();
}

}  // namespace headway::app
