#include "headway/sim/server.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace headway::sim {
namespace {

time_point at(duration since_start) {
  return time_point(since_start);
}

behaviour only(limit l) {
  return {.limits = {std::move(l)}};
}

/// One letter for each arrival: + served, - throttled, ! failed.
std::string answers(behaviour b, std::vector<duration> const& arrivals, std::int64_t cost = 1) {
  server s(std::move(b));
  std::string line;
  for (duration const t : arrivals) line += "+-!"[static_cast<int>(s.arrive(at(t), cost, 0).what)];
  return line;
}

/// How many of the arrivals, one each `gap` during `length`, are served.
int served(behaviour b, duration gap, duration length) {
  server s(std::move(b));
  int n = 0;
  for (duration t{}; t < length; t += gap) n += s.arrive(at(t), 1, 0).what == outcome::success;
  return n;
}

TEST(server, decides_each_arrival) {
  struct row {
    char const* what;
    behaviour b;
    std::vector<duration> arrivals;
    std::string_view expect;
    std::int64_t cost = 1;
  };
  behaviour const seed_003{.limits = {concurrency{.max_busy = 2, .error_holds = 50ms}},
                           .latency = {500ms},
                           .error_latency = 50ms};
  behaviour errors_free = seed_003;
  errors_free.limits = {concurrency{.max_busy = 2}};
  auto const ns = 1ns;
  row const rows[] = {
      {"unlimited", {}, {0ms, 0ms, 0ms}, "+++"},
      {"bucket: the burst, then one an interval",
       only(token_bucket{20ms, 3}),
       {0ms, 0ms, 0ms, 0ms, 20ms - ns, 20ms, 20ms, 40ms},
       "+++--+-+"},
      {"bucket: saves no more than the burst", only(token_bucket{20ms, 2}), {1s, 1s, 1s}, "++-"},
      {"bucket: cost", only(token_bucket{20ms, 4}), {0ms, 0ms, 20ms, 40ms}, "++-+", 2},
      {"bucket: cost above the burst", only(token_bucket{20ms, 1}), {0ms, 1h}, "--", 2},
      {"slots: free again at the very end of the hold",
       seed_003,
       {0ms, 100ms, 500ms - ns, 600ms, 600ms, 650ms},
       "++-++-"},
      {"slots: errors hold one, above the limit too",
       seed_003,
       {0ms, 0ms, 460ms, 490ms, 500ms, 510ms, 559ms, 560ms},
       "++----++"},
      {"slots: the same with errors that hold none",
       errors_free,
       {0ms, 0ms, 460ms, 490ms, 500ms, 510ms, 559ms, 560ms},
       "++--++--"},
      {"no slot", only(concurrency{.max_busy = 0}), {0ms, 1h}, "--"},
      {"window: from its first request",
       only(fixed_window{2, 1s}),
       {300ms, 999ms, 1s, 1300ms - ns, 1300ms, 1300ms, 1300ms},
       "++--++-"},
      {"window: aligned",
       only(fixed_window{2, 1s, true}),
       {300ms, 999ms, 999ms, 1s, 1s, 1s, 3900ms, 3900ms, 4s},
       "++-++-+++"},
      {"sliding: leaves after exactly one period",
       only(sliding_window{2, 1s}),
       {0ms, 600ms, 999ms, 1s - ns, 1s, 1s, 1600ms},
       "++--+-+"},
      {"sliding: cost", only(sliding_window{3, 1s}), {0ms, 500ms, 1s, 1s}, "+-+-", 2},
      {"counts rejects: the refused one at 900 ms is still looked at",
       only(sliding_window{2, 1s, true}),
       {0ms, 0ms, 900ms, 1s, 1001ms, 2500ms},
       "++-+-+"},
  };
  for (row const& r : rows) EXPECT_EQ(answers(r.b, r.arrivals, r.cost), r.expect) << r.what;
}

TEST(server, counts_exactly_over_time) {
  struct row {
    char const* what;
    limit l;
    duration gap;
    duration length;
    int expect;
  };
  row const rows[] = {
      {"50/s burst 10: 10 + 50 × 60 s", token_bucket{20ms, 10}, 1ms, 60s, 3009},
      {"7/s burst 1", token_bucket{duration(142'857'142), 1}, 1ms, 60s, 420},
      {"300 a minute", fixed_window{300, 1min}, 10ms, 5min, 1500},
      {"50 in any second", sliding_window{50, 1s}, 1ms, 10s, 500},
      {"hammering where rejects count", sliding_window{50, 1s, true}, 1ms, 1h, 50},
      {"just below where rejects count", sliding_window{50, 1s, true}, 20ms, 10s, 500},
      {"just above where rejects count", sliding_window{50, 1s, true}, 19ms, 1h, 50},
  };
  for (row const& r : rows) EXPECT_EQ(served(only(r.l), r.gap, r.length), r.expect) << r.what;
}

/// 1000 errors a second of 50 ms hold all 50 slots: after the first 50 such a client is never
/// served again.
TEST(server, of_seed_003_is_brought_down_by_retries) {
  struct {
    duration error_holds;
    duration gap;
    int in_100_seconds;
  } const rows[] = {{0ms, 500us, 10000}, {50ms, 500us, 50}, {50ms, 990us, 50}, {50ms, 20ms, 5000}};
  for (auto const& [error_holds, gap, expect] : rows) {
    behaviour const b{.limits = {concurrency{50, error_holds}}, .latency = {500ms}};
    EXPECT_EQ(served(b, gap, 100s), expect) << to_seconds(error_holds) << ' ' << to_seconds(gap);
  }
}

TEST(server, tells_an_honest_retry_after) {
  struct row {
    char const* what;
    behaviour b;
    std::vector<duration> arrivals;  // the last one is throttled
    std::optional<duration> expect;
  };
  behaviour slots{.limits = {concurrency{.max_busy = 2, .error_holds = 50ms}}, .latency = {500ms}};
  behaviour slow_to_tell = slots;
  slow_to_tell.error_latency = 80ms;
  row const rows[] = {
      {"bucket", only(token_bucket{20ms, 1}), {0ms, 5ms}, 15ms},
      {"the first slot to be free", slots, {0ms, 100ms, 200ms}, 300ms},
      {"not before its own error leaves", slots, {0ms, 100ms, 480ms}, 50ms},
      {"counted from the answer", slow_to_tell, {0ms, 100ms, 200ms}, 220ms},
      {"never negative", slow_to_tell, {0ms, 100ms, 480ms}, 0ms},
      {"window", only(fixed_window{1, 1s}), {200ms, 300ms}, 900ms},
      {"sliding", only(sliding_window{2, 1s}), {0ms, 400ms, 500ms}, 500ms},
      {"what is refused counts", only(sliding_window{2, 1s, true}), {0ms, 400ms, 500ms}, 900ms},
      {"all limits", {.limits = {token_bucket{20ms, 1}, sliding_window{1, 1s}}}, {0ms, 1ms}, 999ms},
      {"waiting does not help", only(concurrency{.max_busy = 0}), {0ms}, std::nullopt},
  };
  for (row const& r : rows) {
    server s(r.b);
    answer last;
    for (duration const t : r.arrivals) last = s.arrive(at(t), 1, 0);
    EXPECT_EQ(last.what, outcome::throttle) << r.what;
    EXPECT_EQ(last.retry_after, r.expect) << r.what;
    if (!r.expect) continue;
    duration const then = r.arrivals.back() + last.after + *last.retry_after;
    EXPECT_EQ(s.arrive(at(then), 1, 0).what, outcome::success) << r.what;
  }
}

TEST(server, tells_only_the_limit_that_refuses) {
  limit const one = fixed_window{1, 1s};
  limit const two =
      sliding_window{2, 1s, true};  // would count what `one` refuses at 600 and 999 ms
  for (auto const& limits : {std::vector{one, two}, std::vector{two, one}})
    EXPECT_EQ(answers({.limits = limits}, {0ms, 600ms, 999ms, 1s}), "+--+");
}

TEST(server, changes_capacity_on_schedule) {
  struct row {
    char const* what;
    std::vector<step> schedule;
    std::vector<duration> arrivals;
    std::string_view expect;
  };
  row const rows[] = {
      {"unlimited before the first step",
       {{at(1s), token_bucket{1s, 1}}},
       {0s, 0s, 1s, 1s},
       "+++-"},
      {"to another kind: anew",
       {{at(0s), fixed_window{1, 1h}}, {at(1s), sliding_window{1, 1h}}},
       {0s, 0s, 1s, 1s},
       "+-+-"},
      {"busy slots stay busy",
       {{at(0s), concurrency{2}}, {at(50ms), concurrency{1}}},
       {0ms, 0ms, 60ms, 100ms, 100ms},
       "++-+-"},
      {"a bucket keeps its level",
       {{at(0s), token_bucket{1s, 4}}, {at(500ms), token_bucket{10ms, 4}}},
       {0s, 0s, 0s, 0s, 500ms, 504ms, 505ms, 514ms, 515ms},
       "++++--+-+"},
      {"a window keeps its count",
       {{at(0s), fixed_window{2, 1s}}, {at(100ms), fixed_window{3, 1s}}},
       {0s, 0s, 100ms, 100ms, 1s},
       "+++-+"},
      {"a log keeps the latest",
       {{at(0s), sliding_window{3, 1s}}, {at(100ms), sliding_window{2, 1s}}},
       {0ms, 20ms, 40ms, 1019ms, 1020ms, 1020ms, 1040ms},
       "+++-+-+"},
      {"a log keeps the latest, wherever its ring begins",
       {{at(0s), sliding_window{2, 1s}}, {at(1100ms), sliding_window{1, 1s}}},
       {0ms, 600ms, 1s, 1600ms, 1999ms, 2s},
       "+++--+"},
      {"several steps in one gap",
       {{at(0s), concurrency{0}}, {at(1s), token_bucket{1s, 1}}, {at(2s), unlimited{}}},
       {0s, 3s, 3s},
       "-++"},
  };
  for (row const& r : rows)
    EXPECT_EQ(answers({.schedule = r.schedule, .latency = {100ms}}, r.arrivals), r.expect)
        << r.what;
}

TEST(server, draws_latency_and_failures_independently) {
  server s({.latency = {20ms, 80ms}, .failures = 0.25});
  rng draw(7);
  int failed = 0;
  duration all{};
  duration of_failed{};
  for (int i = 0; i < 4000; ++i) {
    answer const a = s.arrive(at(i * 1ms), 1, draw());
    EXPECT_TRUE(a.after >= 20ms && a.after < 80ms);
    all += a.after;
    if (a.what != outcome::failure) continue;
    ++failed;
    of_failed += a.after;
  }
  EXPECT_NEAR(failed, 1000, 100);
  EXPECT_NEAR(to_seconds(all) / 4000, 0.050, 0.002);
  EXPECT_NEAR(to_seconds(of_failed) / failed, 0.050, 0.002);
}

}  // namespace
}  // namespace headway::sim
