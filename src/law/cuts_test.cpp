#include "headway/law/cuts.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace headway {
namespace {

struct at {
  double rate;
  int out;
};

/// Cuts at each of these.
cuts after(std::initializer_list<at> all) {
  cuts c;
  for (auto const& one : all) c.next(time_point{1s}, 0, 0, one.rate, one.out);
  return c;
}

TEST(cuts, of_many_out_speak_for_slots_at_the_second_at_about_as_many) {
  EXPECT_FALSE(after({}).speak_for_slots(100, 20));
  EXPECT_TRUE(after({{100, 20}}).speak_for_slots(50, 20));
  EXPECT_TRUE(after({{100, 20}}).speak_for_slots(50, 21));
  EXPECT_FALSE(after({{100, 20}}).speak_for_slots(50, 22));
}

TEST(cuts, at_the_same_rate_speak_for_a_rate) {
  EXPECT_FALSE(after({{100, 20}}).speak_for_slots(100, 20));
  EXPECT_FALSE(after({{100, 20}}).speak_for_slots(120, 20));
  EXPECT_TRUE(after({{100, 20}}).speak_for_slots(123, 20));
}

TEST(cuts, of_few_out_speak_for_slots_at_the_third_at_as_many) {
  EXPECT_FALSE(after({{80, 5}}).speak_for_slots(40, 5));
  EXPECT_TRUE(after({{80, 5}, {40, 5}}).speak_for_slots(20, 5));
  EXPECT_FALSE(after({{80, 5}, {40, 4}}).speak_for_slots(20, 5));
  EXPECT_FALSE(after({{80, 5}, {40, 5}}).speak_for_slots(20, 4));
  EXPECT_FALSE(after({{80, 1}, {40, 1}}).speak_for_slots(20, 1));  // one alone
}

TEST(cuts, of_few_out_speak_for_none_where_more_were_accepted_at_as_many) {
  auto c = after({{80, 5}, {40, 5}});
  c.served = 1;  // requests overtake each other
  EXPECT_TRUE(c.speak_for_slots(20, 5));
  c.served = 2;
  EXPECT_FALSE(c.speak_for_slots(20, 5));
}

TEST(cuts, of_few_out_speak_for_slots_at_the_fifth_at_any_rate) {
  EXPECT_FALSE(after({{80, 5}, {80, 5}, {80, 5}}).speak_for_slots(80, 5));
  auto c = after({{80, 5}, {80, 5}, {80, 5}, {80, 5}});
  EXPECT_TRUE(c.speak_for_slots(80, 5));
  c.served = 4;
  EXPECT_FALSE(c.speak_for_slots(80, 5));
}

TEST(cuts, forget_the_row_at_another_number) {
  auto const c = after({{80, 5}, {40, 5}, {40, 6}});
  EXPECT_EQ(c.alike, 0);
  EXPECT_EQ(c.first_rate, 40);
}

TEST(cuts, counted_anew_keep_what_the_latest_one_was_like) {
  cuts c;
  c.next(time_point{1s}, 5, 5, 30, 12);
  c.since.successes = 3;
  c.restart(time_point{4s}, 9, 8);
  EXPECT_EQ(c.at, time_point{4s});
  EXPECT_EQ(c.units, 9);
  EXPECT_EQ(c.successes, 8U);
  EXPECT_EQ(c.since.successes, 0U);
  EXPECT_EQ(c.rate, 30);
  EXPECT_EQ(c.out, 12);
}

TEST(cuts, a_harvest_is_what_came_back_or_what_went_between_two_refusals) {
  cuts c;
  c.next(time_point{10s}, 100, 100, 30, 12);
  auto const had = c.harvested(time_point{15s}, time_point{14s}, 148, 2, 30, true);
  EXPECT_EQ(had.seconds, 5);
  EXPECT_EQ(had.accepted, 30U);
  EXPECT_EQ(had.mean, 10);
  EXPECT_EQ(had.told, 15);
  EXPECT_TRUE(had.many);
  EXPECT_EQ(c.harvested(time_point{15s}, time_point{14s}, 148, 2, 30, false).told, 10);
  EXPECT_EQ(c.harvested(time_point{15s}, time_point{9s}, 148, 2, 30, true).told, 10);
  EXPECT_FALSE(c.harvested(time_point{15s}, time_point{14s}, 110, 2, 7, true).many);
}

}  // namespace
}  // namespace headway
