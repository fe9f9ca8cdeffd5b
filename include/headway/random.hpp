/// Chance as the core knows it: one 64-bit number, handed in.
///
/// A policy that needs chance takes a `fraction`; the driver draws it from its one generator. Same
/// seed, same run, on every compiler: no policy owns a generator, and no standard distribution
/// (whose output differs between libraries) is used.
#pragma once

#include <cstdint>
#include <limits>

#include "headway/time.hpp"

namespace headway {

/// A number of [0, 1) in steps of 2^-64.
using fraction = std::uint64_t;

/// SplitMix64's finaliser: a bijection of 64-bit numbers without visible structure.
/// Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 15.
constexpr std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// An independent fraction for `role`, so that one draw serves several policies.
constexpr fraction derive(fraction u, std::uint64_t role) noexcept {
  return mix(u + 0x9e3779b97f4a7c15U * (role + 1));
}

/// floor(d * u / 2^64): exact on every compiler. Requires: d >= 0.
constexpr duration scale(duration d, fraction u) noexcept {
  __extension__ using uint128 = unsigned __int128;
  return duration(static_cast<std::int64_t>((static_cast<uint128>(d.count()) * u) >> 64));
}

/// `u` as a double of [0, 1): its upper 53 bits.
constexpr double unit(fraction u) noexcept {
  return static_cast<double>(u >> 11) * 0x1p-53;
}

/// A driver's generator: SplitMix64. Move-only, because a copied generator repeats its draws in two
/// places.
class rng {
 public:
  /// As the standard's generators have it.
  using result_type = std::uint64_t;

  /// The same seed gives the same numbers, from every compiler.
  explicit constexpr rng(std::uint64_t seed) noexcept : state_(seed) {}
  rng(rng const&) = delete;
  rng& operator=(rng const&) = delete;
  /// Moved, never copied: two would draw the same numbers.
  constexpr rng(rng&&) noexcept = default;
  /// See the constructor.
  constexpr rng& operator=(rng&&) noexcept = default;

  /// The next number.
  constexpr fraction operator()() noexcept { return mix(state_ += 0x9e3779b97f4a7c15U); }

  /// A generator for another actor, independent of this one's later draws.
  constexpr rng split() noexcept { return rng(mix((*this)() ^ 0x5851f42d4c957f2dU)); }

  /// Of what is drawn.
  static constexpr result_type min() noexcept { return 0; }
  /// Of what is drawn.
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

 private:
  std::uint64_t state_;
};

}  // namespace headway
