/// Chance as the core knows it: one 64-bit number, passed as an argument.
///
/// A policy that needs chance takes a `fraction`; the driver draws it from its one generator. No
/// policy owns a generator and no standard distribution is used, since their output differs between
/// libraries: the same seed gives the same run on each compiler.
#pragma once

#include <cstdint>
#include <limits>

#include "headway/time.hpp"

namespace headway {

/// A number of [0, 1) in steps of 2^-64.
using fraction = std::uint64_t;

/// Mixes the bits of `z` by SplitMix64's finaliser: a bijection without visible structure. Source:
/// Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 15.
constexpr std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// Derives an independent fraction for `role`, so that one draw serves several policies.
constexpr fraction derive(fraction u, std::uint64_t role) noexcept {
  return mix(u + 0x9e3779b97f4a7c15U * (role + 1));
}

/// Returns floor(d * u / 2^64), exact on each compiler. Requires: d >= 0.
constexpr duration scale(duration d, fraction u) noexcept {
  __extension__ using uint128 = unsigned __int128;
  return duration(static_cast<std::int64_t>((static_cast<uint128>(d.count()) * u) >> 64));
}

/// Returns `u` as a double of [0, 1), from its upper 53 bits.
constexpr double unit(fraction u) noexcept {
  return static_cast<double>(u >> 11) * 0x1p-53;
}

/// A driver's generator: SplitMix64. Move-only, since a copy would repeat its draws.
class rng {
 public:
  /// Number type, named as the standard generators name it.
  using result_type = std::uint64_t;

  /// Starts at `seed`; the same seed gives the same numbers on each compiler.
  explicit constexpr rng(std::uint64_t seed) noexcept : state_(seed) {}
  rng(rng const&) = delete;
  rng& operator=(rng const&) = delete;
  /// Takes over the state of another generator.
  constexpr rng(rng&&) noexcept = default;
  /// Takes over the state of another generator.
  constexpr rng& operator=(rng&&) noexcept = default;

  /// Draws the next number.
  constexpr fraction operator()() noexcept { return mix(state_ += 0x9e3779b97f4a7c15U); }

  /// Returns a generator for another actor, independent of later draws of this one.
  constexpr rng split() noexcept { return rng(mix((*this)() ^ 0x5851f42d4c957f2dU)); }

  /// Returns the least number drawn.
  static constexpr result_type min() noexcept { return 0; }
  /// Returns the greatest number drawn.
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

 private:
  std::uint64_t state_;
};

}  // namespace headway
