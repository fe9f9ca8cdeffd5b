// Every shipped pacer: refused before ready_at, accepted at it; never more than rate × t + burst,
// and not much less; what is sent or answered never makes the next send earlier.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "headway/pacer/adaptive_rate.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/pacer/hesitant.hpp"

namespace headway {
namespace {

struct slow {
  static gcra make() { return gcra::per(15, 60s); }
  static constexpr double rate = 0.25, burst = 1;
};
struct with_burst {
  static gcra make() { return gcra::per(7, 1s, 10); }
  static constexpr double rate = 7, burst = 10;
};
struct fast {  // 1 ms of tolerance is ten units of 100 µs
  static gcra make() { return fixed_rate(10'000); }
  static constexpr double rate = 10'000, burst = 11;
};
struct adaptive {  // 1 ms of lateness is made up for
  static adaptive_rate make() { return {}; }
  static constexpr double rate = 10, burst = 1.01;
};
struct adaptive_fast {
  static adaptive_rate make() { return {.rate = 5'000}; }
  static constexpr double rate = 5'000, burst = 6;
};
struct none {  // exempt from the rate: seed 003 sends as soon as the window has room
  static unpaced make() { return {}; }
  static constexpr double rate = std::numeric_limits<double>::infinity(), burst = 1;
};
struct none_yet {  // nothing was refused
  static hesitant make() { return {}; }
  static constexpr double rate = std::numeric_limits<double>::infinity(), burst = 1;
};

template <class Case>
struct pacer_conformance : testing::Test {};
using shipped = testing::Types<slow, with_burst, fast, adaptive, adaptive_fast, none, none_yet>;
TYPED_TEST_SUITE(pacer_conformance, shipped);

constexpr time_point start{100s};

TYPED_TEST(pacer_conformance, greedy_sends_reach_the_rate_and_never_pass_it) {
  rng draw(3);
  for (duration const late : {0ns, duration(500us), duration(3s)}) {  // the most that a wake-up is
    auto pace = TypeParam::make();
    std::vector<time_point> sends;
    for (auto now = start; sends.size() < 300;) {
      if (auto const ready = pace.ready_at(1); ready > now) now = ready + scale(late, draw());
      ASSERT_LE(pace.ready_at(1), now) << "accepted at it";
      pace.take(now, 1);
      sends.push_back(now);
    }
    for (std::size_t i = 0; i < sends.size(); ++i)
      for (std::size_t j = i; j < sends.size(); ++j) {
        auto const most = TypeParam::rate * to_seconds(sends[j] - sends[i]) + TypeParam::burst;
        ASSERT_TRUE(static_cast<double>(j - i + 1) <= most + 1e-6 || most != most)
            << "sends " << i << " to " << j << ", late " << late.count();
      }
    if (late == 0ns) {
      auto const took = to_seconds(sends.back() - sends.front());
      EXPECT_LE(took, 299 / TypeParam::rate * 1.0001);
    }
  }
}

TYPED_TEST(pacer_conformance, refuses_before_it_is_ready) {
  auto pace = TypeParam::make();
  if (pace.ready_at(1) == time_point::min()) GTEST_SKIP() << "unpaced: always ready";
  for (int i = 0; i < 50; ++i) pace.take(std::max(start, pace.ready_at(1)), 1);
  auto const ready = pace.ready_at(1);
  EXPECT_GT(ready, start);
  auto const free_at = start + from_seconds((50 - TypeParam::burst) / TypeParam::rate);
  EXPECT_GE(ready, free_at) << "50 units are not free any sooner";
}

TYPED_TEST(pacer_conformance, nothing_makes_the_next_send_earlier) {
  auto pace = TypeParam::make();
  rng draw(4);
  auto now = start;
  for (int i = 0; i < 10'000; ++i) {
    auto const before = pace.ready_at(1);
    sample const s{.in_flight = 1, .app_limited = draw() % 2 == 0};
    switch (draw() % 4) {
      case 0:
        if (before <= now) pace.take(now, static_cast<std::int64_t>(1 + draw() % 3));
        break;
      case 1:
        pace.on_success(now, s);
        break;
      case 2:
        pace.on_throttle(now, s, draw());
        break;
      default:
        now += scale(200ms, draw());
    }
    ASSERT_GE(pace.ready_at(1), before);
    ASSERT_LT(pace.ready_at(1), now + 1h);
  }
}

TYPED_TEST(pacer_conformance, a_huge_cost_saturates) {
  auto pace = TypeParam::make();
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(pace.ready_at(huge) == never || pace.ready_at(huge) <= start);
  pace.take(start, huge);
  EXPECT_TRUE(pace.ready_at(1) > start + 24h || TypeParam::rate > 1e9);
}

TYPED_TEST(pacer_conformance, is_a_value) {
  auto const original = TypeParam::make();
  auto pace = original;
  for (int i = 0; i < 5; ++i) pace.take(std::max(start, pace.ready_at(1)), 1);
  auto twin = original;
  EXPECT_EQ(original, TypeParam::make());
  for (int i = 0; i < 5; ++i) twin.take(std::max(start, twin.ready_at(1)), 1);
  EXPECT_EQ(twin, pace);
  auto const asked = pace.ready_at(1);
  EXPECT_EQ(pace.ready_at(1), asked);
  EXPECT_EQ(twin, pace);
}

}  // namespace
}  // namespace headway
