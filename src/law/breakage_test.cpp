#include "headway/law/breakage.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr time_point start{10s};

/// Of each ten answers the first `failures` fail; how many asked for a cut.
int cuts_of(breakage& b, int failures, int answers) {
  int cuts = 0;
  for (int i = 0; i < answers; ++i)
    if (i % 10 < failures)
      cuts += b.failed(start, true);
    else
      b.succeeded(start);
  return cuts;
}

TEST(breakage, one_failure_in_five_asks_for_no_cut_and_half_do) {
  breakage b;
  EXPECT_EQ(cuts_of(b, 2, 1000), 0);
  EXPECT_NEAR(b.share, 0.2, 0.02);
  EXPECT_GT(cuts_of(b, 5, 1000), 0);
}

TEST(breakage, before_the_first_success_nothing_asks_for_a_cut_or_is_away) {
  breakage b;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(b.failed(start, false));
  EXPECT_FALSE(b.away());
}

TEST(breakage, what_a_cut_does_not_lower_is_usual) {
  breakage b;
  EXPECT_EQ(b.judge(48, 24, 0.5, 10), breakage::verdict::in_vain);
  EXPECT_EQ(b.usual, 0.5);
  EXPECT_FALSE(b.limit);
  EXPECT_EQ(cuts_of(b, 6, 1000), 0);
  EXPECT_GT(cuts_of(b, 9, 1000), 0);
}

TEST(breakage, a_cut_is_judged_as_soon_as_the_odds_are_clear) {
  breakage b;
  for (int n = 1; n < 18; ++n) EXPECT_EQ(b.judge(n, 0, 0.25, 10), breakage::verdict::open) << n;
  EXPECT_EQ(b.judge(18, 0, 0.25, 10), breakage::verdict::helps);
  EXPECT_TRUE(b.limit);
  b = {};
  EXPECT_EQ(b.judge(3, 2, 0.6, 10), breakage::verdict::open);
  EXPECT_EQ(b.judge(4, 3, 0.6, 10), breakage::verdict::in_vain);
  EXPECT_NEAR(b.usual, 0.6, 0.05) << "of few answers, about what it was";
  b = {};
  EXPECT_EQ(b.judge(47, 7, 0.25, 10), breakage::verdict::open);
  EXPECT_NE(b.judge(48, 7, 0.25, 10), breakage::verdict::open);
}

TEST(breakage, what_was_usual_before_a_cut_need_not_be_cured) {
  breakage b{.usual = 0.2};
  EXPECT_EQ(b.judge(48, 16, 0.5, 10), breakage::verdict::helps);
  EXPECT_NEAR(b.usual, 16.0 / 48, 1e-9);
}

TEST(breakage, all_that_fails_is_judged_too) {
  breakage b{.usual = 0.9};
  EXPECT_EQ(b.judge(48, 47, 1, 10), breakage::verdict::in_vain);
  EXPECT_NEAR(b.usual, 47.0 / 48, 1e-9);
}

TEST(breakage, of_a_limit_two_failures_of_eight_ask_for_a_cut_and_one_does_not) {
  breakage b{.limit = true};
  EXPECT_FALSE(b.failed(start, true));
  for (int i = 0; i < 200; ++i) b.succeeded(start);
  int failures = 0;
  bool cut = false;
  for (int i = 0; i < 16 && !cut; ++i)
    if (i % 4 == 0)
      cut = b.failed(start, true), ++failures;
    else
      b.succeeded(start);
  EXPECT_TRUE(cut);
  EXPECT_LE(failures, 4);
  EXPECT_GE(failures, 2);
}

TEST(breakage, the_more_failures_are_usual_the_more_above_them_ask_for_a_cut) {
  EXPECT_EQ(breakage{}.rise(), breakage::limit_share);
  EXPECT_NEAR((breakage{.usual = 0.2}.rise()), 0.1 + 2 * 0.05, 1e-9);
  breakage b{.usual = 0.2, .limit = true};
  EXPECT_EQ(cuts_of(b, 2, 1000), 0);
  EXPECT_GT(cuts_of(b, 5, 1000), 0);
}

