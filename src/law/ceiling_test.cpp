#include "headway/law/ceiling.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr std::uint64_t many = ceiling::rare;

TEST(ceiling, a_touch_measures_it_by_what_was_accepted) {
  ceiling c{.at = 100};
  c.touch(101, 97, many - 1, true);
  EXPECT_EQ(c.at, 97);
  EXPECT_TRUE(c.touched);
  EXPECT_FALSE(c.settled);
}

TEST(ceiling, what_was_accepted_is_believed_within_bounds) {
  ceiling low{.at = 100};
  low.touch(100, 10, many - 1, true);
  EXPECT_DOUBLE_EQ(low.at, 93);
  ceiling high{.at = 100};
  high.touch(100, 200, many - 1, true);
  EXPECT_DOUBLE_EQ(high.at, 99);
  ceiling proven{.at = 100};
  proven.touch(100, 10, many, true);
  EXPECT_DOUBLE_EQ(proven.at, 98);
  EXPECT_TRUE(proven.settled);
}

TEST(ceiling, climbs_get_slower_while_it_proves_true_and_faster_when_it_does_not) {
  ceiling c{.at = 100};
  for (int i = 0; i < 100; ++i) c.touch(102, 102, many, true);
  EXPECT_EQ(c.climb_seconds, ceiling::climb_seconds_max);
  c.touch(c.at - 1, 100, many, true);
  EXPECT_LT(c.climb_seconds, ceiling::climb_seconds_max);
  for (int i = 0; i < 100; ++i) c.touch(c.at - 1, 1, many, true);
  EXPECT_EQ(c.climb_seconds, ceiling::climb_seconds_first);
  ceiling without{.at = 100};
  without.touch(102, 102, many, false);
  EXPECT_EQ(without.climb_seconds, ceiling::climb_seconds_first);
}

TEST(ceiling, slots_are_as_many_as_were_out) {
  ceiling c{.at = 16, .slots = true};
  EXPECT_EQ(c.rest(), 0.985 * 16);
  c.touch(16, 3, many, true);
  EXPECT_EQ(c.at, 16);
  ceiling const hundreds{.at = 200, .slots = true};
  EXPECT_EQ(hundreds.rest(), 199);
}

TEST(ceiling, one_that_fell_is_a_guess_and_climbed_to_soon) {
  ceiling c{.at = 100, .touched = true, .climb_seconds = 12};
  c.fall(50);
  EXPECT_EQ(c.at, 50);
  EXPECT_FALSE(c.touched);
  EXPECT_EQ(c.climb_seconds, ceiling::climb_seconds_fell);
}

TEST(ceiling, a_touch_costs_what_touches_have_cost) {
  ceiling c{.touched = true, .flight_rejects = 5};
  c.count_rejects();
  EXPECT_EQ(c.touch_rejects, 2);
  EXPECT_EQ(c.flight_rejects, 0);
  ceiling guessed{.flight_rejects = 5};
  guessed.count_rejects();
  EXPECT_EQ(guessed.touch_rejects, 1);
}

TEST(ceiling, what_it_was_before_a_cut_comes_back_but_not_what_touches_cost) {
  ceiling const before{.at = 100, .touched = true, .climb_seconds = 7, .touch_rejects = 1};
  ceiling c{.at = 50, .settled = true, .touch_rejects = 3};
  c.take_back(before);
  EXPECT_EQ(c.at, 100);
  EXPECT_TRUE(c.touched);
  EXPECT_EQ(c.climb_seconds, 7);
  EXPECT_TRUE(c.settled);
  EXPECT_EQ(c.touch_rejects, 3);
}

TEST(ceiling, a_ramp_that_asks_a_measured_one_leaves_no_guess_when_it_ends) {
  for (bool const touched : {false, true}) {
    ceiling c{.at = 10, .touched = touched, .guess = true, .calm = {.asks = true}};
    c.end_ramp(1);
    EXPECT_FALSE(c.calm.asks);
    EXPECT_EQ(c.guess, !touched);
  }
  ceiling unasked{.at = 10, .guess = true};
  unasked.end_ramp(1);
  EXPECT_TRUE(unasked.guess);
}

TEST(ceiling, from_a_time_of_slow_answers_may_have_been_slots) {
  ceiling c{.at = 10, .answer = 2};
  EXPECT_FALSE(c.was_slow(1));
  EXPECT_TRUE(c.was_slow(.6));
  c.end_ramp(.6);
  EXPECT_FALSE(c.was_slow(.6)) << "it is found";
  c = {.at = 10, .touched = true, .answer = 2};
  EXPECT_FALSE(c.was_slow(.6)) << "it is measured";
}

TEST(ceiling, that_yielded_recovers_once_the_others_have_not_come_for_long) {
  ceiling c{.at = 100};
  EXPECT_FALSE(c.recovers());
  for (int i = 0; i < 3; ++i) c.yield(.05);
  EXPECT_NEAR(c.at, 97, .1);
  EXPECT_EQ(c.alone, 100);
  EXPECT_EQ(c.ease, .125);
  EXPECT_FALSE(c.recovers());
  c.ease = ceiling::eased;
  EXPECT_TRUE(c.recovers());
  c.at = 100;
  EXPECT_FALSE(c.recovers());
}

}  // namespace
}  // namespace headway
