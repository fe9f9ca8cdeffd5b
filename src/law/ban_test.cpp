#include "headway/law/ban.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr double answer = 0.1;

TEST(ban, one_closing_may_be_an_outage) {
  ban b;
  b.lasted(30, 100, answer);
  EXPECT_FALSE(b.expected());
}

TEST(ban, closings_that_last_as_long_are_bans) {
  ban b;
  b.lasted(30, 100, answer);
  b.lasted(29, 70, answer);
  EXPECT_TRUE(b.expected());
  EXPECT_EQ(b.seconds, 29);
}

TEST(ban, closings_of_any_length_are_none) {
  for (double const second : {30 / 1.6, 30 * 1.6}) {
    ban b;
    b.lasted(30, 100, answer);
    b.lasted(second, 100, answer);
    EXPECT_FALSE(b.expected()) << second;
    b.lasted(second, 100, answer);
    EXPECT_TRUE(b.expected()) << second;
  }
}

// It is used up by as many, however fast they go, and opens when its period ends.
TEST(ban, a_window_accepts_as_many_in_cycles_as_long_and_is_none) {
  for (double const units : {108.0, 150.0}) {
    ban b;
    b.lasted(30, 100, answer, 20, 100, 2);
    EXPECT_TRUE(b.suspected());
    b.lasted(18, 50, answer, 14, units, 13);
    EXPECT_FALSE(b.expected()) << units;
    EXPECT_EQ(b.may_be(), units > 120) << units;
  }
}

// A server that bans has a window, too, and that accepts as many.
TEST(ban, closings_as_long_after_as_many_in_another_time_are_bans) {
  ban b;
  b.lasted(35, 100, answer, 20, 100, 1);
  b.lasted(32, 50, answer, 29, 100, 9);
  EXPECT_TRUE(b.expected());
}

TEST(ban, where_probes_tell_no_window_from_a_ban_it_may_be_either) {
  ban b;
  b.lasted(35, 100, answer, 20, 100, 1);
  b.lasted(32, 50, answer, 25, 100, 5);
  EXPECT_FALSE(b.expected());
  EXPECT_TRUE(b.suspected());
}

TEST(ban, what_it_said_itself_tells_a_window_from_a_ban) {
  for (bool const window : {true, false}) {
    ban b;
    b.lasted(window ? 59 : 60, 100, answer, 0, 100, 1);
    b.lasted(window ? 50 : 60, 50, answer, 0, 100, 10);
    EXPECT_EQ(b.may_be(), !window);
  }
}

// Probes that are far apart find the end late.
TEST(ban, closings_that_may_have_lasted_as_long_are_bans) {
  for (double const certain : {0.0, 20.0, 29.0}) {
    ban b;
    b.lasted(50, 100, answer, certain);
    b.lasted(28, 100, answer, 15);
    EXPECT_EQ(b.expected(), certain == 20) << certain;
  }
}

TEST(ban, what_costs_little_is_none) {
  ban b;
  for (int i = 0; i < 9; ++i) b.lasted(30, ban::lost / 30, answer);
  EXPECT_FALSE(b.expected());
}

// Slots that were overrun are shut until some are vacant.
TEST(ban, a_wait_for_what_is_under_way_is_none) {
  ban b;
  for (int i = 0; i < 9; ++i) b.lasted(30, 100, 30 / ban::answers);
  EXPECT_FALSE(b.expected());
}

TEST(ban, cheap_closings_between_bans_do_not_hide_them) {
  ban b;
  b.lasted(30, 100, answer);
  b.lasted(2, 20, answer);
  b.lasted(30, 100, answer);
  EXPECT_TRUE(b.expected());
}

// A server that restarts at times has refused often before, and was not shut by that.
TEST(ban, closings_after_cuts_that_shut_nothing_are_none) {
  ban b;
  for (int i = 0; i < 9; ++i) {
    for (int cuts = 0; cuts <= ban::spared + 1; ++cuts) b.cut();
    b.lasted(30, 100, answer);
  }
  EXPECT_FALSE(b.expected());
  b.lasted(30, 100, answer);
  EXPECT_FALSE(b.expected()) << "one without them is the first";
}

TEST(ban, one_that_bans_no_more_is_seen_by_cuts_that_shut_nothing) {
  ban b;
  for (int i = 0; i < 2; ++i) b.lasted(30, 100, answer);
  for (int cuts = 0; cuts <= ban::spared; ++cuts) b.cut();
  EXPECT_TRUE(b.expected());
  b.cut();
  EXPECT_FALSE(b.expected());
}

}  // namespace
}  // namespace headway
