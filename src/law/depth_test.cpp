#include "headway/law/depth.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace headway {
namespace {

depth after(std::initializer_list<int> rows) {
  depth d;
  for (int const passed : rows) d.counted(passed);
  return d;
}

TEST(depth, two_rows_alike_ask_for_the_next_and_four_for_faster_ones) {
  EXPECT_FALSE(depth{}.even());
  EXPECT_FALSE(after({5}).even());
  EXPECT_TRUE(after({5, 5}).even());
  EXPECT_FALSE(after({5, 5, 5}).known());
  EXPECT_TRUE(after({5, 5, 5, 5}).known());
}

// Others that share a limit of so few look the same, and the first that took them for chance took
// all.
TEST(depth, a_limit_that_saves_fewer_than_four_is_not_asked) {
  for (int saves = 1; saves < depth::least; ++saves) {
    auto const d = after({saves, saves, saves, saves, saves, saves});
    EXPECT_FALSE(d.even());
    EXPECT_FALSE(d.known());
  }
  EXPECT_TRUE(after({4, 4, 4, 4}).known());
}

TEST(depth, chance_may_refuse_what_would_have_been_accepted) {
  EXPECT_TRUE(after({4, 4, 3, 4, 4}).known());
  EXPECT_TRUE(after({7, 6, 7, 7, 6, 7}).known());
  EXPECT_FALSE(after({4, 4, 2, 4, 4}).known());
}

TEST(depth, what_others_leave_differs_from_row_to_row) {
  for (auto const& rows : {after({4, 1, 0, 3}), after({0, 2, 1, 4}), after({7, 2, 5, 1})}) {
    EXPECT_FALSE(rows.even());
    EXPECT_FALSE(rows.known());
  }
}

TEST(depth, a_row_that_gets_more_is_the_first_again) {
  auto const d = after({4, 4, 4, 4, 6});
  EXPECT_FALSE(d.even());
  EXPECT_EQ(d.most, 6);
}

TEST(depth, a_row_that_gets_nothing_tells_nothing_of_a_limit_s_own) {
  EXPECT_EQ(after({0, 0, 0, 0, 0}), depth{});
  EXPECT_EQ(after({4, 4, 0}), depth{}) << "it saves four no more";
}

TEST(depth, its_odds_are_bounded) {
  depth d;
  for (int i = 0; i < 1000; ++i) d.counted(5);
  EXPECT_LE(d.alike, depth::row_for * depth::four_alike);
}

TEST(depth, no_more_tests_count_than_tell) {
  EXPECT_EQ(after({4, 4}).enough(8), 6);
  EXPECT_EQ(after({7, 7}).enough(8), 8);
}

TEST(depth, faster_ones_that_are_accepted_show_chance) {
  for (auto const& [refused, found] : {std::pair{0, true}, {1, false}, {5, false}}) {
    auto d = after({5, 5, 5, 5});
    EXPECT_EQ(d.answered(depth::faster_tests, refused, 0.03), found) << refused;
    EXPECT_EQ(d.found, found);
    EXPECT_FALSE(found && (d.even() || d.known())) << "nothing is asked any more";
  }
}

TEST(depth, faster_ones_that_a_limit_refuses_begin_anew) {
  auto d = after({5, 5, 5, 5});
  EXPECT_FALSE(d.answered(depth::faster_tests, 20, 0.03));
  EXPECT_EQ(d, depth{});
}

TEST(depth, where_chance_refuses_often_more_rows_decide) {
  auto d = after({5, 5, 5, 5});
  int rows = 0;
  while (!d.answered(depth::faster_tests, 3, 0.1)) ASSERT_LT(++rows, 5);
  EXPECT_GT(rows, 0);
  EXPECT_NEAR(d.share(), 0.1, 0.02);
}

// Rows at once, which are refused whatever refused before, lift the share of all.
TEST(depth, faster_ones_tell_the_share_where_all_answers_tell_more) {
  auto d = after({5, 5, 5, 5});
  EXPECT_TRUE(d.answered(depth::faster_tests, 0, 0.5));
  EXPECT_LT(d.share(), 0.03);
}

TEST(depth, that_was_others_after_all_knows_the_rate_to_go_back_to) {
  auto d = after({5, 5, 5, 5});
  d.deny();
  EXPECT_TRUE(d.known()) << "it was not taken for chance";
  d.answered(depth::faster_tests, 0, 0.03);
  d.rate = 7;
  d.deny();
  EXPECT_EQ(d, depth{.rate = 7});
}

}  // namespace
}  // namespace headway
