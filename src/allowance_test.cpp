#include "headway/allowance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

/// Takes what an answer tells; one that took nothing would have taken 1.
void hear(allowance& a, duration now, allowance::answer const& told) {
  a.come_back(told.of, std::max<std::int64_t>(told.cost, 1), true, true);
  a.tell(at(now), told);
}

/// A request went at 0 and was told after 1 s that `left` remain until 10 s.
allowance told_until_10s(std::int64_t left) {
  allowance a;
  auto const first = a.send(at(0s), 1);
  hear(a, 1s, {.of = first, .remaining = left, .reset = 9s, .rtt = 1s});
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
    hear(a, 1s, {.of = first, .remaining = 0, .reset = duration(reset.count()), .rtt = 1s});
    EXPECT_EQ(a.held_until(1), none);
  }
}

TEST(allowance, a_reset_sooner_than_two_round_trips_undoes_nothing) {
  auto a = told_until_10s(1);
  auto const slow = a.send(at(6s), 1);
  hear(a, 8s, {.of = slow, .remaining = 0, .reset = 2s, .rtt = 2s});
  EXPECT_EQ(a.held_until(1), at(10s));
}

TEST(allowance, a_reset_sooner_than_two_round_trips_undoes_what_it_contradicts) {
  allowance a;
  auto const first = a.send(at(0s), 1);
  auto const second = a.send(at(0s), 1);
  hear(a, 1s, {.of = first, .remaining = 0, .reset = 24h * 365, .rtt = 1s});
  EXPECT_NE(a.held_until(1), none);
  hear(a, 1s, {.of = second, .remaining = 1000, .reset = 1s, .rtt = 1s});
  EXPECT_EQ(a.held_until(1), none);
}

// As of a log of the last ten seconds, or of the time until a bucket is full.
TEST(allowance, a_reset_that_recedes_ends_no_window) {
  allowance a;
  std::vector<allowance::place> sent;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(a.send(at(i * 1s), 1));
    if (i < 4) continue;
    auto const first = sent[static_cast<std::size_t>(i - 4)];
    hear(a, i * 1s, {.of = first, .remaining = 7, .reset = 10s, .rtt = 4s});
    if (i > 14) {
      ASSERT_EQ(a.held_until(3), none) << i;
    }
  }
}

TEST(allowance, a_late_answer_undoes_what_is_known_of_a_window_as_short_as_four_of_them) {
  for (auto const longest : {1s, 3s}) {
    allowance a;
    auto const first = a.send(at(0s), 1), second = a.send(at(6s), 1);
    hear(a, longest, {.of = first, .remaining = 1, .reset = 9s, .rtt = longest});
    hear(a, 9s, {.of = second, .remaining = 0, .reset = 3s, .rtt = 3s});
    EXPECT_EQ(a.held_until(1), longest == 1s ? at(10s) : none) << longest.count();
  }
}

TEST(allowance, after_a_reset_it_asks_for_as_long_as_two_of_the_longest_round_trips) {
  auto a = told_until_10s(2);
  auto const second = a.send(at(2s), 1);
  hear(a, 5s, {.of = second, .remaining = 1, .reset = 7s, .rtt = 3s});
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
  a.come_back(one, 1, false, false);
  EXPECT_EQ(a.asks_until(1), at(12s));
  a.come_back(one, 1, false, false);
  EXPECT_EQ(a.asks_until(1), none);
  a.come_back(other, 1, false, false);
  EXPECT_EQ(a.held_until(1), none);
}

TEST(allowance, one_that_went_before_the_reset_is_not_asked) {
  auto a = told_until_10s(5);
  auto const before = a.send(at(9s), 1);
  for (int i = 0; i < 6; ++i) a.send(at(10s), 1);
  a.come_back(before, 1, true, false);
  EXPECT_EQ(a.asks_until(1), at(12s));
}

TEST(allowance, costs_of_any_size_neither_overflow_nor_let_more_go) {
  allowance a;
  auto const first = a.send(at(0s), most);
  hear(a, 1s, {.of = first, .cost = most, .remaining = most, .reset = 9s, .rtt = 1s});
  auto const next = a.send(at(10s), most);
  a.send(at(10s), most);
  EXPECT_EQ(a.asks_until(1), at(12s));
  hear(a, 11s, {.of = next, .cost = most, .remaining = most, .reset = 9s, .rtt = 1s});
  EXPECT_EQ(a.held_until(1), at(20s));
}

