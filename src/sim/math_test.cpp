#include "headway/sim/math.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "headway/random.hpp"

namespace headway::sim {
namespace {

/// Any positive double: all magnitudes are alike.
double any_magnitude(rng& draw) {
  auto const digits = 1 + unit(draw());  // drawn in this order by every compiler
  return std::ldexp(digits, static_cast<int>(draw() % 2098) - 1074);
}

TEST(cube_root, agrees_with_the_library) {
  rng draw(1);
  for (int i = 0; i < 200'000; ++i) {
    auto const x = any_magnitude(draw);
    ASSERT_NEAR(cube_root(x) / std::cbrt(x), 1, 1e-15) << x;
    ASSERT_EQ(cube_root(-x), -cube_root(x));
  }
  auto const infinity = std::numeric_limits<double>::infinity();
  for (double const x : {0.0, -0.0, infinity, -infinity}) EXPECT_EQ(cube_root(x), std::cbrt(x));
  EXPECT_TRUE(std::isnan(cube_root(std::numeric_limits<double>::quiet_NaN())));
}

// The library of today returns -3.0000000000000004 for -27.
TEST(cube_root, undoes_a_cube) {
  for (double x = -200'000; x <= 200'000; ++x) ASSERT_EQ(cube_root(x * x * x), x);
  EXPECT_EQ(cube_root(0x1p-1074), 0x1p-358);
  EXPECT_EQ(cube_root(0x1p1023), 0x1p341);
}

TEST(cube_root, is_the_same_to_the_last_bit_everywhere) {
  rng draw(2);
  std::uint64_t digest = 0;
  for (int i = 0; i < 100'000; ++i)
    digest = mix(digest ^ std::bit_cast<std::uint64_t>(cube_root(any_magnitude(draw))));
  EXPECT_EQ(digest, 4204776946382591301U);
}

}  // namespace
}  // namespace headway::sim
