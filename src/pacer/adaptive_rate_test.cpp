#include "headway/pacer/adaptive_rate.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace headway {
namespace {

constexpr time_point at(duration since_start) {
  return time_point(since_start);
}

// Seed 002: "start … with … 10 requests/second … (say halving) from 10 … to 5 … to 2.5".
TEST(adaptive_rate, halves_and_returns_linearly) {
  adaptive_rate pace;
  EXPECT_EQ(pace.rate, 10);
  for (double const expect : {5.0, 2.5, 1.25}) {
    pace.on_throttle(at(0s), {}, 0);
    EXPECT_EQ(pace.rate, expect);
  }
  for (int i = 0; i < 25; ++i) pace.on_success(at(0s), {});
  EXPECT_NEAR(pace.rate, 2.5, 1e-9);
  for (int i = 0; i < 1000; ++i) pace.on_throttle(at(0s), {}, 0);
  EXPECT_EQ(pace.rate, pace.floor);
  for (int i = 0; i < 300'000; ++i) pace.on_success(at(0s), {});
  EXPECT_EQ(pace.rate, pace.ceiling);
}

TEST(adaptive_rate, does_not_grow_while_the_application_is_the_bottleneck) {
  adaptive_rate pace;
  pace.on_success(at(0s), {.app_limited = true});
  EXPECT_EQ(pace, adaptive_rate{});
}

TEST(adaptive_rate, spaces_units) {
  struct {
    char const* what;
    duration next, now;
    std::int64_t cost;
    time_point expect;
  } const rows[] = {
      {"on time", 1s, 1s, 1, at(1100ms)},
      {"just late: the rate is kept", 1s, 1s + 999us, 1, at(1100ms)},
      {"late: not made up for", 1s, 1s + 1ms, 1, at(1101ms)},
      {"cost", 1s, 1s, 5, at(1500ms)},
      {"huge cost saturates", 1s, 1s, std::numeric_limits<std::int64_t>::max(), never},
  };
  for (auto const& r : rows) {
    adaptive_rate pace{.next = at(r.next)};
    pace.take(at(r.now), r.cost);
    EXPECT_EQ(pace.ready_at(1), r.expect) << r.what;
  }
}

TEST(adaptive_rate, a_throttle_waits_out_the_new_interval_but_never_goes_earlier) {
  adaptive_rate pace{.next = at(1s)};
  pace.on_throttle(at(2s), {}, 0);
  EXPECT_EQ(pace.next, at(2200ms));
  pace.next = at(1h);
  pace.on_throttle(at(2s), {}, 0);
  EXPECT_EQ(pace.next, at(1h));
}

}  // namespace
}  // namespace headway
