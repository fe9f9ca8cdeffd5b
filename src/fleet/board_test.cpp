#include "headway/fleet/board.hpp"

#include <gtest/gtest.h>

namespace headway::fleet {
namespace {

constexpr time_point start(10s);

report hello(member_id id, std::uint64_t number) {
  return {.from = id, .number = number, .at = start, .wants = 10, .quick = true};
}

TEST(board, asks_the_first_to_combine_and_then_the_same_as_long_as_its_lease_runs) {
  board b;
  EXPECT_TRUE(b.exchange(start, hello(1, 1)).combine);
  auto const all = b.collect();
  ASSERT_TRUE(b.publish(start, 1, all.valid.version, combine(all.valid, all.reports, start)));
  EXPECT_FALSE(b.exchange(start + 249ms, hello(2, 1)).combine);
  EXPECT_TRUE(b.exchange(start + 249ms, hello(1, 2)).combine);
  EXPECT_TRUE(b.exchange(start + 250ms, hello(2, 2)).combine);
}

TEST(board, keeps_a_report_until_a_valid_state_has_heard_it) {
  board b;
  b.exchange(start, hello(1, 1));
  EXPECT_TRUE(b.exchange(start, hello(1, 2)).fresh);
  EXPECT_FALSE(b.exchange(start, hello(1, 2)).fresh);  // repeated
  auto const all = b.collect();
  EXPECT_EQ(all.reports.size(), 2);
  EXPECT_EQ(b.collect(), all);  // a combiner that dies takes nothing with it
  b.exchange(start, hello(1, 3));
  ASSERT_TRUE(b.publish(start, 1, all.valid.version, combine(all.valid, all.reports, start)));
  ASSERT_EQ(b.collect().reports.size(), 1);
  EXPECT_EQ(b.collect().reports[0].number, 3);
}

TEST(board, keeps_the_latest_reports_of_a_member_and_tells_that_others_were_lost) {
  board b;
  for (std::uint64_t n = 1; n <= 3 * board::reports_max; ++n) b.exchange(start, hello(1, n));
  auto const all = b.collect().reports;
  ASSERT_EQ(all.size(), board::reports_max);
  EXPECT_TRUE(all.front().lost);
  EXPECT_FALSE(all.back().lost);
  EXPECT_EQ(all.back().number, 3 * board::reports_max);
}

TEST(board, forgets_members_that_the_state_has_forgotten) {
  board b;
  auto now = start;
  for (member_id id = 1; id <= 100; ++id) {
    now += 1min;
    auto r = hello(id, 1);
    r.at = id % 10 == 0 ? start : now;  // of long ago
    b.exchange(now, r);
    auto const all = b.collect();
    ASSERT_TRUE(b.publish(now, id, all.valid.version, combine(all.valid, all.reports, now)));
    ASSERT_TRUE(b.collect().reports.empty());
  }
  EXPECT_LE(b.size(), 12U);
}

TEST(board, a_stale_state_changes_nothing) {
  board b;
  b.exchange(start, hello(1, 1));
  b.exchange(start, hello(2, 1));
  auto const one = b.collect(), other = b.collect();
  ASSERT_TRUE(b.publish(start, 1, one.valid.version, combine(one.valid, one.reports, start)));
  b.exchange(start, hello(2, 2));
  auto const before = b.collect();
  auto const next = combine(other.valid, other.reports, start + 1ms);
  EXPECT_FALSE(b.publish(start + 1ms, 2, other.valid.version, next));
  EXPECT_EQ(b.collect(), before);
  EXPECT_FALSE(b.exchange(start + 2ms, hello(2, 3)).combine);  // nor has it the lease
}

TEST(board, a_combiner_that_leaves_gives_its_lease_back) {
  board b;
  b.exchange(start, hello(1, 1));
  auto const all = b.collect();
  ASSERT_TRUE(b.publish(start, 1, all.valid.version, combine(all.valid, all.reports, start)));
  auto bye = hello(1, 2);
  bye.leaves = true;
  EXPECT_FALSE(b.exchange(start + 1ms, bye).combine);
  EXPECT_TRUE(b.exchange(start + 2ms, hello(2, 1)).combine);
}

}  // namespace
}  // namespace headway::fleet
