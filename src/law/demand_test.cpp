#include "headway/law/demand.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr time_point start{10s};

/// An answer to a request that went at `at`: unpaced, or one that the pace made wait.
void answer(demand& d, time_point at, bool unpaced, bool prompt = false) {
  d.heard(at + 50ms, {.sent = {.sent = at, .sends = 1, .prompt = prompt}, .app_limited = unpaced},
          true);
}

TEST(demand, nothing_is_known_at_first) {
  EXPECT_FALSE(demand{}.is_low());
}

TEST(demand, requests_that_go_as_they_come_are_few) {
  demand d;
  answer(d, start, true);
  EXPECT_TRUE(d.is_low());
}

// It had nothing to wait for: a loop's first call of sixteen made the other fifteen's refusals cut
// nothing, 15 % of 500 on 10/s.
TEST(demand, the_first_of_all_tells_nothing_if_it_is_accepted) {
  for (bool const accepted : {true, false}) {
    demand d;
    d.heard(start, {.sent = {.sent = start}, .app_limited = true}, accepted);
    EXPECT_EQ(d.is_low(), !accepted);
  }
}

TEST(demand, a_pace_that_makes_them_wait_is_in_use) {
  demand d;
  for (int i = 0; i < 100; ++i) answer(d, start, false);
  EXPECT_FALSE(d.is_low());
}

TEST(demand, a_worker_that_waits_for_answers_only_wants_all) {
  demand d;
  for (int i = 0; i < 100; ++i) answer(d, start, true, true);
  EXPECT_FALSE(d.is_low());
}

TEST(demand, a_send_is_prompt_soon_after_an_answer) {
  demand d;
  answer(d, start, true);
  auto const answered = start + 50ms;
  EXPECT_TRUE(d.prompt(answered, 0.04));
  EXPECT_TRUE(d.prompt(answered + 9ms, 0.04));
  EXPECT_FALSE(d.prompt(answered + 11ms, 0.04));
  EXPECT_TRUE(d.prompt(answered, 0));              // where answers take no time, too
  EXPECT_FALSE(demand{}.prompt(time_point{}, 0));  // before any answer
}

TEST(demand, a_loop_that_wants_more_than_its_limit_is_not_low_any_more) {
  demand d;
  auto now = start;
  auto const loop = [&](duration interval) {  // refused once before each is accepted
    answer(d, now, true);
    EXPECT_FALSE(d.shows_excess());
    d.pause(now);
    EXPECT_FALSE(d.shows_excess());  // a second refusal of the row tells no more
    now += interval;
    answer(d, now, true);
  };
  for (int i = 0; i <= excess::rows_min; ++i) loop(300ms);
  ASSERT_EQ(d.over.now, excess::at::slowed);
  ASSERT_TRUE(d.is_low());
  d.over.rounds = excess::rounds_max - 1;
  d.over.now = excess::at::own;
  d.over.odds = excess::certain_own / 2;
  d.pause(now);
  EXPECT_FALSE(d.shows_excess());  // not the first of its row
  answer(d, now + 1s, true);
  EXPECT_TRUE(d.shows_excess());
  EXPECT_FALSE(d.is_low());
}

TEST(demand, many_in_a_row_that_wait_and_are_accepted_are_no_low_demand_any_more) {
  demand d;
  auto const row = [&](int length) {
    for (int i = 0; i < length; ++i) answer(d, start, false);
  };
  for (int i = 0; i < 1000; ++i) answer(d, start, true);
  row(demand::busy_max - 1);
  d.heard(start + 50ms, {.sent = {.sent = start}}, false);  // a refusal ends the row
  row(demand::busy_max - 1);
  EXPECT_TRUE(d.is_low());
  row(1);
  EXPECT_FALSE(d.is_low());
}

TEST(demand, a_ceiling_of_the_caller_tells_nothing) {
  demand d;
  for (int i = 0; i < 100; ++i)
    d.heard(start, {.sent = {.sent = start}, .app_limited = true, .capped = true}, true);
  EXPECT_FALSE(d.is_low());
}

TEST(demand, what_waited_out_a_pause_tells_nothing) {
  demand d;
  answer(d, start, true);
  d.pause(start + 1s);
  auto const before = d.idle;
  answer(d, start + 2s, false);
  EXPECT_EQ(d.idle, before);
}

TEST(demand, pauses_grow_while_nothing_is_accepted_and_begin_anew) {
  demand d;
  EXPECT_EQ(d.pause(start), 0);
  EXPECT_EQ(d.pause(start + 4s), 2);
  EXPECT_EQ(d.pause(start + 24h), demand::pause_seconds_max);
  answer(d, start - 1s, false);  // sent before the row began
  EXPECT_EQ(d.pause(start + 8s), 4);
  answer(d, start + 8s, false);
  EXPECT_EQ(d.closed, 1);
  EXPECT_EQ(d.pause(start + 1min), demand::first_pause);
}

}  // namespace
}  // namespace headway
