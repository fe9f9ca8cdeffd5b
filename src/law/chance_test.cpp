#include "headway/law/chance.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

/// Tests after each of so many refusals, and has so many of the tests refused.
void test(chance& c, int refusals, int refused_of_tests, int others_between = 20) {
  static std::uint64_t stamp = 0;
  for (int i = 0; i < refusals; ++i) {
    c.answered(true, stamp++);
    c.test(stamp, true);
    for (int t = 0; t < chance::tests; ++t) c.answered(t < refused_of_tests, stamp++);
    for (int o = 0; o < others_between; ++o) c.answered(false, stamp++);
  }
}

TEST(chance, nothing_is_known_at_first_and_each_refusal_counts) {
  chance c;
  EXPECT_FALSE(c.limit());
  EXPECT_EQ(c.doubts(), 0);
  EXPECT_TRUE(c.wants_tests());
}

TEST(chance, what_is_refused_again_at_once_is_a_limit) {
  chance c;
  test(c, 2, 2);
  EXPECT_TRUE(c.limit());
  EXPECT_EQ(c.doubts(), 0);
}

TEST(chance, what_is_accepted_at_once_was_chance) {
  chance c;
  test(c, 40, 0);
  EXPECT_FALSE(c.limit());
  EXPECT_EQ(c.doubts(), 2);
}

TEST(chance, more_refusals_than_usual_are_a_limit_after_all) {
  chance c;
  test(c, 40, 0);
  ASSERT_GT(c.doubts(), 0);
  for (int i = 0; i < 16; ++i) c.answered(true, 1u << 30);
  EXPECT_EQ(c.doubts(), 0);
}

TEST(chance, what_was_found_is_unlearned) {
  chance c;
  test(c, 100, 0);
  ASSERT_EQ(c.doubts(), 2);
  test(c, 6, 2);
  EXPECT_TRUE(c.limit());
}

TEST(chance, tests_after_a_refusal_near_the_ceiling_tell_nothing) {
  chance c;
  c.test(1, false);
  EXPECT_TRUE(c.answered(true, 1));
  EXPECT_EQ(c.odds, 1);
  EXPECT_EQ(c.refused, 1);
}

TEST(chance, only_the_sends_after_it_are_a_refusals_tests) {
  chance c;
  c.test(10, true);
  EXPECT_FALSE(c.answered(true, 9));
  EXPECT_TRUE(c.answered(true, 10));
  EXPECT_FALSE(c.answered(true, 10 + chance::tests));
}

TEST(chance, a_known_limit_is_tested_seldom) {
  chance c;
  test(c, 2, 2);
  ASSERT_TRUE(c.limit());
  int tested = 0;
  for (int i = 0; i < 4 * chance::seldom; ++i) tested += c.wants_tests();
  EXPECT_EQ(tested, 4);
}

}  // namespace
}  // namespace headway
