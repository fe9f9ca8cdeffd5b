#include "headway/suspicion.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

struct answers {
  int passed, refused;
};
/// Takes those that passed first.
suspicion after(answers firsts, answers seconds) {
  suspicion s;
  for (int i = 0; i < firsts.passed; ++i) s.first(false);
  for (int i = 0; i < firsts.refused; ++i) s.first(true);
  for (int i = 0; i < seconds.passed; ++i) s.second(false);
  for (int i = 0; i < seconds.refused; ++i) s.second(true);
  return s;
}

TEST(suspicion, solves_the_two_equations) {
  auto const s = after({8, 1}, {1, 2});
  double const f = 1. / 10, r = 2. / 4;  // with one that passed of each
  EXPECT_DOUBLE_EQ(s.limit(), 1. / 18);
  EXPECT_DOUBLE_EQ(s.bad(), 8. / 17);
  EXPECT_DOUBLE_EQ(s.bad() * f + (1 - s.bad() * f) * s.limit(), f);
  EXPECT_DOUBLE_EQ(s.bad() + (1 - s.bad()) * s.limit(), r);
}

TEST(suspicion, without_an_answer_none_is_bad) {
  EXPECT_EQ(suspicion().limit(), 0);
  EXPECT_EQ(suspicion().bad(), 0);
  EXPECT_EQ(suspicion().odds(1), 0);
  EXPECT_EQ(suspicion().odds(1'000'000), 0);
}

TEST(suspicion, none_is_bad_where_second_attempts_are_refused_no_more_often_than_first_ones) {
  for (auto const& s : {after({2, 1}, {2, 1}), after({0, 9}, {2, 1})}) {
    EXPECT_DOUBLE_EQ(s.limit(), 1. / 4) << "of second ones";
    EXPECT_EQ(s.bad(), 0);
    EXPECT_EQ(s.odds(9), 0);
  }
  EXPECT_GT(after({3, 1}, {2, 1}).bad(), 0);
}

TEST(suspicion, is_strong_after_two_refused_second_attempts) {
  EXPECT_FALSE(after({0, 0}, {0, 1}).strong()) << "a half";
  EXPECT_TRUE(after({0, 0}, {0, 2}).strong());
  EXPECT_FALSE(after({8, 1}, {0, 1}).strong());
  EXPECT_TRUE(after({8, 1}, {0, 2}).strong());
  EXPECT_FALSE(after({8, 1}, {1, 2}).strong()) << "one that passed";
}

TEST(suspicion, the_odds_grow_with_refusals) {
  auto const s = after({8, 1}, {1, 2});  // p = 1/18, b = 8/17
  EXPECT_DOUBLE_EQ(s.odds(1), 8. / 9);
  EXPECT_DOUBLE_EQ(s.odds(2), 8. / 9 * 18);
  EXPECT_DOUBLE_EQ(s.odds(3), 8. / 9 * 18 * 18);
  auto const many = after({0, 9}, {0, 15});  // p = 9/16
  EXPECT_GT(many.odds(32), many.odds(31));
  EXPECT_EQ(many.odds(1'000'000), many.odds(32)) << "to an end";
  EXPECT_DOUBLE_EQ(after({7, 0}, {0, 1}).odds(2), 16) << "none refused of 8: half of one";
  EXPECT_DOUBLE_EQ(after({127, 0}, {0, 1}).odds(3), 256 * 256);
}

TEST(suspicion, the_latest_sixteen_second_attempts_count_most) {
  auto s = after({0, 0}, {0, 15});
  EXPECT_DOUBLE_EQ(s.bad(), 15. / 16);
  for (int i = 0; i < 100; ++i) {
    auto const before = s.bad();
    s.second(false);
    EXPECT_DOUBLE_EQ(s.bad(), before * 15 / 16) << i;
  }
  EXPECT_FALSE(s.strong());
  for (int i = 0; i < 12; ++i) s.second(true);
  EXPECT_TRUE(s.strong());
}

TEST(suspicion, the_latest_128_first_attempts_count_most) {
  suspicion s;
  s.second(true);
  for (int i = 0; i < 1000; ++i) s.first(true);
  EXPECT_EQ(s.bad(), 0);
  EXPECT_EQ(s.limit(), 1. / 2);
  for (int i = 0; i < 1000; ++i) s.first(false);
  // F = (127/128)^1000, and R = 1/2
  auto const share = 2 * s.limit() / (1 + 2 * s.limit());
  EXPECT_NEAR(share, 0.00039, 0.00001) << "not a half";
  EXPECT_GT(s.odds(2), 250);
}

}  // namespace
}  // namespace headway
