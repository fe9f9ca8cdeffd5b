#include "headway/law/test_row.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

test_row row_of_three() {
  test_row row;
  row.begin(10, test_row::asks::limit, 3, 0);
  return row;
}

TEST(test_row, hears_its_own_sends_only) {
  auto row = row_of_three();
  row.unsent = 0;
  EXPECT_FALSE(row.hear(true, 9));
  EXPECT_TRUE(row.hear(true, 10));
  EXPECT_TRUE(row.hear(false, 12));
  EXPECT_FALSE(row.hear(true, 13));
  EXPECT_EQ(row.out(), 1);
  EXPECT_FALSE(row.over());
  EXPECT_TRUE(row.hear(false, 11));
  EXPECT_TRUE(row.over());
  EXPECT_EQ(row.passed(), 2);
}

TEST(test_row, taken_back_before_it_went_is_none) {
  auto row = row_of_three();
  row.take_back();
  EXPECT_EQ(row.length(), 0);
  EXPECT_FALSE(row.hear(true, 10));
}

TEST(test_row, chance_refuses_as_many_as_of_all_unless_a_limit_is_asked_for_more) {
  auto row = row_of_three();
  EXPECT_TRUE(row.usual());
  row.begin(1, test_row::asks::depth, 3, 0);
  EXPECT_FALSE(row.usual());
  row.begin(1, test_row::asks::pace, 3, 0.1);
  EXPECT_FALSE(row.usual());
}

TEST(test_row, knows_its_tests_by_their_stamps) {
  test_row row;
  row.begin(5, test_row::asks::limit, 2, 0);
  EXPECT_FALSE(row.has(4));
  EXPECT_TRUE(row.has(5));
  EXPECT_TRUE(row.has(6));
  EXPECT_FALSE(row.has(7));
}

}  // namespace
}  // namespace headway
