#include "headway/allowance.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace headway {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr auto none = time_point::min();

time_point at(duration d) {
  return time_point(d);
}

/// A request went at 0 and was told after 1 s that `left` remain until 10 s.
allowance told_until_10s(std::int64_t left) {
  allowance a;
  auto const first = a.send(at(0s), 1);
  a.tell(at(1s), {.of = first, .remaining = left, .reset = 9s, .rtt = 1s});
  return a;
}

TEST(allowance, what_was_told_less_what_was_sent_since_is_left_until_the_reset) {
  auto a = told_until_10s(2);
  EXPECT_EQ(a.held_until(2), none);
  EXPECT_EQ(a.held_until(3), at(10s));
  a.send(at(2s), 2);
  EXPECT_EQ(a.held_until(1), at(10s));
  EXPECT_EQ(a.asks_until(1), none);
}

TEST(allowance, a_reset_sooner_than_two_round_trips_tells_nothing) {
  for (auto const reset : {2s, 0s, -1s, std::chrono::seconds::min()}) {
    allowance a;
    auto const first = a.send(at(0s), 1);
    a.tell(at(1s), {.of = first, .remaining = 0, .reset = duration(reset.count()), .rtt = 1s});
    EXPECT_EQ(a.held_until(1), none);
  }
}

TEST(allowance, a_reset_sooner_than_two_round_trips_undoes_nothing) {
  auto a = told_until_10s(1);
  auto const slow = a.send(at(6s), 1);
  a.tell(at(8s), {.of = slow, .remaining = 0, .reset = 2s, .rtt = 2s});
  EXPECT_EQ(a.held_until(1), at(10s));
}

TEST(allowance, a_reset_sooner_than_two_round_trips_undoes_what_it_contradicts) {
  allowance a;
  auto const first = a.send(at(0s), 1);
  auto const second = a.send(at(0s), 1);
  a.tell(at(1s), {.of = first, .remaining = 0, .reset = 24h * 365, .rtt = 1s});
  EXPECT_NE(a.held_until(1), none);
  a.tell(at(1s), {.of = second, .in_flight = 2, .remaining = 1000, .reset = 1s, .rtt = 1s});
  EXPECT_EQ(a.held_until(1), none);
}

// As of a log of the last ten seconds, or of the time until a bucket is full.
TEST(allowance, a_reset_that_recedes_ends_no_window) {
  allowance a;
  for (int i = 0; i < 100; ++i) {
    auto const sent = a.send(at(i * 1s), 1);
    a.come_back(sent, true, true);
    a.tell(at(i * 1s + 1ms), {.of = sent, .remaining = 10, .reset = 10s, .rtt = 1ms});
    if (i > 10) {
      ASSERT_EQ(a.held_until(1), none) << i;
    }
  }
}

TEST(allowance, after_a_reset_it_asks_for_as_long_as_two_of_the_longest_round_trips) {
  auto a = told_until_10s(2);
  auto const second = a.send(at(2s), 1);
  a.tell(at(5s), {.of = second, .remaining = 1, .reset = 7s, .rtt = 3s});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a.asks_until(1), none) << i;
    EXPECT_NE(a.send(at(12s), 1).window, 0U);
  }
  EXPECT_EQ(a.asks_until(1), at(18s)) << "three were left";
  EXPECT_EQ(a.held_until(1), none) << "an answer may tell sooner";
  EXPECT_EQ(a.send(at(18s), 1).window, 0U);
  EXPECT_EQ(a.asks_until(1), none);
  EXPECT_EQ(a.held_until(most), none) << "nothing is known";
}

TEST(allowance, the_last_that_is_lost_ends_what_it_asked) {
  auto a = told_until_10s(1);
  auto const one = a.send(at(10s), 1), other = a.send(at(10s), 1);
  a.come_back(one, false, false);
  EXPECT_EQ(a.asks_until(1), at(12s));
  a.come_back(one, false, false);
  EXPECT_EQ(a.asks_until(1), none);
  a.come_back(other, false, false);
  EXPECT_EQ(a.held_until(1), none);
}

TEST(allowance, one_that_went_before_the_reset_is_not_asked) {
  auto a = told_until_10s(5);
  auto const before = a.send(at(9s), 1);
  for (int i = 0; i < 6; ++i) a.send(at(10s), 1);
  a.come_back(before, true, false);
  EXPECT_EQ(a.asks_until(1), at(12s));
}

TEST(allowance, costs_of_any_size_neither_overflow_nor_let_more_go) {
  allowance a;
  auto const first = a.send(at(0s), most);
  a.tell(at(1s), {.of = first, .cost = most, .remaining = most, .reset = 9s, .rtt = 1s});
  auto const next = a.send(at(10s), most);
  a.send(at(10s), most);
  EXPECT_EQ(a.asks_until(1), at(12s));
  a.come_back(next, true, true);
  a.tell(at(11s), {.of = next,
                   .cost = most,
                   .in_flight = std::numeric_limits<int>::max(),
                   .remaining = most,
                   .reset = 9s,
                   .rtt = 1s});
  EXPECT_EQ(a.held_until(1), at(20s));
}

TEST(allowance, what_flew_beside_a_dear_request_does_not_overflow) {
  constexpr auto dear = std::int64_t{1} << 62;
  allowance a;
  auto const first = a.send(at(0s), dear);
  a.tell(at(1s), {.of = first, .cost = dear, .remaining = 0, .reset = 9s, .rtt = 1s});
  a.send(at(10s), dear);
  auto const next = a.send(at(10s), dear);
  a.come_back(next, true, true);
  a.tell(at(11s),
         {.of = next, .cost = dear, .in_flight = 5, .remaining = most, .reset = 9s, .rtt = 1s});
  EXPECT_EQ(a.held_until(most), at(20s)) << "it may not count any of the four others";
}

// Sixteen fly before anything is told of 20, and the last one overtakes the others.
TEST(allowance, what_flew_beside_the_first_answer_may_be_served_after_it) {
  allowance a;
  std::vector<allowance::place> flies;
  for (int i = 0; i < 16; ++i) flies.push_back(a.send(at(0s), 1));
  for (int served = 1; served <= 16; ++served) {
    auto const nth = served == 1 ? 16 : served - 1;
    a.tell(at(1s), {.of = flies[static_cast<std::size_t>(nth - 1)],
                    .in_flight = nth,
                    .remaining = 20 - served,
                    .reset = 9s,
                    .rtt = 1s});
    EXPECT_EQ(a.held_until(3), none) << served;
    EXPECT_EQ(a.held_until(5), at(10s)) << served;
  }
}

TEST(allowance, what_is_left_beyond_what_flew_beside_refills) {
  auto a = told_until_10s(2);
  auto const next = a.send(at(10s), 1);
  a.come_back(next, true, true);
  a.tell(at(11s), {.of = next, .remaining = 3, .reset = 9s, .rtt = 1s});
  EXPECT_EQ(a.held_until(3), none);
}

}  // namespace
}  // namespace headway
