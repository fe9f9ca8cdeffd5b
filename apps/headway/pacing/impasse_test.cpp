#include "pacing/impasse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headway::app {
namespace {

constexpr duration patience = 15min;
constexpr time_point began{1h};

TEST(silence, is_long_twenty_seconds_after_its_first_attempt) {
  silence s;
  EXPECT_FALSE(s.is_long(began + 1h));
  s.go_on(began);
  s.go_on(began + 10s);
  EXPECT_FALSE(s.is_long(began + 20s - 1ns));
  EXPECT_TRUE(s.is_long(began + 20s));
  s.end();
  EXPECT_FALSE(s.is_long(began + 1h));
}

/// Probes one that is never reached until that is hopeless: when they went.
std::vector<time_point> probed(impasse& i, silence& run, duration takes) {
  std::vector<time_point> all;
  for (auto now = began; all.size() < 100; now = std::max(now, i.ready_at(0))) {
    all.push_back(now);
    auto const sent = now;
    now += takes;
    run.go_on(sent);
    i.unreached(now, sent, "connection refused", false);
    EXPECT_EQ(i.ready_at(1), never);
    EXPECT_GT(i.ready_at(0), now);
    EXPECT_LE(i.ready_at(0), now + 5s);
    if (i.hopeless(now, run)) break;
  }
  return all;
}

TEST(impasse, of_a_server_that_is_never_reached_is_hopeless_within_a_minute) {
  for (auto const takes : std::vector<duration>{1ms, 1s, 10s, 15s}) {
    impasse i;
    silence run;
    auto const all = probed(i, run, takes);
    EXPECT_GE(all.size(), 3U);
    EXPECT_LE(all.size(), 15U);
    EXPECT_GE(all.back() + takes, began + 20s);
    EXPECT_LE(all.back() + takes, began + 1min);
    EXPECT_EQ(i.words(), "connection refused");
  }
}

TEST(impasse, one_that_is_late_is_found) {
  impasse i;
  silence run;
  run.go_on(began);
  i.unreached(began, began, "connection refused", false);
  i.heard();
  EXPECT_EQ(i.ready_at(1), time_point::min());
  EXPECT_EQ(i.words(), "");
  EXPECT_FALSE(i.silent());
  EXPECT_FALSE(i.hopeless(began + 1h, run));
}

TEST(impasse, later_servers_get_three_attempts_where_the_whole_run_was_silent) {
  silence run;
  run.go_on(began - 20s);
  impasse i;
  EXPECT_EQ(probed(i, run, 1ms).size(), 3U);
  run.end();
  impasse other;
  EXPECT_GT(probed(other, run, 1ms).size(), 3U);
}

TEST(impasse, what_would_end_the_same_is_hopeless_at_once) {
  impasse i;
  i.unreached(began, began, "certificate refused", true);
  EXPECT_TRUE(i.hopeless(began, {}));
}

/// A scope that has served a line.
struct refusals : testing::Test {
  refusals() {
    i.heard();
    i.served(now, true);
  }
  /// As many lines in a row; whether the last one is to go again.
  bool refuse(int lines, int status = 403) {
    bool again = false;
    while (lines-- > 0) again = i.refused(now, now, status, patience);
    return again;
  }
  bool stuck() const { return i.ready_at(0) != time_point::min(); }

