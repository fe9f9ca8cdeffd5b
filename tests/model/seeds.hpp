/// How random tests are rerun: HEADWAY_SEED=n runs that history only, HEADWAY_MODEL_SEEDS=n runs n.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace headway {

/// The seeds to run, `few` unless the environment says otherwise.
inline std::vector<std::uint64_t> seeds(std::uint64_t few) {
  if (auto const* one = std::getenv("HEADWAY_SEED")) return {std::strtoull(one, nullptr, 10)};
  if (auto const* n = std::getenv("HEADWAY_MODEL_SEEDS")) few = std::strtoull(n, nullptr, 10);
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= few; ++seed) all.push_back(seed);
  return all;
}

inline std::string rerun(std::uint64_t seed) {
  return "HEADWAY_SEED=" + std::to_string(seed);
}

}  // namespace headway
