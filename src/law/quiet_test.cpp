#include "headway/law/quiet.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(quiet, asks_once_enough_was_accepted_and_later_where_tests_have_told_of_a_limit) {
  quiet const q;
  EXPECT_FALSE(q.enough(quiet::first - 1, 3, false));
  EXPECT_TRUE(q.enough(quiet::first, 3, false));
  EXPECT_FALSE(q.enough(2 * quiet::first - 1, 3, true));
  EXPECT_TRUE(q.enough(2 * quiet::first, 3, true));
}

TEST(quiet, each_ramp_that_is_refused_about_there_makes_the_next_one_rarer) {
  quiet q{.asks = true};
  EXPECT_TRUE(q.refused(3.5, 3));
  EXPECT_FALSE(q.asks);
  EXPECT_FALSE(q.enough(2 * quiet::first - 1, 3, false));
  EXPECT_TRUE(q.enough(2 * quiet::first, 3, false));
  EXPECT_TRUE(q.refused(4, 3));
  EXPECT_FALSE(q.enough(4 * quiet::first - 1, 3, false));
  EXPECT_TRUE(q.enough(4 * quiet::first, 3, false));
  for (int i = 0; i < 100; ++i) q.refused(4, 3);
  EXPECT_EQ(q.ramps, quiet::ramps_max);
}

TEST(quiet, a_ceiling_elsewhere_is_asked_anew) {
  quiet q;
  q.refused(4, 3);
  q.refused(4, 3);
  EXPECT_TRUE(q.enough(quiet::first, 1.9, false));
  EXPECT_TRUE(q.enough(quiet::first, 8.1, false));
  q.refused(1.9, 1.8);
  EXPECT_EQ(q.ramps, 1);
  q.refused(4, 3.9);
  EXPECT_EQ(q.ramps, 1);
}

TEST(quiet, a_ramp_that_is_refused_well_above_the_ceiling_has_found_another) {
  quiet q{.asks = true};
  EXPECT_FALSE(q.refused(4.3, 3));
  EXPECT_FALSE(q.asks);
  EXPECT_TRUE(q.refused(4.1, 3));
}

}  // namespace
}  // namespace headway
