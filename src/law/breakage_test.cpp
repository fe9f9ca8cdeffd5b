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
  EXPECT_TRUE(b.in_vain(48, 24, 0.5));
  EXPECT_EQ(b.usual, 0.5);
  EXPECT_EQ(cuts_of(b, 6, 1000), 0);
  EXPECT_GT(cuts_of(b, 9, 1000), 0);
}

TEST(breakage, the_usual_share_is_forgotten_when_nothing_fails) {
  breakage b{.usual = 0.5};
  cuts_of(b, 0, 10'000);
  EXPECT_LT(b.usual, 0.01);
}

TEST(breakage, cuts_that_helped_are_judged_ever_more_seldom) {
  breakage b;
  EXPECT_TRUE(b.doubts());
  EXPECT_FALSE(b.in_vain(48, 2, 0.3));
  EXPECT_FALSE(b.doubts());
  EXPECT_TRUE(b.doubts());
  EXPECT_FALSE(b.in_vain(48, 2, 0.3));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(b.doubts());
  EXPECT_TRUE(b.doubts());
  EXPECT_TRUE(b.in_vain(48, 20, 0.3));
  EXPECT_TRUE(b.doubts());
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

TEST(breakage, probes_are_at_most_five_seconds_apart) {
  breakage const b{.gone = start};
  EXPECT_EQ(b.probe_interval(start), 0.1);
  EXPECT_EQ(b.probe_interval(start + 8s), 2);
  EXPECT_EQ(b.probe_interval(start + 24h), 5);
}

}  // namespace
}  // namespace headway
