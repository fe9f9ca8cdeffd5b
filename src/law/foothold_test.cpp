#include "headway/law/foothold.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

/// Takes one answer, as a law does. Returns whether the level is now that which it asks for.
bool take(foothold& f, bool refused, double level = 100) {
  f.answered(refused);
  bool const moves = f.judge(refused, level);
  if (refused && !f.stands(level)) f.refused(level, level);
  return moves;
}

/// Takes answers of which one in `each` is refused, until the level is to change or `most` are in.
void take_share(foothold& f, int each, double level, int most = 1000) {
  for (int i = 1; i <= most; ++i)
    if (take(f, i % each == 0, level) || f.now == foothold::at::any) return;
}

foothold in_trial() {
  foothold f;
  for (int i = 0; i < 8; ++i) take(f, i % 2 == 1);
  return f;
}

/// Half of the answers were refused before the trial and in it.
foothold raised_once() {
  auto f = in_trial();
  take_share(f, 2, 30);
  return f;
}

TEST(foothold, a_quarter_refused_begins_a_trial_once_three_passed_all_the_same) {
  foothold f;
  for (int i = 0; i < 7; ++i) {
    take(f, i % 2 == 1);
    EXPECT_EQ(f.now, foothold::at::any) << i;
  }
  EXPECT_EQ(in_trial().now, foothold::at::trial);
  EXPECT_NEAR(in_trial().usual, .5, .1);
  foothold few;
  take_share(few, 5, 100);
  EXPECT_EQ(few.now, foothold::at::any);
}

// A limit far below the first pace accepts what it has saved, and then one in a while.
TEST(foothold, what_passed_before_the_first_refusal_does_not_count) {
  foothold f;
  for (int i = 0; i < 5; ++i) take(f, false);
  for (int i = 0; i < 6; ++i) take(f, i % 3 != 2);
  EXPECT_GT(f.share, foothold::often);
  EXPECT_EQ(f.now, foothold::at::any);
}

// In a crowd that has settled a client is refused 1 / (12 x).
TEST(foothold, what_a_crowd_refuses_begins_none) {
  foothold f;
  auto const rate = 1 / (company::seconds * .5);
  for (int i = 0; i < 100; ++i) take(f, i % 2 == 1, 2 * rate);
  EXPECT_EQ(f.now, foothold::at::any);
  take(f, false, 5 * rate);
  take(f, true, 5 * rate);
  EXPECT_EQ(f.now, foothold::at::trial);
}

TEST(foothold, what_is_nearly_all_refused_begins_none) {
  foothold f;
  for (int i = 0; i < 200; ++i) take(f, i % 4 != 0);
  EXPECT_EQ(f.now, foothold::at::any);
}

// A server that is shut is probed for hours.
TEST(foothold, refusals_in_a_row_are_no_share) {
  foothold f;
  for (int i = 0; i < 30; ++i) take(f, false);
  for (int i = 0; i < 100; ++i) take(f, true);
  EXPECT_LT(f.share, .1);
  EXPECT_EQ(f.now, foothold::at::any);
}

TEST(foothold, a_trial_lets_the_law_cut_to_a_quarter) {
  auto const f = in_trial();
  EXPECT_EQ(f.least(), 25);
  EXPECT_FALSE(f.stands(25));
  EXPECT_EQ(foothold{}.least(), 0);
}

TEST(foothold, a_trial_ends_where_a_slower_pace_cures) {
  auto f = in_trial();
  take_share(f, 1000, 50);
  EXPECT_EQ(f.now, foothold::at::any);
  EXPECT_LT(f.heard, 16);
}

TEST(foothold, a_trial_ends_where_nothing_is_accepted) {
  auto f = in_trial();
  take_share(f, 1, 50);
  EXPECT_EQ(f.now, foothold::at::any);
  EXPECT_LT(f.heard, 8);
}

TEST(foothold, a_trial_ends_where_nearly_all_is_refused) {
  for (double const lately : {.6, .75}) {
    auto f = in_trial();
    f.answers = 16;
    f.lately = lately;
    f.fewer = .01;
    take(f, false, 50);
    EXPECT_EQ(f.now == foothold::at::raised, lately < foothold::most);
  }
}

TEST(foothold, a_trial_ends_where_something_else_raises_the_level) {
  auto f = in_trial();
  take(f, true, 101);
  EXPECT_EQ(f.now, foothold::at::any);
}

TEST(foothold, each_trial_that_ends_puts_off_the_next_for_twice_as_long) {
  auto f = in_trial();
  for (int pause = foothold::first; pause < 1000; pause *= 2) {
    take_share(f, 1000, 50);
    ASSERT_EQ(f.now, foothold::at::any);
    EXPECT_EQ(f.due, pause);
    int heard = 0;
    for (; f.now == foothold::at::any; ++heard) take(f, heard % 2 == 1);
    EXPECT_GE(heard, pause);
  }
}

