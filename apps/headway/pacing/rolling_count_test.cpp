#include "pacing/rolling_count.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "headway/random.hpp"

namespace headway::app {
namespace {

TEST(rolling_count, no_window_has_more_whenever_it_begins) {
  for (duration const window : {duration(10s), duration(1ms), duration(24h)}) {
    rolling_count count(window);
    rng draw(7);
    std::deque<time_point> sent;
    time_point now{1h};
    for (int i = 0; i < 5000; ++i) {
      now += scale(window / 40, draw());
      auto const at = count.ready_at(now, 1, 50);
      ASSERT_LE(at, now + window + window / 15);
      if (at > now) now = at;
      ASSERT_EQ(count.ready_at(now, 1, 50), now) << "once it is time, it may go";
      count.add(now, 1);
      sent.push_back(now);
      while (now - sent.front() >= window) sent.pop_front();
      ASSERT_LE(sent.size(), 50U);
    }
  }
}

TEST(rolling_count, gives_back_almost_all_of_a_window) {
  rolling_count count(10s);
  time_point now{1h};
  for (int i = 0; i < 3000; ++i) {
    now = count.ready_at(now, 1, 500);
    count.add(now, 1);
  }
  EXPECT_GE(now, time_point(1h + 50s));
  EXPECT_LE(now, time_point(1h + 50s + 5 * 700ms));
}

TEST(rolling_count, what_is_too_much_goes_when_nothing_else_does) {
  rolling_count count(1s);
  time_point const now{1h};
  EXPECT_EQ(count.ready_at(now, 9, 5), now);
  count.add(now, 1);
  EXPECT_GE(count.ready_at(now, 9, 5), now + 1s);
  EXPECT_EQ(count.ready_at(now + 5s, 9, 5), now + 5s);
}

}  // namespace
}  // namespace headway::app