// Each answer counts its own request, and none of the dear one that went before it.
TEST(allowance, what_flew_beside_is_as_dear_as_it_was) {
  auto a = told_until_10s(100);
  auto const dear = a.send(at(10s), 50);
  auto const cheap = a.send(at(10s), 1);
  hear(a, 11s, {.of = cheap, .remaining = 100, .reset = 9s, .rtt = 1s});
  EXPECT_EQ(a.held_until(51), at(20s)) << "it may be served after the cheap one";
  a.come_back(dear, 50, true, true);
  auto const next = a.send(at(12s), 1);
  hear(a, 13s, {.of = next, .remaining = 99, .reset = 7s, .rtt = 1s});
  EXPECT_EQ(a.held_until(99), none) << "nothing flew beside it: it refills";
}

// Sixteen fly before anything is told of 20, and the last one overtakes the others.
TEST(allowance, what_flew_beside_the_first_answer_may_be_served_after_it) {
  allowance a;
  std::vector<allowance::place> flies;
  for (int i = 0; i < 16; ++i) flies.push_back(a.send(at(0s), 1));
  for (int served = 1; served <= 16; ++served) {
    auto const nth = served == 1 ? 16 : served - 1;
    hear(a, 1s,
         {.of = flies[static_cast<std::size_t>(nth - 1)],
          .remaining = 20 - served,
          .reset = 9s,
          .rtt = 1s});
    EXPECT_EQ(a.held_until(3), none) << served;
    EXPECT_EQ(a.held_until(5), at(10s)) << served;
  }
}

/// Sends fifteen, and hears of the last of them first, which tells of `left` until 10 s.
void hears_of_the_last_of_15(allowance& a, std::int64_t left) {
  for (int i = 0; i < 14; ++i) a.send(at(1s), 1);
  auto const last = a.send(at(1s), 1);
  hear(a, 2s, {.of = last, .remaining = left, .reset = 8s, .rtt = 1s});
}

TEST(allowance, what_breaks_before_the_first_answer_is_not_what_refills) {
  allowance a;
  a.come_back(a.send(at(0s), 1), 1, false, false);
  hears_of_the_last_of_15(a, 19);
  EXPECT_EQ(a.held_until(5), none);
  EXPECT_EQ(a.held_until(6), at(10s)) << "of 20 the fourteen others may take theirs";
}

TEST(allowance, nor_is_what_is_refused) {
  auto a = told_until_10s(19);
  auto const refused = a.send(at(1s), 1);
  hear(a, 1s, {.of = refused, .cost = 0, .remaining = 19, .reset = 9s});
  hears_of_the_last_of_15(a, 18);
  EXPECT_EQ(a.held_until(4), none);
  EXPECT_EQ(a.held_until(5), at(10s));
}

TEST(allowance, what_breaks_or_does_not_tell_may_have_counted) {
  for (bool const answered : {false, true}) {
    auto a = told_until_10s(19);
    a.come_back(a.send(at(1s), 1), 1, answered, false);
    hears_of_the_last_of_15(a, 17);
    EXPECT_EQ(a.held_until(3), none) << answered;
    EXPECT_EQ(a.held_until(4), at(10s)) << answered;
  }
}

TEST(allowance, what_flies_at_a_reset_may_count_after_it) {
  auto a = told_until_10s(19);
  for (int i = 0; i < 15; ++i) a.send(at(9s), 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(a.asks_until(1), none) << i;
    a.send(at(10s), 1);
  }
  EXPECT_NE(a.asks_until(1), none);
}

TEST(allowance, what_is_left_beyond_what_flew_beside_refills) {
  auto a = told_until_10s(2);
  auto const next = a.send(at(10s), 1);
  hear(a, 11s, {.of = next, .remaining = 3, .reset = 9s, .rtt = 1s});
  EXPECT_EQ(a.held_until(3), none);
}

// Ten at once and 50/s: full in .2 s, which it calls a second. It is told of at each answer, and
// two are left at the first.
TEST(allowance, a_bucket_whose_reset_is_in_whole_seconds_is_empty_for_its_share_of_it_only) {
  auto const empty = [](std::int64_t before) {
    allowance a;
    auto now = duration(0s);
    for (std::int64_t const left : {2, 1, 1, 0}) {
      auto const place = a.send(at(now), 1);
      now += 10ms;
      hear(a, now, {.of = place, .remaining = left + before, .reset = 1s, .rtt = 10ms});
      before = 0;
    }
    EXPECT_GT(a.held_until(1), at(now));
    return a.held_until(1) - at(now);
  };
  EXPECT_EQ(empty(2), 1s) << "five were there at first: a window's";
  EXPECT_EQ(empty(0), 250ms) << "of three the third was accepted, and one was left";
}

