#include "pacing/slots_seen.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headway::app {
namespace {

constexpr time_point begin{100s};

/// A server of so many slots, to which a request comes each 10 ms; a refusal takes `way`.
slots_seen of_slots(std::size_t slots, int requests, duration way = 1ms, bool alike = false) {
  slots_seen seen;
  std::vector<time_point> ends;
  for (int i = 0; i < requests; ++i) {
    auto const now = begin + i * 10ms;
    std::erase_if(ends, [&](time_point end) { return end <= now; });
    bool const refused = ends.size() >= slots;
    auto const end = now + (refused ? way : alike ? duration(100ms) : i * 37 % 160 * 1ms + 40ms);
    if (!refused) ends.push_back(end);
    seen.take({.sent = now, .answered = end, .refused = refused});
  }
  return seen;
}

TEST(slots_seen, are_as_many_as_the_server_has) {
  for (std::size_t const slots : {2U, 5U, 9U, 10U}) {
    auto const told = of_slots(slots, 600).told();
    ASSERT_TRUE(told) << slots;
    EXPECT_EQ(told->least, slots);
    EXPECT_EQ(told->most, slots);
  }
}

TEST(slots_seen, are_not_told_of_few_refusals) {
  EXPECT_FALSE(of_slots(9, 12).told());
  EXPECT_FALSE(slots_seen().told());
  EXPECT_TRUE(slots_seen().may_be());
}

// What is on its way meanwhile may be there or not.
TEST(slots_seen, are_not_told_where_refusals_take_as_long_as_answers) {
  auto const told = of_slots(9, 600, 60ms).told();
  EXPECT_TRUE(!told || (told->least <= 9 && told->most >= 9));
}

TEST(slots_seen, are_not_those_of_a_rate) {
  slots_seen seen;
  double room = 5;
  for (int i = 0; i < 1000; ++i) {
    auto const now = begin + i * 10ms + i * 7 % 9 * 1ms;
    room = std::min(room + 0.9, 5.0);
    bool const refused = room < 1;
    if (!refused) room -= 1;
    seen.take({.sent = now,
               .answered = now + (refused ? 1ms : i * 37 % 160 * 1ms + 40ms),
               .refused = refused});
  }
  EXPECT_FALSE(seen.told());
  EXPECT_FALSE(seen.may_be());
}

// While it is shut for long no answer is awaited.
TEST(slots_seen, are_not_those_of_a_window) {
  slots_seen seen;
  for (int n = 0; n < 4; ++n)
    for (int i = 0; i < 8; ++i) {
      auto const now = begin + n * 10s + i * 1ms;
      seen.take({.sent = now, .answered = now + (i == 7 ? 1ms : 300ms), .refused = i == 7});
    }
  EXPECT_FALSE(seen.told());
}

TEST(slots_seen, differ_from_a_rate_only_where_answers_take_differently_long) {
  EXPECT_TRUE(of_slots(9, 600).tells_from_rate());
  EXPECT_FALSE(of_slots(9, 600, 1ms, true).tells_from_rate());
}

}  // namespace
}  // namespace headway::app