TEST(breakage, a_limit_is_not_doubted_above_the_pace_at_which_a_cut_helped) {
  breakage b;
  EXPECT_TRUE(b.doubts(0.3, 100));
  b.judge(48, 0, 0.3, 10);
  EXPECT_FALSE(b.doubts(0.2, 10));
  EXPECT_TRUE(b.doubts(0.2, 9));
  EXPECT_TRUE(b.doubts(0.3, 10)) << "so many are another fault";
}

TEST(breakage, a_trial_is_as_slow_as_what_passes) {
  EXPECT_EQ(breakage{}.slow(100), 40);
  EXPECT_EQ(breakage{.lately = 0.7}.slow(100), 100 * 0.8 * (1 - 0.7));
  EXPECT_EQ(breakage{.lately = 1}.slow(100), 20);
}

// Lines that always fail are all that is left at the end.
TEST(breakage, of_a_limit_requests_do_not_count_that_fail_while_others_pass_and_never_do) {
  breakage b{.limit = true};
  for (int i = 0; i < 1000; ++i) {
    bool const cut = b.failed(start, true, true);
    EXPECT_FALSE(cut && i > 16) << i;
  }
  breakage c{.limit = true};
  int cuts = 0;
  for (int i = 0; i < 1000; ++i) {
    cuts += c.failed(start, true, true);
    c.succeeded(start, true);
  }
  EXPECT_GT(cuts, 900) << "they fail by the limit: half of them pass";
}

TEST(breakage, what_is_gone_again_sooner_than_it_was_gone_before_has_a_limit) {
  for (bool const soon : {true, false}) {
    breakage b;
    for (int i = 0; i < breakage::row_max; ++i) b.failed(start, true);
    EXPECT_TRUE(b.succeeded(start + 10s));
    bool cut = false;
    for (int i = 0; i < breakage::row_max; ++i) cut = b.failed(start + (soon ? 19s : 21s), true);
    EXPECT_EQ(cut, soon);
    EXPECT_EQ(b.limit, soon);
    EXPECT_EQ(b.away(), !soon);
  }
}

/// A server that fails often, among successes, and is asked by a row.
breakage asked_often() {
  breakage b;
  for (int i = 0; i < 48; ++i) cuts_of(b, i % 2, 1);
  b.succeeded(time_point{});
  EXPECT_TRUE(b.wants_row());
  b.ask();
  return b;
}

TEST(breakage, a_row_of_tests_that_fails_tells_of_a_limit_and_one_that_passes_does_not) {
  auto b = asked_often();
  EXPECT_FALSE(b.wants_row());  // too soon
  EXPECT_FALSE(b.judge_row(8, 4));
  EXPECT_FALSE(b.limit);
  b = asked_often();
  EXPECT_TRUE(b.judge_row(8, 8));
  EXPECT_TRUE(b.limit);
  EXPECT_FALSE(b.asked);
}

TEST(breakage, rows_that_tell_little_add_up) {
  auto b = asked_often();
  EXPECT_FALSE(b.judge_row(8, 6));
  b.ask();
  EXPECT_TRUE(b.judge_row(8, 6));
}

TEST(breakage, a_row_after_which_nothing_passes_waits_until_the_server_is_back) {
  auto b = asked_often();
  b.row = 8;
  EXPECT_FALSE(b.judge_row(8, 8));
  EXPECT_TRUE(b.asked);
  cuts_of(b, 16, 16);
  EXPECT_TRUE(b.away());
  EXPECT_FALSE(b.asked);
}

TEST(breakage, a_server_that_refuses_by_throttles_is_not_asked) {
  auto b = asked_often();
  b.refused();
  EXPECT_FALSE(b.judge_row(8, 8));
  EXPECT_FALSE(b.limit);
  b.answers = breakage::row_after;
  EXPECT_FALSE(b.wants_row());
}

TEST(breakage, a_cut_in_vain_is_kept_while_rows_tell_of_a_limit) {
  auto b = asked_often();
  b.odds = 2 * breakage::row_believed * breakage::row_believed;
  b.usual = 0;
  EXPECT_EQ(b.judge(48, 24, 0.5, 10), breakage::verdict::helps);
  EXPECT_EQ(b.usual, 0);
  EXPECT_EQ(b.safe, 0);
  EXPECT_EQ(b.judge(48, 24, 0.5, 10), breakage::verdict::in_vain);
  EXPECT_FALSE(b.limit);
}

