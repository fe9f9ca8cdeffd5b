#include "headway/random.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace headway {
namespace {

// Values: splitmix64.c by Sebastiano Vigna (public domain), seed 1234567.
TEST(rng, is_splitmix64) {
  rng draw(1234567);
  for (auto const expect : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                            4593380528125082431U, 16408922859458223821U})
    EXPECT_EQ(draw(), expect);
}

TEST(rng, splits_into_other_numbers) {
  rng parent(1);
  auto child = parent.split();
  auto moved = std::move(parent);
  std::set<fraction> seen;
  for (int i = 0; i < 1000; ++i) seen.insert({child(), moved()});
  EXPECT_EQ(seen.size(), 2000U);
}

TEST(chance, derives_independent_fractions) {
  std::set<fraction> seen;
  for (fraction u = 0; u < 1000; ++u)
    for (std::uint64_t role = 0; role < 3; ++role) seen.insert(derive(u, role));
  EXPECT_EQ(seen.size(), 3000U);
  EXPECT_EQ(derive(7, 1), derive(7, 1));
}

TEST(chance, scales_exactly) {
  constexpr auto half = fraction{1} << 63;
  EXPECT_EQ(scale(10s, 0), 0s);
  EXPECT_EQ(scale(10s, half), 5s);
  EXPECT_EQ(scale(10s, ~fraction{0}), 10s - 1ns);
  EXPECT_EQ(scale(3ns, half), 1ns);
  EXPECT_EQ(scale(duration::max(), ~fraction{0}), duration::max() - 1ns);
  EXPECT_EQ(unit(0), 0);
  EXPECT_EQ(unit(half), 0.5);
  EXPECT_LT(unit(~fraction{0}), 1);
}

}  // namespace
}  // namespace headway
