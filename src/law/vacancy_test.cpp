#include "headway/law/vacancy.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr std::uint64_t stamp = 100;  // of the next send

/// Asks whether there are so many slots, where answers take 100 ms.
vacancy asked(double slots, double refusal, int flight = 0) {
  vacancy row;
  row.ask(slots, refusal, 0.1, stamp, flight);
  return row;
}

/// Sends all that may go now. Returns how many.
int send(vacancy& row, time_point now) {
  int count = 0;
  while (row.unsent > 0) {
    row.sent(now);
    ++count;
  }
  return count;
}

TEST(vacancy, asks_nothing_to_begin_with) {
  vacancy row;
  EXPECT_EQ(row.unsent, 0);
  EXPECT_FALSE(row.may_send(0));
  EXPECT_FALSE(row.refused(0));
  EXPECT_FALSE(row.passed(time_point{1s}));
}

TEST(vacancy, the_row_goes_once_so_many_slots_are_vacant_and_some_more) {
  auto const row = asked(20, 0.05);
  EXPECT_EQ(row.row, vacancy::row_max);
  EXPECT_FALSE(row.may_send(10));
  EXPECT_TRUE(row.may_send(9));  // 8 and 3 of 20 are vacant
}

TEST(vacancy, of_few_slots_the_row_is_shorter) {
  EXPECT_EQ(asked(9, 0.05).row, 5);
  EXPECT_EQ(asked(11, 0.05).row, 7);
}

TEST(vacancy, slots_are_named_when_none_was_refused_in_twice_the_time_of_a_refusal) {
  auto row = asked(20, 0.05);
  time_point const now{1s};
  EXPECT_EQ(send(row, now), 8);
  EXPECT_FALSE(row.passed(now + 100ms));
  EXPECT_TRUE(row.passed(now + 102ms));
}

TEST(vacancy, any_refusal_of_the_row_tells_of_a_rate) {
  time_point const now{1s};
  for (std::uint64_t const which : {stamp, stamp + 1, stamp + 7}) {
    auto row = asked(20, 0.05);
    send(row, now);
    EXPECT_TRUE(row.refused(which));
    EXPECT_TRUE(row.refused(stamp + 7)) << "the others are its own, too";
    EXPECT_FALSE(row.passed(now + 1s));
    EXPECT_FALSE(row.may_send(0));
  }
}

TEST(vacancy, a_refusal_of_another_send_says_nothing) {
  auto row = asked(20, 0.05);
  send(row, time_point{1s});
  EXPECT_FALSE(row.refused(stamp - 1));
  EXPECT_FALSE(row.refused(stamp + 8));
  EXPECT_TRUE(row.passed(time_point{2s}));
}

TEST(vacancy, where_refusals_come_soon_one_goes_ahead_of_the_row) {
  auto row = asked(20, 0.001);
  time_point const now{1s};
  EXPECT_EQ(send(row, now), 1);
  EXPECT_FALSE(row.may_send(0)) << "it is not known what became of it";
  EXPECT_FALSE(row.passed(now + 4ms));
  EXPECT_FALSE(row.may_send(11));
  EXPECT_TRUE(row.may_send(10));
  EXPECT_EQ(send(row, now + 4ms), 7);
  EXPECT_TRUE(row.passed(now + 8ms));
}

TEST(vacancy, a_refusal_of_the_one_ahead_tells_of_a_server_that_has_shut) {
  auto row = asked(20, 0.001);
  EXPECT_EQ(send(row, time_point{1s}), 1);
  EXPECT_FALSE(row.refused(stamp)) << "it is a refusal as any other";
  EXPECT_EQ(row.unsent, 0);
  EXPECT_FALSE(row.passed(time_point{2s}));
}

TEST(vacancy, a_refusal_that_nothing_in_its_flight_repeats_was_no_limit_s) {
  EXPECT_TRUE(asked(20, 0.05, vacancy::flight_min).none_but_one(0));
  EXPECT_FALSE(asked(20, 0.05, vacancy::flight_min).none_but_one(1));
  EXPECT_TRUE(asked(20, 0.05, vacancy::flight_one).none_but_one(1));
  EXPECT_FALSE(asked(20, 0.05, vacancy::flight_min - 1).none_but_one(0)) << "too few to tell";
}

// 20 out; a refusal has been 10 ms on its way, and four answers came since it went: of these two
// had left the server before it refused, and a tenth of the rest had not reached it.
TEST(vacancy, of_those_out_some_had_left_and_some_had_not_reached_the_server) {
  EXPECT_NEAR(vacancy::at_server(20, 4, .02, .1), (19 - 2) * .1 / .09, 1e-9);
  EXPECT_EQ(vacancy::at_server(20, 4, .05, .1), 19) << "as late as answers: all are";
}

}  // namespace
}  // namespace headway
