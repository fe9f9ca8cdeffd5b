#include "headway/pacer/gcra.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace headway {
namespace {

constexpr time_point at(duration since_start) {
  return time_point(since_start);
}

struct step {
  duration t;
  std::int64_t cost;
  bool conforms;
};
void expect_rows(gcra pace, std::vector<step> const& rows) {
  int row = 0;
  for (auto const& r : rows) {
    bool const conforms = pace.ready_at(r.cost) <= at(r.t);
    EXPECT_EQ(conforms, r.conforms) << "row " << row;
    if (conforms) pace.take(at(r.t), r.cost);
    ++row;
  }
}

// Values: golang.org/x/time/rate, rate_test.go (BSD-3), TestLimiterBurst1 and TestLimiterBurst3.
TEST(gcra, golang_rate_table) {
  auto const d = 100ms;
  expect_rows(gcra::per(10, 1s, 1), {{0 * d, 1, true},
                                     {0 * d, 1, false},
                                     {0 * d, 1, false},
                                     {1 * d, 1, true},
                                     {1 * d, 1, false},
                                     {1 * d, 1, false},
                                     {2 * d, 2, false},
                                     {2 * d, 1, true},
                                     {2 * d, 1, false}});
  expect_rows(gcra::per(10, 1s, 3), {{0 * d, 2, true},
                                     {0 * d, 2, false},
                                     {0 * d, 1, true},
                                     {0 * d, 1, false},
                                     {1 * d, 4, false},
                                     {2 * d, 1, true},
                                     {3 * d, 1, true},
                                     {4 * d, 1, true},
                                     {4 * d, 1, true},
                                     {4 * d, 1, false},
                                     {4 * d, 1, false},
                                     {9 * d, 3, true},
                                     {9 * d, 0, true}});
}

// TestSimpleReserve and TestMix there: what is taken ahead of its time is paid for by what comes
// next.
TEST(gcra, golang_rate_reservations) {
  auto pace = gcra::per(10, 1s, 2);
  auto const reserve = [&](duration now, std::int64_t cost) {
    auto const act = std::max(pace.ready_at(cost), at(now));
    pace.take(at(now), cost);
    return act;
  };
  EXPECT_EQ(reserve(0ms, 2), at(0ms));
  EXPECT_EQ(reserve(0ms, 2), at(200ms));
  EXPECT_EQ(reserve(300ms, 2), at(400ms));
  EXPECT_EQ(pace.ready_at(3), never);
}

// Its issues 71154 and 34861: rates that are tiny, or whose interval is no whole number.
TEST(gcra, golang_rate_edges) {
  auto tiny = gcra::per(1e-10, 1s);
  EXPECT_LE(tiny.ready_at(1), at(0s));
  tiny.take(at(0s), 1);
  EXPECT_GT(tiny.ready_at(1), at(24h * 365 * 290)) << "10^10 s are more than an int64 has";

  auto pace = gcra::per(0.7692307692307693, 1s);
  pace.take(at(0s), 1);
  EXPECT_GE(pace.ready_at(1), at(1300ms));
  EXPECT_LE(pace.ready_at(1), at(1300ms + 1ns));
}

// x/time/rate forgets an interval that time went back by; GCRA owes it, so nothing is minted.
TEST(gcra, time_that_runs_backwards_mints_nothing) {
  auto const d = 100ms;
  expect_rows(gcra::per(10, 1s, 3), {{1 * d, 1, true},
                                     {0 * d, 1, true},
                                     {0 * d, 1, false},
                                     {0 * d, 1, false},
                                     {1 * d, 1, true},
                                     {1 * d, 1, false},
                                     {2 * d, 1, true},
                                     {2 * d, 1, false}});
}

// Values: throttled/throttled, rate_test.go (BSD-3), and brandur/redis-cell, src/cell/mod.rs (MIT),
// which agree on these rows: 1 a second, limit 5.
TEST(gcra, throttled_and_redis_cell_table) {
  constexpr duration none = -1s;
  auto pace = gcra::per(1, 1s, 5);
  struct {
    duration t;
    std::int64_t cost;
    std::int64_t remaining;
    duration reset, retry;
    bool limited;
  } const rows[] = {
      {0s, 6, 5, 0s, none, true},
      {0s, 1, 4, 1s, none, false},
      {0s, 1, 3, 2s, none, false},
      {0s, 1, 2, 3s, none, false},
      {0s, 1, 1, 4s, none, false},
      {0s, 1, 0, 5s, none, false},
      {0s, 1, 0, 5s, 1s, true},
      {3s, 1, 2, 3s, none, false},
      {3100ms, 1, 1, 3900ms, none, false},
      {4s, 1, 1, 4s, none, false},
      {8s, 1, 4, 1s, none, false},
      {9500ms, 1, 4, 1s, none, false},
      {9500ms, 0, 4, 1s, none, false},
      {9500ms, 2, 2, 3s, none, false},
      {9500ms, 5, 2, 3s, 3s, true},
      {15s, 6, 5, 0s, none, true},
  };
  int row = 0;
  for (auto const& r : rows) {
    SCOPED_TRACE(row++);
    auto const now = at(r.t);
    auto const ready = pace.ready_at(r.cost);
    EXPECT_EQ(ready > now, r.limited);
    if (r.limited) {
      EXPECT_EQ(ready, r.retry == none ? never : now + r.retry);
    } else {
      pace.take(now, r.cost);
    }
    auto const reset = std::max(pace.tat - now, duration(0));
    EXPECT_EQ(reset, r.reset);
    EXPECT_EQ((pace.burst_tolerance + pace.interval - reset) / pace.interval, r.remaining);
  }
}

TEST(gcra, costs) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  gcra const fresh = gcra::per(1, 1s, 5);
  EXPECT_EQ(fresh.ready_at(5), at(0s));
  EXPECT_EQ(fresh.ready_at(6), never) << "above the burst";
  EXPECT_EQ(fresh.ready_at(huge), never);
  auto owes = fresh;
  owes.take(at(0s), 6);
  EXPECT_EQ(owes.lends_at(1), at(2s));
  EXPECT_EQ(owes.lends_at(5), at(6s));
  EXPECT_EQ(owes.lends_at(6), at(6s)) << "once all is saved";
  EXPECT_EQ(owes.lends_at(huge), never) << "it would hold all for ever";
  EXPECT_EQ((gcra{.interval = 0ns}.lends_at(2)), at(0s));
  EXPECT_LE((gcra{.interval = 1ns, .burst_tolerance = duration::max()}.lends_at(huge)), at(0s));

