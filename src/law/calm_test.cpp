#include "headway/law/calm.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(calm, the_time_grows_with_what_is_heard_until_slow_answers_had_the_time_to_come) {
  calm c;
  c.learn(0.1, 50, false);
  EXPECT_EQ(c.answer, 0.1);
  c.learn(0.4, 50, false);
  EXPECT_EQ(c.answer, 0.4) << "the fast ones came first";
  EXPECT_EQ(c.rate, 0);
  c.learn(0.4, 50, true);
  EXPECT_EQ(c.rate, 50);
  c.learn(0.5, 50, false);
  EXPECT_LT(c.answer, 0.45) << "it was steady before";
}

TEST(calm, a_time_is_believed_in_a_few_blocks) {
  calm shorter{.answer = 0.1, .rate = 50}, longer = shorter;
  shorter.learn(0.05, 50, true);
  longer.learn(0.15, 50, true);
  EXPECT_DOUBLE_EQ(shorter.answer, 0.1 - 0.05 / calm::smoothing);
  EXPECT_DOUBLE_EQ(longer.answer, 0.1 + 0.05 / calm::smoothing);
}

TEST(calm, the_rate_is_the_most_of_late) {
  calm c{.answer = 0.1, .rate = 50};
  c.learn(0.1, 80, true);
  EXPECT_EQ(c.rate, 80);
  c.learn(0.1, 10, true);
  EXPECT_EQ(c.rate, 80 - 80 / calm::forgetting);
  auto const before = c.rate;
  c.learn(0.2, 10, true);
  EXPECT_EQ(c.rate, before) << "answers took longer: it is forgotten no more";
  c.learn(0.1, 10, false);
  EXPECT_EQ(c.rate, before) << "or the caller wanted less";
  c.learn(0.2, 200, false);
  EXPECT_EQ(c.rate, 200) << "that was delivered all the same";
}

/// Has so many answers come, to requests that went so long after each other. Returns whether the
/// last one queues.
bool come(calm& c, int answers, duration apart, time_point now = time_point{1h}, double unit = 1) {
  bool queues = false;
  for (int i = 0; i < answers; ++i) queues = c.queues(true, now += apart, unit);
  return queues;
}

TEST(calm, eight_late_answers_in_a_row_queue_once_the_rate_is_known) {
  calm known{.answer = 0.1, .rate = 50}, unknown{.answer = 0.1};
  EXPECT_FALSE(come(known, calm::late_most - 1, 10ms));
  EXPECT_FALSE(known.queues(false, {}, 1)) << "a fast one ends the row";
  EXPECT_FALSE(come(known, calm::late_most - 1, 10ms));
  EXPECT_TRUE(known.queues(true, time_point{1h} + 80ms, 1));
  EXPECT_FALSE(come(unknown, 100, 10ms));
  EXPECT_LE(unknown.late, 2 * calm::late_most);
}

TEST(calm, what_went_no_faster_than_is_delivered_does_not_queue_the_server_is_slower) {
  for (int const answers : {8, 15, 16, 17, 100}) {
    calm slower{.answer = 0.1, .rate = 50}, jam = slower, units = slower;
    EXPECT_FALSE(come(slower, answers, 29ms)) << answers;
    EXPECT_TRUE(come(jam, answers, 19ms)) << answers;
    EXPECT_TRUE(come(units, answers, 29ms, time_point{1h}, 2)) << answers << " of two units each";
  }
  calm turns{.answer = 0.1, .rate = 50};
  EXPECT_FALSE(come(turns, 30, 29ms));
  EXPECT_TRUE(come(turns, 24, 10ms, turns.since + 500ms)) << "those of long ago do not count";
}

TEST(calm, no_more_is_out_than_is_delivered_meanwhile) {
  calm const c{.answer = 0.5, .rate = 8};
  EXPECT_DOUBLE_EQ(c.most_out(1), 1.75 * 4 + 8);
  EXPECT_DOUBLE_EQ(c.most_out(4), 1.75 + 8) << "each costs four units";
}

TEST(calm, a_pause_tells_the_time_anew) {
  calm const c{.answer = 0.5, .rate = 8};
  auto ours = c, slower = c, jammed = c;
  ours.learn_paused(0.3, 7, true);
  EXPECT_EQ(ours, (calm{.answer = 0.3, .rate = 7}));
  jammed.learn_paused(0.6, 7, true);
  EXPECT_EQ(jammed.answer, 0.5) << "some waited still";
  slower.learn_paused(2, 7, false);
  EXPECT_EQ(slower, (calm{.answer = 2, .rate = 8}));
}

}  // namespace
}  // namespace headway
