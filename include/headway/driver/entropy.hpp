#pragma once

#include <cstdint>
#include <random>

namespace headway {

/// Draws 64 bits of the system's entropy: a generator's seed, or half of a name that no other has.
/// Threads: safe.
inline std::uint64_t entropy() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace headway