  time_point now = began;
  impasse i;
};

TEST_F(refusals, of_twenty_lines_in_a_row_are_an_impasse) {
  EXPECT_FALSE(refuse(19));
  EXPECT_FALSE(stuck());
  EXPECT_FALSE(refuse(1));  // it has failed, too: they prove it
  EXPECT_TRUE(stuck());
  EXPECT_EQ(i.words(), "refuses the caller (403)");
}

TEST_F(refusals, do_not_count_before_a_success) {
  i = {};
  i.heard();
  EXPECT_FALSE(refuse(100));
  EXPECT_FALSE(stuck());
}

TEST_F(refusals, are_in_a_row_only_if_they_are_alike_and_nothing_is_between) {
  refuse(19, 401);
  refuse(19, 403);
  EXPECT_FALSE(stuck());
  i.served(now, false);  // say 404
  refuse(19);
  i.broken();
  refuse(19);
  EXPECT_FALSE(stuck());
  refuse(1);
  EXPECT_TRUE(stuck());
}

TEST_F(refusals, that_flew_when_it_began_are_no_probes) {
  refuse(20);
  auto const until = i.ready_at(0);
  EXPECT_TRUE(i.refused(now, now - 1s, 403, patience));
  i.served(now - 1s, true);
  EXPECT_EQ(i.ready_at(0), until);
}

TEST_F(refusals, are_probed_at_growing_distance_until_patience_is_over) {
  refuse(20);
  std::vector<duration> gaps;
  while (!i.hopeless(now, {})) {
    gaps.push_back(i.ready_at(0) - now);
    now = i.ready_at(0);
    ASSERT_TRUE(refuse(1));
    ASSERT_LT(gaps.size(), 100U);
  }
  EXPECT_EQ(now, began + patience);
  EXPECT_EQ(gaps.front(), 1s);
  EXPECT_EQ(gaps[1], 2s);
  EXPECT_EQ(*std::ranges::max_element(gaps), 1min);
}

TEST_F(refusals, are_over_with_an_answer_to_a_line) {
  for (bool const succeeds : {true, false}) {
    refuse(20);
    ASSERT_TRUE(stuck());
    i.broken();
    EXPECT_TRUE(stuck());
    i.served(now, succeeds);
    EXPECT_FALSE(stuck());
    EXPECT_FALSE(refuse(19));
    EXPECT_FALSE(stuck());
    i.served(now, true);
  }
}

/// A scope that is reached, and has only failed so far.
struct failures : testing::Test {
  failures() { i.heard(); }
  void fail(int lines, bool first = true) {
    while (lines-- > 0) i.failed(now, now, first, "status 500", patience);
  }

  time_point now = began;
  impasse i;
};

TEST_F(failures, of_sixteen_lines_before_anything_was_done_are_an_impasse) {
  fail(15);
  fail(100, false);  // lines that fail again tell nothing new
  EXPECT_FALSE(i.fails_all());
  EXPECT_EQ(i.ready_at(0), time_point::min());
  fail(1);
  EXPECT_TRUE(i.fails_all());
  EXPECT_EQ(i.words(), "status 500");
  EXPECT_EQ(i.ready_at(1), never);
}

TEST_F(failures, of_a_server_that_has_answered_are_the_laws) {
  i.served(now, false);  // say 404
  fail(100);
  EXPECT_FALSE(i.holds());
  i = {};
  i.heard();
  i.refused(now, now, 401, patience);
  fail(100);
  EXPECT_FALSE(i.holds());
}

TEST_F(failures, are_over_with_any_answer_to_a_line) {
  fail(16);
  i.served(now - 1s, true);  // it went before the impasse began
  EXPECT_FALSE(i.holds());
  fail(100);
  EXPECT_FALSE(i.holds());
}

TEST_F(failures, are_probed_each_five_seconds_at_last_until_patience_is_over) {
  fail(16);
  std::vector<duration> gaps;
  while (!i.hopeless(now, {})) {
    gaps.push_back(i.ready_at(0) - now);
    now = i.ready_at(0);
    fail(1, gaps.size() % 2 == 0);
    ASSERT_LT(gaps.size(), 1000U);
  }
  EXPECT_GE(now, began + patience);
  EXPECT_LE(now, began + patience + 5s);
  EXPECT_EQ(gaps.front(), 100ms);
  EXPECT_EQ(gaps.back(), 5s);
  EXPECT_TRUE(std::ranges::is_sorted(gaps));
}

TEST(impasse, refuses_the_caller_by_four_statuses) {
  for (int status = 100; status < 600; ++status)
    EXPECT_EQ(impasse::refuses_caller(status),
              status == 401 || status == 402 || status == 403 || status == 407);
}

}  // namespace
}  // namespace headway::app