TEST(breakage, the_verdict_on_a_cut_ends_its_row_of_tests) {
  auto b = asked_often();
  b.judge(1, 0, 0.5, 10);
  EXPECT_TRUE(b.asked) << "open";
  b.judge(48, 0, 0.5, 10);
  EXPECT_FALSE(b.asked);
}

TEST(breakage, a_cut_of_a_limit_forgets_what_failed_before_it) {
  breakage b{.lately = 0.4, .usual = 0.1};
  b.cut();
  EXPECT_EQ(b.lately, 0.4);
  b.limit = true;
  b.cut();
  EXPECT_EQ(b.lately, 0.1);
}

TEST(breakage, the_usual_share_is_forgotten_when_nothing_fails) {
  breakage b{.usual = 0.5};
  cuts_of(b, 0, 10'000);
  EXPECT_LT(b.usual, 0.01);
}

TEST(breakage, sixteen_failures_in_a_row_are_an_absence_that_a_later_send_ends) {
  breakage b;
  for (int i = 0; i < breakage::row_max; ++i) {
    EXPECT_FALSE(b.away());
    b.failed(start, true);
  }
  EXPECT_TRUE(b.away());
  EXPECT_FALSE(b.succeeded(start - 1ns));  // sent while it was there
  EXPECT_TRUE(b.away());
  EXPECT_TRUE(b.succeeded(start + 1s));
  EXPECT_FALSE(b.away());
}

TEST(breakage, requests_that_fail_while_others_pass_tell_of_no_absence) {
  breakage b;
  for (int i = 0; i < 10 * breakage::row_max; ++i) b.failed(start, true, true);
  EXPECT_FALSE(b.away());
  EXPECT_GT(b.share, 0.5);
}

// A gateway gives up after 5 s what waits behind too much else.
TEST(breakage, of_a_server_that_never_answered_only_late_failures_tell) {
  breakage b;
  EXPECT_FALSE(b.waited(0.9));
  EXPECT_TRUE(b.waited(1));
  for (int i = 0; i < 10 * breakage::row_max; ++i) b.failed(start, b.waited(0.1));
  EXPECT_FALSE(b.away());
  b.failed(start, b.waited(5));
  EXPECT_TRUE(b.away());
}

TEST(breakage, one_that_fails_alone_for_a_tenth_of_the_time_of_all_failures_is_broken) {
  breakage b;
  for (int i = 0; i < breakage::row_max; ++i) b.failed(start, b.waited(5));
  for (int i = 0; i < 4; ++i) b.ask_alone(start, 5s);  // those that were out
  EXPECT_EQ(b.row, 20);
  b.ask_alone(start + 10s, 5s);
  EXPECT_TRUE(b.away());
  b.ask_alone(start + 11s, 5s);
  EXPECT_FALSE(b.away());
  EXPECT_FALSE(b.waited(5)) << "it is not asked so again";
  breakage many{.row = 2000, .gone = start};
  many.ask_alone(start + 599s, 60s);
  EXPECT_TRUE(many.away());
  many.ask_alone(start + 600s, 60s);
  EXPECT_FALSE(many.away()) << "ten minutes at most";
}

TEST(breakage, probes_are_at_most_five_seconds_apart) {
  breakage const b{.gone = start};
  EXPECT_EQ(b.probe_interval(start), 0.1);
  EXPECT_EQ(b.probe_interval(start + 8s), 2);
  EXPECT_EQ(b.probe_interval(start + 24h), 5);
}

TEST(breakage, an_outage_lasts_no_longer_than_it_is_watched) {
  breakage b{.gone = time_point{10s}};
  b.idle(time_point{16s}, time_point{20s});
  EXPECT_EQ(b.gone, time_point{10s});
  b.idle(time_point{20s}, time_point{20s} + 1h);
  EXPECT_EQ(b.gone, time_point{10s} + 1h);
  breakage there;
  there.idle(time_point{1h}, time_point{2h});
  EXPECT_FALSE(there.away());
}

}  // namespace
}  // namespace headway
