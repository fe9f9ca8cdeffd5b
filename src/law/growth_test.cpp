#include "headway/law/growth.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(growth, a_ramp_doubles_in_the_time_of_four_answers) {
  growth const fast{.rate = 1000, .unit = 1, .answer = 0.1};
  // The answers tell of a quarter of a doubling ago, hence 1 + d (1 + d) / 2 = 1.15625.
  EXPECT_DOUBLE_EQ(fast.doubling({}, 0), 400 / 1.15625);
}

TEST(growth, a_ramp_doubles_in_no_fewer_answers_than_tell_a_small_limit) {
  growth const slow{.rate = 2, .unit = 3, .answer = 0.1};
  EXPECT_DOUBLE_EQ(slow.doubling({}, 0), growth::ramp_answers * 3);
  EXPECT_DOUBLE_EQ(slow.doubling({.guess = true}, 0), growth::guess_answers_min * 3)
      << "4 s of 2/s are 8 units, 2 and a half requests";
}

TEST(growth, a_ramp_doubles_sooner_than_answers_come_unless_the_server_was_away) {
  growth const slow{.rate = 20, .unit = 1, .answer = 2};
  EXPECT_DOUBLE_EQ(slow.doubling({}, 0), growth::ramp_answers);
  EXPECT_DOUBLE_EQ(slow.doubling({.resumed = true}, 0), 20 * 8 / 1.15625);
  growth const calm{.rate = 20, .unit = 1, .answer = 2, .calm = growth::anew_calm};
  EXPECT_DOUBLE_EQ(calm.doubling({}, 0), growth::ramp_answers);
  EXPECT_DOUBLE_EQ(calm.doubling({.resumed = true}, 0), 20 * 4 / 1.375) << "no jam was heard of";
  EXPECT_EQ(slow.doubling({.at = 9, .resumed = true}, 0), slow.doubling({.at = 9}, 0));
}

TEST(growth, a_ramp_above_a_known_ceiling_is_less_steep) {
  growth const near{.rate = 1000, .unit = 1, .answer = 0.001};
  EXPECT_GT(near.doubling({.at = 500}, 0), near.doubling({}, 0));
}

TEST(growth, a_ramp_before_a_server_that_may_ban_is_as_slow_as_a_ban_is_long) {
  growth const g{.rate = 100, .unit = 1, .answer = 0.001};
  EXPECT_GT(g.doubling({}, 30), 0.99 * 100 * ban::doubling * 30);
}

TEST(growth, an_approach_after_an_outage_is_slower) {
  growth const g{.rate = 100, .unit = 1, .answer = 0.1};
  EXPECT_DOUBLE_EQ(g.approach(false), 30);
  EXPECT_DOUBLE_EQ(g.approach(true), 100);
  growth const few{.rate = 1, .unit = 2, .answer = 0.1};
  EXPECT_DOUBLE_EQ(few.approach(true), growth::approach_answers * 2);
}

TEST(growth, a_climb_pays_for_the_reject_that_it_costs) {
  growth const g{.rate = 10, .unit = 1, .answer = 0.01};
  ceiling const met{.at = 10, .touched = true, .touch_rejects = 2};
  EXPECT_DOUBLE_EQ(g.climb(met, 0.99, 10, 0, 0.025), 2 / 0.025);
  EXPECT_DOUBLE_EQ(g.climb(met, 0.99, 10, 30, 0.025), 32 / 0.025) << "a ban costs 30 more";
  EXPECT_DOUBLE_EQ(g.climb({.at = 10}, 0.99, 10, 0, 0.025), growth::climb_guessed);
}

TEST(growth, a_climb_is_heard_before_the_next) {
  growth const g{.rate = 1000, .unit = 1, .answer = 1};
  ceiling const met{.at = 1000, .touched = true};
  EXPECT_DOUBLE_EQ(g.climb(met, 0.99, 1000, 0, 0.025), growth::climb_answers * 1000);
}

TEST(growth, a_climb_is_faster_each_time_that_its_reject_does_not_come) {
  growth const g{.rate = 100, .unit = 1, .answer = 0.01};
  ceiling const met{.at = 100, .touched = true};
  auto const expected = g.climb(met, 0.99, 100, 0, 0.025);
  EXPECT_DOUBLE_EQ(g.climb(met, 1.01, 100, 0, 0.025), expected / growth::climb_haste);
  EXPECT_DOUBLE_EQ(g.climb(met, 1.04, 100, 0, 0.025),
                   expected / growth::climb_haste / growth::climb_haste);
  EXPECT_DOUBLE_EQ(g.climb(met, 2, 100, 0, 0.025), growth::climb_units_measured);
}

TEST(growth, a_stride_is_given_back_in_a_time_whatever_the_rate) {
  growth const g{.rate = 50, .unit = 1, .answer = 0.01};
  company others;
  others.show();
  ASSERT_NEAR(others.stride(), 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(g.stride(0.9, others), 50 * company::seconds);
  EXPECT_DOUBLE_EQ(g.stride(1.05, others), 50 * company::seconds / 2);
  EXPECT_DOUBLE_EQ(g.stride(3, others), 50 * company::seconds / company::haste_max);
  others.window = {.length = 60, .even = spurt::proof};
  EXPECT_DOUBLE_EQ(g.stride(0.9, others), 50 * 60) << "that of a window";
}

}  // namespace
}  // namespace headway