TEST(allowance, what_refills_is_not_shared_though_nothing_is_left_of_it) {
  for (bool const refills : {true, false}) {
    allowance a;
    auto now = duration(0s);
    for (std::int64_t const left : {11, refills ? 11 : 10, 0}) {
      auto const place = a.send(at(now), 1);
      now += 10ms;
      hear(a, now, {.of = place, .remaining = left, .reset = 2s, .rtt = 10ms});
    }
    EXPECT_EQ(a.shared(), !refills);
  }
}

TEST(allowance, what_refilled_is_a_window_once_its_reset_has_passed) {
  allowance a;
  auto now = duration(0s);
  for (std::int64_t const left : {1, 1, 0}) {
    auto const place = a.send(at(now), 1);
    now += 10ms;
    hear(a, now, {.of = place, .remaining = left, .reset = 1s, .rtt = 10ms});
  }
  EXPECT_LT(a.held_until(1), at(now + 1s));
  now += 2s;
  hear(a, now + 10ms, {.of = a.send(at(now), 1), .remaining = 0, .reset = 1s, .rtt = 10ms});
  EXPECT_EQ(a.held_until(1), at(now + 1s + 10ms));
}

// Some count when they answer: what went in the meantime is in it already, and would be taken off
// twice. Once nothing flies the least that was told is left.
TEST(allowance, the_least_that_was_told_is_left_once_nothing_flies) {
  for (bool const counts_at_the_end : {false, true}) {
    struct flight {
      allowance::place of;
      duration answered;
      int told;
    };
    allowance a;
    std::vector<flight> out;
    int sent = 0;
    for (duration now{}; now < 60s; now += 2ms) {
      auto const ends = (now / 20s + 1) * 20s;
      if (now % 20s == 0s) sent = 0;
      std::erase_if(out, [&](flight const& f) {
        if (f.answered > now) return false;
        auto const told = counts_at_the_end ? 100 - sent : f.told;
        hear(a, now, {.of = f.of, .remaining = told, .reset = ends - now, .rtt = 20ms});
        return true;
      });
      if (std::max(a.held_until(1), a.asks_until(1)) > at(now)) continue;
      ASSERT_LT(sent, 100) << counts_at_the_end << ' ' << now / 1ms;
      ++sent;
      out.push_back({a.send(at(now), 1), now + (sent % 3 == 0 ? 24ms : 16ms), 100 - sent});
    }
    EXPECT_EQ(sent, 100) << counts_at_the_end;
  }
}

TEST(allowance, what_did_not_tell_may_be_less_than_the_least_that_was_told) {
  for (bool const breaks : {false, true}) {
    allowance a;
    auto const before = a.send(at(0s), 1);
    hear(a, 100ms, {.of = before, .remaining = 10, .reset = 9s, .rtt = 100ms});
    std::vector<allowance::place> sent;
    for (int i = 0; i < 5; ++i) sent.push_back(a.send(at(1s), 1));
    if (breaks) a.come_back(sent[4], 1, false, false);
    for (int i = 0; i < (breaks ? 4 : 5); ++i)
      hear(a, 1100ms,
           {.of = sent[static_cast<std::size_t>(i)], .remaining = 6, .reset = 8s, .rtt = 100ms});
    EXPECT_EQ(a.held_until(6) == none, !breaks);
  }
}

// The last that went may have been served first.
TEST(allowance, the_last_answer_tells_nothing_where_another_has_told_less) {
  allowance a;
  std::vector<allowance::place> sent;
  for (int i = 0; i < 3; ++i) sent.push_back(a.send(at(0s), 1));
  for (auto const& [of, told] : {std::pair{0, 18}, {1, 17}, {2, 19}})
    hear(a, 1s,
         {.of = sent[static_cast<std::size_t>(of)], .remaining = told, .reset = 9s, .rtt = 1s});
  EXPECT_EQ(a.held_until(18), at(10s));
  EXPECT_EQ(a.held_until(17), none);
}

}  // namespace
}  // namespace headway
