#include "headway/law/period.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headway {
namespace {

constexpr time_point start{100s};

/// A server that accepted `units` in a second from `from` on, and was shut then.
period shut_after(int units, time_point from = start) {
  period p;
  for (int i = 0; i < units; ++i) p.sent(from + i * 1s / units, 1);
  p.sent(from + 1s, 1);
  p.take_back(1, start);
  p.refuse(from + 1s);
  p.close(from + 1s);
  return p;
}

/// One that had been open for hours, too long for a window.
period shut_at_last(int units) {
  auto p = shut_after(units);
  p.began -= 2h;
  return p;
}

TEST(period, a_server_shuts_once) {
  period p;
  p.refuse(start);
  EXPECT_FALSE(p.shut);
  EXPECT_TRUE(p.close(start));
  p.refuse(start + 1s);
  EXPECT_FALSE(p.close(start + 1s));
  EXPECT_EQ(p.since, start);
  EXPECT_EQ(p.refused, start + 1s);
}

TEST(period, a_closing_missed_what_as_long_a_time_before_it_accepted) {
  auto p = shut_after(50);
  EXPECT_DOUBLE_EQ(p.open(start + 3s, 1).missed(), 98);  // of 49 in the second before
  EXPECT_EQ(period::cycle{}.missed(), 0);
}

TEST(period, probes_come_the_later_the_longer_it_is_shut) {
  auto const p = shut_at_last(50);
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 2s, 10'000), 0.2);
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 11s, 10'000), 2);
}

TEST(period, probes_come_the_later_the_less_was_ever_accepted) {
  auto const p = shut_at_last(50);
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 11s, 24), 20);
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 11s, 99), 10);
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 11s, 10'000), 2);
}

TEST(period, lost_probes_are_sent_again_after_twice_as_many_turns_each_time) {
  auto p = shut_at_last(50);
  p.probed = p.refused + 1s;
  EXPECT_TRUE(p.let_pass(start + 1h));
  EXPECT_EQ(p.lose(), 1);
  EXPECT_FALSE(p.let_pass(start + 1h)) << "no silence of its server";
  EXPECT_EQ(p.lose(), 2);
  EXPECT_EQ(p.lose(), 4);
  p.close(p.refused + 2s);
  EXPECT_EQ(p.lose(), 1) << "one was heard";
  for (int i = 0; i < 100; ++i) p.lose();
  EXPECT_EQ(p.lose(), std::exp2(period::lost_max));
}

