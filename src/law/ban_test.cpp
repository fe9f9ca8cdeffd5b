#include "headway/law/ban.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr double answer = 0.1;

TEST(ban, one_closing_may_be_an_outage) {
  ban b;
  b.lasted(30, 3'000, answer);
  EXPECT_FALSE(b.expected());
}

TEST(ban, closings_that_last_as_long_are_bans) {
  ban b;
  b.lasted(30, 3'000, answer);
  b.lasted(29, 2'000, answer);
  EXPECT_TRUE(b.expected());
  EXPECT_EQ(b.seconds, 29);
}

TEST(ban, closings_of_any_length_are_none) {
  for (double const second : {30 / 1.6, 30 * 1.6}) {
    ban b;
    b.lasted(30, 3'000, answer);
    b.lasted(second, 3'000, answer);
    EXPECT_FALSE(b.expected()) << second;
    b.lasted(second, 3'000, answer);
    EXPECT_TRUE(b.expected()) << second;
  }
}

TEST(ban, what_costs_little_is_none) {
  ban b;
  for (int i = 0; i < 9; ++i) b.lasted(30, ban::units, answer);
  EXPECT_FALSE(b.expected());
}

// Slots that were overrun are shut until some are vacant.
TEST(ban, a_wait_for_what_is_under_way_is_none) {
  ban b;
  for (int i = 0; i < 9; ++i) b.lasted(30, 3'000, 30 / ban::answers);
  EXPECT_FALSE(b.expected());
}

TEST(ban, cheap_closings_between_bans_do_not_hide_them) {
  ban b;
  b.lasted(30, 3'000, answer);
  b.lasted(0.2, 20, answer);
  b.lasted(30, 3'000, answer);
  EXPECT_TRUE(b.expected());
}

}  // namespace
}  // namespace headway
