#include "headway/law/turns.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr time_point start{10s};

TEST(turns, follow_each_other_at_the_interval) {
  turns t;
  t.take(start, 100ms, 10ms);
  EXPECT_EQ(t.next, start + 90ms);  // the first was as late as may be
  EXPECT_FALSE(t.take(t.next, 100ms, 10ms));
  EXPECT_EQ(t.next, start + 190ms);
}

TEST(turns, make_up_for_what_came_a_little_late) {
  turns t{.next = start};
  EXPECT_FALSE(t.take(start + 10ms, 100ms, 10ms));
  EXPECT_EQ(t.next, start + 100ms);
}

TEST(turns, of_one_that_came_later_are_lost) {
  turns t{.next = start};
  EXPECT_TRUE(t.take(start + 50ms, 100ms, 10ms));
  EXPECT_EQ(t.next, start + 140ms);
}

TEST(turns, do_not_bind_until_an_answers_time_after_a_late_one) {
  turns t{.next = start};
  t.take(start + 1s, 100ms, 10ms);
  EXPECT_FALSE(t.bind(start + 1s + 200ms, 0.5));
  EXPECT_TRUE(t.bind(start + 1s + 500ms, 0.5));
}

TEST(turns, wait_and_hurry_move_the_next_one_way_only) {
  turns t{.next = start + 1s};
  t.wait(start, 0.5);
  EXPECT_EQ(t.next, start + 1s);
  t.wait(start, 2);
  EXPECT_EQ(t.next, start + 2s);
  t.hurry(start, 3);
  EXPECT_EQ(t.next, start + 2s);
  t.hurry(start, 0.5);
  EXPECT_EQ(t.next, start + 500ms);
}

}  // namespace
}  // namespace headway