TEST(foothold, a_level_that_is_refused_as_often_is_doubled_and_nothing_cuts) {
  auto f = raised_once();
  ASSERT_EQ(f.now, foothold::at::raised);
  EXPECT_EQ(f.level, 30);
  EXPECT_EQ(f.begins(), 60);
  EXPECT_TRUE(f.asks());
  EXPECT_TRUE(f.stands(60));
  take_share(f, 2, 60);
  EXPECT_EQ(f.now, foothold::at::raised);
  EXPECT_EQ(f.begins(), 120);
}

TEST(foothold, twice_the_pace_that_is_refused_more_often_is_followed_by_a_quarter) {
  auto f = raised_once();
  for (int i = 0; f.now == foothold::at::raised; ++i) take(f, i % 8 != 0, 60);
  ASSERT_EQ(f.now, foothold::at::lowered);
  EXPECT_EQ(f.begins(), 7.5);
  auto limit = f;
  take_share(limit, 1000, 7.5);
  EXPECT_EQ(limit.now, foothold::at::any);
  take_share(f, 2, 7.5);
  ASSERT_EQ(f.now, foothold::at::held);
  EXPECT_EQ(f.begins(), 30);
  EXPECT_TRUE(f.stands(30));
  EXPECT_FALSE(f.stands(31));
  EXPECT_EQ(f.least(), 30);
}

foothold held() {
  auto f = raised_once();
  for (int i = 0; f.now == foothold::at::raised; ++i) take(f, i % 8 != 0, 60);
  take_share(f, 2, 7.5);
  return f;
}

TEST(foothold, a_held_level_is_doubled_again_ever_later) {
  auto f = held();
  auto const pause = f.pause;
  EXPECT_EQ(pause, 2 * foothold::later);
  take_share(f, 2, 30);
  ASSERT_EQ(f.now, foothold::at::raised);
  for (int i = 0; f.now == foothold::at::raised; ++i) take(f, i % 8 != 0, 60);
  EXPECT_EQ(f.pause, 2 * pause);
}

TEST(foothold, a_held_level_is_given_up_once_fewer_are_refused) {
  auto f = held();
  take_share(f, 1000, 30);
  EXPECT_EQ(f.now, foothold::at::any);
}

TEST(foothold, sixty_four_answers_judge_a_pace) {
  auto f = raised_once();
  ASSERT_NEAR(f.usual, .5, .1);
  f.usual = .5;
  int heard = 1;
  for (; !take(f, heard % 8 < 5, 60); ++heard) ASSERT_EQ(f.now, foothold::at::raised);
  EXPECT_EQ(heard, foothold::heard_max);
  EXPECT_EQ(f.begins(), 120);
}

// What was heard long ago says nothing of now.
TEST(foothold, a_held_level_is_given_up_as_soon_after_many_answers) {
  auto f = held();
  f.due = 100'000;
  take_share(f, 2, 30, 10'000);
  ASSERT_EQ(f.now, foothold::at::held);
  int heard = 0;
  for (; f.now == foothold::at::held; ++heard) take(f, false, 30);
  EXPECT_LT(heard, 20);
}

TEST(foothold, a_raise_does_not_shorten_what_was_put_off) {
  auto f = in_trial();
  f.pause = 1024;
  take_share(f, 2, 30);
  ASSERT_EQ(f.now, foothold::at::raised);
  EXPECT_EQ(f.pause, 1024);
}

TEST(foothold, a_second_refusal_in_a_row_begins_none) {
  foothold f;
  for (int i = 0; i < 7; ++i) take(f, i % 2 == 1, 1);
  f.row = 1;
  take(f, true);
  EXPECT_EQ(f.now, foothold::at::any);
  take(f, false);
  take(f, true);
  EXPECT_EQ(f.now, foothold::at::trial);
}

// Of a file the bad lines are left.
TEST(foothold, a_held_level_that_is_refused_more_often_is_tried_at_a_quarter) {
  auto f = held();
  f.due = 1000;
  f.usual = .3;
  for (int i = 0; f.now == foothold::at::held; ++i) take(f, i % 5 > 1, 30);
  ASSERT_EQ(f.now, foothold::at::lowered);
  EXPECT_GT(f.usual, .5);
  EXPECT_EQ(f.begins(), 7.5);
}

TEST(foothold, a_held_level_is_given_up_once_nearly_all_is_refused) {
  auto f = held();
  f.due = 1000;
  for (int i = 0; f.now == foothold::at::held; ++i) take(f, i % 10 > 0, 30);
  EXPECT_EQ(f.now, foothold::at::any);
}

TEST(foothold, nothing_is_asked_where_the_reason_is_known) {
  auto f = held();
  f.rest();
  EXPECT_EQ(f.now, foothold::at::any);
  EXPECT_EQ(f.due, f.pause);
}

}  // namespace
}  // namespace headway
