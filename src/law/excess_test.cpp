#include "headway/law/excess.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

/// A caller that hears of what it sent at `now`.
struct caller {
  excess e{};
  time_point now{1s};

  /// A row of refusals that ends after `seconds`, in which `accepted` passed before.
  void row(double seconds, int accepted = 1) {
    for (int i = 1; i < accepted; ++i) e.succeeded(now, false);
    e.refused();
    now = later(now, from_seconds(seconds));
    e.succeeded(now, true);
  }
  void rows(int count, double seconds, int accepted = 1) {
    for (int i = 0; i < count; ++i) row(seconds, accepted);
  }
  /// Takes answers of which one of `each` is refused, until another pace is tried. Returns whether
  /// the limit is certain to be its own.
  bool hear(int each) {
    auto const pace = e.now;
    bool own = false;
    for (int i = 1; e.now == pace && !own && i < 10 * excess::heard_max; ++i) {
      if (i % each == 0)
        own = e.refused();
      else
        e.succeeded(now, false);
    }
    return own;
  }
};

constexpr int never_refused = 1000;

caller slowed() {
  caller c;
  c.rows(excess::rows_min + 1, 0.5);
  return c;
}

TEST(excess, rows_that_are_as_long_begin_a_trial) {
  caller c;
  c.rows(excess::rows_min, 0.5);
  EXPECT_EQ(c.e.now, excess::at::measured);
  EXPECT_EQ(c.e.interval(), 0);
  c.row(0.5);
  EXPECT_EQ(c.e.now, excess::at::slowed);
  EXPECT_DOUBLE_EQ(c.e.interval(), 0.5 * excess::slower);
}

TEST(excess, rows_of_any_length_begin_none) {
  caller c;
  for (int i = 0; i < 100; ++i) {
    c.row(i % 2 == 0 ? 0.3 : 0.8);
    ASSERT_EQ(c.e.now, excess::at::measured) << i;
  }
}

// The next row is the first: a mean from before would leave a deviation below 0, which no blob has.
TEST(excess, a_verdict_forgets_the_rows_before_it) {
  caller c;
  c.e.seconds = 0.3;
  c.row(0.9);
  c.row(0.9);
  EXPECT_DOUBLE_EQ(c.e.seconds, 0.9);
  EXPECT_EQ(c.e.variance, 0);
}

TEST(excess, rows_long_ago_are_forgotten) {
  caller c;
  for (int i = 0; i < 100; ++i) c.row(i % 2 == 0 ? 0.3 : 0.8);
  for (int i = 0; i < 100 && c.e.now == excess::at::measured; ++i) c.row(0.5);
  EXPECT_EQ(c.e.now, excess::at::slowed);
  EXPECT_NEAR(c.e.seconds, 0.5, 0.05);
}

// Means of ten arrivals by chance differ by a third, and are as even as that.
TEST(excess, rows_of_many_arrivals_must_be_the_more_alike) {
  caller c;
  for (int i = 0; i < 100; ++i) {
    c.row(i % 2 == 0 ? 4 : 6, 10);
    ASSERT_EQ(c.e.now, excess::at::measured) << i;
  }
  c = {};
  for (int i = 0; i <= excess::rows_min; ++i) c.row(i % 2 == 0 ? 4.9 : 5.1, 10);
  EXPECT_EQ(c.e.now, excess::at::slowed);
  EXPECT_NEAR(c.e.seconds, 0.5, 0.01);
}

TEST(excess, a_limit_of_its_own_refuses_fewer_when_slowed_and_as_many_as_before_when_not) {
  auto c = slowed();
  for (int round = 0; round < excess::rounds_max; ++round) {
    ASSERT_EQ(c.e.now, excess::at::slowed);
    EXPECT_FALSE(c.hear(never_refused));
    ASSERT_EQ(c.e.now, excess::at::own);
    EXPECT_EQ(c.e.interval(), 0);
    EXPECT_EQ(c.hear(2), round + 1 == excess::rounds_max);
  }
  EXPECT_EQ(
      c.e,
      (excess{.seconds = c.e.seconds, .due = excess::rows_min, .pause = 2 * excess::rows_min}));
  EXPECT_DOUBLE_EQ(c.e.seconds, 0.5);
}

TEST(excess, what_a_bucket_saved_while_slowed_is_spent_first) {
  auto c = slowed();
  c.hear(never_refused);
  for (int i = 0; i < 20; ++i) c.e.succeeded(c.now, false);
  ASSERT_EQ(c.e.now, excess::at::own);
  c.hear(1);
  EXPECT_EQ(c.e.now, excess::at::slowed);
  EXPECT_EQ(c.e.rounds, 1);
}

TEST(excess, where_as_many_are_refused_when_slowed_others_are_the_reason) {
  auto c = slowed();
  EXPECT_FALSE(c.hear(3));
  EXPECT_EQ(c.e.now, excess::at::measured);
}

TEST(excess, where_none_is_refused_at_its_own_pace_either_it_was_others) {
  auto c = slowed();
  c.hear(never_refused);
  EXPECT_FALSE(c.hear(never_refused));
  EXPECT_EQ(c.e.now, excess::at::measured);
}

TEST(excess, after_each_trial_in_vain_the_next_waits_for_twice_as_many_rows) {
  caller c;
  for (int pause = excess::rows_min; pause < 200; pause *= 2) {
    EXPECT_EQ(c.e.pause, pause);
    auto rows = 0;
    for (; c.e.now == excess::at::measured; ++rows) c.row(0.5);
    EXPECT_GE(rows, pause / 2);
    c.hear(2);
    ASSERT_EQ(c.e.now, excess::at::measured);
    EXPECT_EQ(c.e.due, pause);
  }
}

TEST(excess, no_pace_is_judged_by_more_answers_than_so_many) {
  caller c;
  c.rows(excess::rows_min + 1, 10, 20);  // one of twenty is refused
  ASSERT_EQ(c.e.now, excess::at::slowed);
  int heard = 0;
  for (; c.e.now == excess::at::slowed && heard <= excess::heard_max; ++heard) {
    if (heard % 33 == 32)
      c.e.refused();
    else
      c.e.succeeded(c.now, false);
  }
  EXPECT_LE(heard, excess::heard_max);
  EXPECT_EQ(c.e.now, excess::at::measured);
}

}  // namespace
}  // namespace headway