// 30 a minute were asked after 7, 22, 57 and 160 s.
TEST(period, probes_go_where_windows_end_as_people_write_them) {
  auto const p = shut_after(30);
  EXPECT_LT(p.probe_interval(start + 2s, 30), 2);                     // 5 s are too far away
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 3s, 30), 2.05);           // … and now they end
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 22s, 30), 8.3);           // half a minute
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 31s, 30), 29.6);          // a minute
  EXPECT_GT(p.probe_interval(start + 60'600ms - 1ns, 30), 1);         // it has just gone
  EXPECT_EQ(p.probe_interval(start + 40s, 2), period::unserved_max);  // others may have all of it
}

TEST(period, probes_have_a_longest_interval) {
  auto const p = shut_at_last(50);
  EXPECT_EQ(p.probe_interval(start + 1h, 0), period::unserved_max);
  EXPECT_EQ(p.probe_interval(start + 1h, 3), 0.1 * 3599);  // an hour later, in 6 min
  EXPECT_EQ(p.probe_interval(start + 10min, 3), period::probe_seconds);
  EXPECT_EQ(p.probe_interval(start + 10'000h, 3), period::probe_seconds_max);
}

// One acceptance in 145 s, among 19 others: its next probe came at 413 s, and found all gone.
TEST(period, one_that_was_hardly_served_asks_sooner) {
  auto const p = shut_at_last(2);
  EXPECT_EQ(p.probe_interval(start + 146s, 2), period::unserved_max);
  EXPECT_DOUBLE_EQ(p.probe_interval(start + 201s, 2), 40);  // a fifth of the time
  EXPECT_EQ(p.probe_interval(start + 146s, 3), period::probe_seconds);
}

TEST(period, silence_tells_where_answers_take_seconds_and_refusals_come_soon) {
  auto p = shut_after(50);
  EXPECT_FALSE(p.silence_tells(10));  // no refusal was timed
  p.hear_refusal(0.05);
  EXPECT_TRUE(p.silence_tells(10));
  EXPECT_FALSE(p.silence_tells(0.9));
  EXPECT_FALSE(shut_after(50).let_pass(start + 1h));  // nothing was sent
  p.probed = start + 2s;
  EXPECT_FALSE(p.let_pass(start + 2s + 199ms));
  EXPECT_TRUE(p.let_pass(start + 2s + 200ms));
  p.refuse(p.probed);
  p.close(p.probed);
  EXPECT_FALSE(p.let_pass(start + 3s));
  p.hear_refusal(0.01);  // the longest counts, and fades
  EXPECT_DOUBLE_EQ(p.refusal, 0.045);
}

TEST(period, an_opening_tells_what_the_cycle_accepted) {
  auto p = shut_after(50);
  p.sent(start + 4s, 1);
  auto const c = p.open(start + 4s, 1);
  EXPECT_EQ(c.accepted, 50);
  EXPECT_DOUBLE_EQ(c.closed, 3);
  EXPECT_DOUBLE_EQ(c.least, 50.0 / 4);
  EXPECT_DOUBLE_EQ(c.most, 50.0);
  EXPECT_FALSE(c.again);
  EXPECT_FALSE(p.shut);
  EXPECT_EQ(p.accepted, 1);  // what opened it
}

TEST(period, what_was_sent_at_once_bounds_no_rate) {
  period p;
  for (int i = 0; i < 50; ++i) p.sent(start, 1);
  p.refuse(start);
  p.close(start);
  p.sent(start + 10s, 1);
  auto const c = p.open(start + 10s, 1);
  EXPECT_DOUBLE_EQ(c.most, 4 * c.least);
}

TEST(period, one_that_shuts_about_as_long_again_has_a_period) {
  auto p = shut_after(50);
  auto from = start + 4s;
  EXPECT_FALSE(p.open(from, 1).again);
  for (int i = 0; i < 2; ++i) {
    p.refuse(from + 1s);
    p.close(from + 1s);
    from += 4s;
    EXPECT_EQ(p.open(from, 1).again, true) << i;
  }
  p.refuse(from + 1s);
  p.close(from + 1s);
  EXPECT_FALSE(p.open(from + 60s, 1).again);
}

// A hint is heard before the refusal that brings it, which was sent earlier.
TEST(period, one_that_has_told_until_when_was_not_shut_before_that) {
  auto p = shut_after(1);
  p.close(start);
  EXPECT_EQ(p.refused, start + 1s);
  EXPECT_EQ(p.open(start + 60s, 1).certain, 0);
}

TEST(period, is_told_by_what_the_server_says_alone) {
  auto p = shut_after(1);
  EXPECT_FALSE(p.open(start + 60s, 1).told);  // refused once
  p.announce(start + 70s);
  p.close(start + 69s);  // went before that was said
  EXPECT_TRUE(p.told);
  auto refused_again = p;
  refused_again.close(start + 80s);
  EXPECT_TRUE(p.open(start + 130s, 1).told);
  EXPECT_FALSE(p.told);
  EXPECT_FALSE(refused_again.open(start + 130s, 1).told);
}

TEST(period, that_hardly_served_and_is_shut_for_long_may_be_used_up_by_others) {
  auto const p = shut_after(1);
  EXPECT_FALSE(p.unserved(start + 11s, 0));
  EXPECT_TRUE(p.unserved(start + 12s, 0));
  EXPECT_FALSE(p.unserved(start + 12s, period::served));
}

TEST(period, a_pause_of_the_caller_is_no_time_that_it_was_shut) {
  auto p = shut_after(1);
  p.close(start + 2s);
  p.sent(start + 3602s, 1);
  p.idle(start + 2s, start + 3602s, 1);
  auto const c = p.open(start + 3602s, 1);
  EXPECT_NEAR(c.closed, 1, 1e-9);
  EXPECT_NEAR(c.certain, 1, 1e-9);
  EXPECT_NEAR(c.seconds, 2, 1e-9);
}

// A request that is asked again waits longer each time, and may be the only one.
TEST(period, that_is_asked_seldom_is_shut_meanwhile) {
  auto p = shut_after(1);
  p.idle(start + 11s, start + 41s, 1);
  EXPECT_EQ(p.since, start + 1s);
}

TEST(period, a_pause_longer_than_the_cycle_so_far_begins_it_anew) {
  for (auto const pause : {5s, 50s}) {
    period p;
    p.sent(start, 1);
    p.sent(start + 10s, 1);
    p.cut();
    auto const now = start + 10s + pause;
    p.sent(now, 1);
    p.idle(start + 10s, now, 1);
    bool const anew = pause > 10s;
    EXPECT_EQ(p.began, anew ? now : start);
    EXPECT_EQ(p.accepted, anew ? 1 : 3);
    EXPECT_EQ(p.cuts, anew ? 0 : 1);
  }
}

// Refusals take a second: three more go before the first of a new cycle is answered, and what was
// refused before it counts no more.
TEST(period, begins_a_cycle_with_all_that_went_since_it_opened) {
  auto p = shut_after(1);
  for (int i = 0; i < 4; ++i) p.sent(start + 3s, 1);
  p.open(start + 3s, 1, 4);
  EXPECT_EQ(p.accepted, 4);
  p.take_back(1, start + 2s);
  EXPECT_EQ(p.accepted, 4);
  p.take_back(1, start + 3s);
  EXPECT_EQ(p.accepted, 3);
}

TEST(period, is_held_for_a_day_at_most) {
  period p;
  p.hold(start, 1h);
  p.hold(start, 1min);
  EXPECT_EQ(p.held, start + 1h);
  p.hold(start, 24h * 365);
  EXPECT_EQ(p.held, start + 24h);
}

}  // namespace
}  // namespace headway
