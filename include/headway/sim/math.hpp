#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace headway::sim {

/// Returns x^(1/3), of negative x too, to 0.7 units in the last place; the same bits from every
/// compiler, unlike std::cbrt.
/// Source: Kahan 1991, "Computing a real cube root": a third of the bits as a first guess, then
/// Halley's iteration, which triples the digits; FreeBSD's cbrt for the last step.
inline double cube_root(double x) noexcept {
  if (x < 0) return -cube_root(-x);
  if (!(x > 0 && x <= std::numeric_limits<double>::max())) return x;
  if (x < std::numeric_limits<double>::min()) return cube_root(x * 0x1p54) * 0x1p-18;
  auto y = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) / 3 + 0x2a9f7893782da1ce);
  for (int i = 0; i < 3; ++i) {
    // Shortened to 23 bits, its square is exact, and so the last step is nearly so.
    y = std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) & ~std::uint64_t{0x3fffffff});
    auto const other = x / (y * y);
    y += y * ((other - y) / (y + y + other));
  }
  return y;
}

}  // namespace headway::sim
