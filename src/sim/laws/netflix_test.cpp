#include <gtest/gtest.h>

#include "headway/sim/laws/netflix_aimd.hpp"
#include "headway/sim/laws/netflix_gradient2.hpp"

namespace headway::sim {
namespace {

// The first three rows are those of Netflix's AIMDLimitTest.
TEST(netflix_aimd, rows) {
  struct {
    char const* what;
    netflix_aimd before;
    duration rtt;
    int in_flight;
    bool dropped;
    int expect;
  } const rows[] = {
      {"increase on success", {.permits = 20}, 1ms, 10, false, 21},
      {"decrease on drop", {.permits = 30}, 0ms, 0, true, 27},
      {"at most", {.permits = 21, .permits_min = 0, .permits_max = 21}, 1ms, 11, false, 21},
      {"less than half used", {.permits = 21}, 1ms, 10, false, 21},
      {"at least", {.permits = 20}, 1ms, 20, true, 20},
      {"a timeout is a drop", {.permits = 200}, 5001ms, 200, false, 180},
      {"5 s are none", {.permits = 199}, 5s, 200, false, 200},
  };
  for (auto const& r : rows) {
    auto after = r.before;
    after.update(r.rtt, r.in_flight, r.dropped);
    EXPECT_EQ(after.allowed(), r.expect) << r.what;
  }
}

// Netflix's ExpAvgMeasurementTest, with the long window of Gradient2.
TEST(netflix_gradient2, learns_the_long_latency) {
  netflix_gradient2 g;
  for (int i = 0; i < 10; ++i) {
    g.update(duration(10 + i), 0, false);
    EXPECT_NEAR(g.long_rtt, 10 + i * 0.5, 1e-12);
  }
  g.update(duration(20), 0, false);
  EXPECT_NEAR(g.long_rtt, 14.5 + (20 - 14.5) * 2 / 601, 1e-12);
}

TEST(netflix_gradient2, rows) {
  auto const warm = [](double estimate) {
    return netflix_gradient2{.estimate = estimate, .long_rtt = 1e8, .warm_up_count = 10};
  };
  struct {
    char const* what;
    double before;
    duration rtt;
    int in_flight;
    bool dropped;
    double expect;
  } const rows[] = {
      {"no queue: 0.2 × 4 more", 100, 100ms, 100, false, 100.8},
      {"half as slow again is tolerated", 100, 149ms, 100, false, 100.8},
      {"three times as slow: by the gradient", 100, 300ms, 100, false, 90.8},
      {"twice: 1.5 / 2 of it", 100, 200ms, 100, false, 95.8},
      {"less than half used", 100, 100ms, 49, false, 100},
      {"drops are ignored", 100, 100ms, 100, true, 100.8},
      {"at least", 20, 1s, 20, false, 20},
      {"at most", 200, 100ms, 200, false, 200},
  };
  for (auto const& r : rows) {
    auto after = warm(r.before);
    after.update(r.rtt, r.in_flight, r.dropped);
    EXPECT_NEAR(after.estimate, r.expect, 0.3) << r.what;  // the long latency moves by 2/601
  }
  auto halving = warm(100);
  halving.halve_on_drop = true;
  halving.update(100ms, 100, true);
  EXPECT_EQ(halving.allowed(), 50);
}

TEST(netflix_gradient2, forgets_a_long_overload) {
  netflix_gradient2 g{.long_rtt = 1e9, .warm_up_count = 10};
  g.update(100ms, 20, false);
  EXPECT_NEAR(g.long_rtt, (1e9 + (1e8 - 1e9) * 2 / 601) * 0.95, 1);
}

/// What a limit was told.
struct told_of {
  duration rtt{};
  int in_flight = 0;
  bool dropped = false;
  int times = 0;

  double allowed() const noexcept { return 1; }
  void update(duration r, int n, bool d) noexcept { *this = {r, n, d, times + 1}; }
  friend bool operator==(told_of const&, told_of const&) = default;
};

TEST(windowed_limit, tells_of_whole_seconds) {
  windowed_limit<told_of> l;
  auto const answer = [&](duration when, duration rtt, int in_flight) {
    l.on_success(time_point(when), {.in_flight = in_flight, .rtt = rtt}, 0);
  };
  answer(1s, 50ms, 99);
  EXPECT_EQ(l.inner.times, 0) << "the first sample ends a window of one";
  for (int i = 1; i <= 9; ++i) answer(1s + i * 100ms, i * 10ms, 10 + i);
  answer(1950ms, 99us, 77);
  l.on_failure(time_point(1960ms), {.in_flight = 88, .rtt = 1s}, 0);
  l.on_throttle(time_point(2s), {.in_flight = 15, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_EQ(l.inner.times, 0) << "the second is not over";
  answer(2001ms, 100ms, 3);
  EXPECT_EQ(l.inner, (told_of{duration(600ms) / 11, 19, true, 1}));
  for (int i = 1; i <= 9; ++i) answer(2001ms + i * 200ms, 10ms, 5);
  EXPECT_EQ(l.inner.times, 1) << "six samples in a second are too few, and forgotten";
}

}  // namespace
}  // namespace headway::sim
