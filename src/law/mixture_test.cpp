#include "headway/law/mixture.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(mixture, is_found_once_three_more_rows_passed_than_were_refused) {
  mixture m;
  EXPECT_FALSE(m.suspected());
  for (bool const passes : {true, true, false, true}) m.judge(passes);
  EXPECT_TRUE(m.suspected());
  EXPECT_FALSE(m.found);
  m.judge(true);
  EXPECT_TRUE(m.found);
}

TEST(mixture, that_is_found_is_lost_only_once_as_many_are_refused) {
  mixture m{.passed = mixture::proof, .found = true};
  for (bool const passes : {true, false, false}) m.judge(passes);
  EXPECT_TRUE(m.found);
  m.judge(false);
  EXPECT_FALSE(m.found);
  EXPECT_EQ(m, mixture{});
}

TEST(mixture, refused_rows_leave_nothing_to_be_made_up_for) {
  mixture m;
  for (int i = 0; i < 9; ++i) m.judge(false);
  EXPECT_EQ(m, mixture{});
}

TEST(mixture, one_refusal_in_eight_is_asked_by_a_whole_row) {
  mixture m;
  for (int i = 1; i <= 3 * mixture::whole; ++i)
    EXPECT_EQ(m.next(8, 10, .03), i % mixture::whole == 0 ? 8 : mixture::tests) << i;
}

// At 100 a second with 5 % of them a few tests would cut twelve times in a stride's time.
TEST(mixture, few_tests_ask_only_where_chance_seldom_refuses_one_of_them) {
  mixture m;
  EXPECT_EQ(m.next(8, 100, .05), 8);
  EXPECT_EQ(m.next(8, 100, .02), mixture::tests);
  EXPECT_EQ(m.next(8, 12, .05), mixture::tests);
}

}  // namespace
}  // namespace headway