  gcra wide = gcra::per(1, 1s, huge);
  EXPECT_EQ(wide.burst_tolerance, duration::max()) << "saturates";
  EXPECT_LE(wide.ready_at(huge), at(0s));
  wide.take(at(1h), huge);
  EXPECT_EQ(wide.tat, never) << "saturates";
  EXPECT_GT(wide.ready_at(huge), at(1h));

  EXPECT_EQ(gcra::per(1e-300, 1s).interval, duration::max());
  EXPECT_EQ(gcra::per(1e300, 1s).interval, 1ns);
}

/// Sends one unit as early as it conforms, `n` times.
std::vector<time_point> greedy(gcra pace, int n) {
  std::vector<time_point> sends;
  auto now = at(0s);
  while (n-- > 0) {
    now = std::max(now, pace.ready_at(1));
    pace.take(now, 1);
    sends.push_back(now);
  }
  return sends;
}
/// The most sends in any [t, t + period).
long most_in_any(std::vector<time_point> const& sends, duration period) {
  long most = 0;
  for (auto first = sends.begin(); first != sends.end(); ++first)
    most = std::max(most, std::lower_bound(first, sends.end(), *first + period) - first);
  return most;
}

TEST(gcra, admits_at_most_units_plus_burst_less_one_in_any_period) {
  EXPECT_EQ(most_in_any(greedy(gcra::per(15, 60s), 200), 60s), 15);
  EXPECT_EQ(most_in_any(greedy(gcra::per(15, 60s, 5), 200), 60s), 19);
  for (auto const period : {1s, 60s, 3600s})
    for (int units = 1; units <= 600; ++units) {
      if (period / units < 100ms) break;  // those have a tolerance on purpose
      for (int const burst : {1, 5})
        ASSERT_EQ(most_in_any(greedy(gcra::per(units, period, burst), 3 * units + burst), period),
                  units + burst - 1)
            << units << " per " << period.count() << " s, burst " << burst;
    }
}

TEST(gcra, tolerates_a_late_wakeup_of_1_ms_below_100_ms_only) {
  EXPECT_EQ(gcra::per(10, 1s).burst_tolerance, 0ms);
  EXPECT_EQ(gcra::per(10.01, 1s).burst_tolerance, 1ms);
  EXPECT_EQ(fixed_rate(50), gcra::per(50, 1s));
  auto pace = gcra::per(50, 1s);
  for (int i = 0; i < 100; ++i) pace.take(pace.ready_at(1) + 1ms, 1);  // each 1 ms late
  EXPECT_EQ(pace.tat, at(2s)) << "100 units in 2 s all the same";
}

TEST(unpaced, is_always_ready) {
  unpaced pace;
  pace.take(at(5s), 1'000'000);
  EXPECT_EQ(pace.ready_at(1'000'000), time_point::min());
}

}  // namespace
}  // namespace headway
