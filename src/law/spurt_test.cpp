#include "headway/law/spurt.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

/// Opens once a cycle, closes once in it, and accepts so many of 1 each. Returns whether that shows
/// others.
bool cycle(spurt& s, double accepted, double seconds = 10, int closings = 1, double u = 0) {
  return s.opened(seconds, accepted, 1, closings, u);
}

/// A spurt about to be told of its second step, after so many in the first.
spurt second_step(double accepted = 100) {
  spurt s;
  cycle(s, 100);
  cycle(s, 100);
  cycle(s, accepted);
  return s;
}

TEST(spurt, follows_two_cycles_that_are_as_long) {
  spurt s;
  EXPECT_FALSE(cycle(s, 100));
  EXPECT_EQ(s.factor(), 1);
  EXPECT_FALSE(cycle(s, 100, 10.9));
  EXPECT_EQ(s.factor(), spurt::first);
  EXPECT_FALSE(cycle(s, 100));
  EXPECT_EQ(s.factor(), spurt::second);
  EXPECT_FALSE(cycle(s, 100));
  EXPECT_EQ(s.factor(), 1);
}

TEST(spurt, follows_no_other_cycle) {
  auto const steps_after = [](double accepted, double seconds, int closings, double u) {
    spurt s;
    cycle(s, 100);
    cycle(s, accepted, seconds, closings, u);
    return s.step;
  };
  EXPECT_EQ(steps_after(100, 10, 1, 0), 1);
  EXPECT_EQ(steps_after(100, 11.1, 1, 0), 0);            // longer
  EXPECT_EQ(steps_after(spurt::requests, 10, 1, 0), 0);  // too few to tell
  EXPECT_EQ(steps_after(100, 10, 2, 0), 0);              // refused at a rate, too
  EXPECT_EQ(steps_after(100, 10, 1, spurt::often), 0);
}

TEST(spurt, that_is_refused_before_the_window_closes_ends) {
  spurt s;
  cycle(s, 100);
  cycle(s, 100);
  ASSERT_EQ(s.step, 1);
  cycle(s, 100, 10, 2);
  EXPECT_EQ(s.step, 0);
}

// Equal shares of eight clients: 125 and 222 of 1,000 in the two cycles. A client with two thirds
// of a window: 714 and 800.
TEST(spurt, that_takes_more_shows_others) {
  auto first = second_step(139);
  EXPECT_TRUE(cycle(first, 222));
  auto second = second_step(714);
  EXPECT_TRUE(cycle(second, 800));
}

TEST(spurt, that_takes_as_many_shows_none) {
  auto s = second_step(1000);
  EXPECT_FALSE(cycle(s, 1000));
  auto few = second_step(20);
  EXPECT_FALSE(cycle(few, 23));  // two requests tell nothing
}

TEST(spurt, knows_a_window_of_ones_own_by_three_cycles_that_give_just_as_many) {
  spurt s;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(s.own()) << i;
    cycle(s, 20);
  }
  EXPECT_TRUE(s.own());
  cycle(s, 21);
  EXPECT_FALSE(s.own());
  for (int i = 0; i < 9; ++i) cycle(s, spurt::few);
  EXPECT_FALSE(s.own()) << "so few are as many by chance";
}

TEST(spurt, knows_a_windows_length_by_cycles_that_are_as_long_or_several_times_so) {
  spurt s;
  cycle(s, 100, 60);
  cycle(s, 100, 65);
  EXPECT_EQ(s.window(), 0) << "one may be as long by chance";
  cycle(s, 200, 121);
  EXPECT_EQ(s.window(), 65);
  cycle(s, 100, 58);
  EXPECT_EQ(s.window(), 58) << "the latest is the best";
}

TEST(spurt, knows_no_window_where_cycles_are_of_any_length_or_refused_between_as_by_a_rate) {
  auto const after = [](double seconds, int closings) {
    spurt s;
    for (int i = 0; i < 3; ++i) cycle(s, 100, 60);
    EXPECT_EQ(s.window(), 60);
    for (int i = 0; i < 2; ++i) cycle(s, 100, seconds, closings);
    return s.window();
  };
  EXPECT_EQ(after(40, 1), 0);
  EXPECT_EQ(after(85, 1), 0);
  EXPECT_EQ(after(60, 2), 0);
  EXPECT_EQ(after(60, 1), 60);
}

TEST(spurt, knows_a_window_that_gives_as_many_as_before) {
  spurt s;
  EXPECT_FALSE(s.gives_as_many(1000, 1));  // there is none before it
  cycle(s, 1000);
  EXPECT_TRUE(s.gives_as_many(990, 1));
  EXPECT_TRUE(s.gives_as_many(1010, 1));
  EXPECT_FALSE(s.gives_as_many(989, 1));
  cycle(s, 20);
  EXPECT_TRUE(s.gives_as_many(19, 1));  // one request
  EXPECT_FALSE(s.gives_as_many(18, 1));
  cycle(s, spurt::requests);
  EXPECT_FALSE(s.gives_as_many(spurt::requests, 1));  // too few to tell
}

// A longer cycle accepts more, and no more a second.
TEST(spurt, is_judged_by_the_cycle_and_by_the_second) {
  auto longer = second_step(1000);
  EXPECT_FALSE(cycle(longer, 1090, 10.9));
  auto shorter = second_step(1000);
  EXPECT_FALSE(cycle(shorter, 1000, 9.1));
}

}  // namespace
}  // namespace headway
