#include "headway/sim/server.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace headway::sim {
namespace {

time_point at(duration since_start) {
  return time_point(since_start);
}

/// One letter for each arrival: + served, - throttled, ! failed, . no answer.
std::string answers(behaviour b, std::vector<duration> const& arrivals) {
  server s(std::move(b));
  std::string line;
  for (duration const t : arrivals) {
    answer const a = s.arrive(at(t), 1, 0);
    line += a.comes() ? "+-!"[static_cast<int>(a.what)] : '.';
  }
  return line;
}

TEST(server, tells_only_the_limit_that_refuses) {
  limit const one = fixed_window{1, 1s};
  limit const two =
      sliding_window{2, 1s, true};  // would count what `one` refuses at 600 and 999 ms
  for (auto const& limits : {std::vector{one, two}, std::vector{two, one}})
    EXPECT_EQ(answers({.limits = limits}, {0ms, 600ms, 999ms, 1s}), "+--+");
}

TEST(server, refuses_what_is_poisoned_and_gives_it_nothing) {
  server s({.limits = {fixed_window{2, 1s}}});
  auto const poisoned = s.arrive(at(0s), 1, 0, symptom::throttle);
  EXPECT_EQ(poisoned.what, outcome::throttle);
  EXPECT_EQ(poisoned.retry_after, std::nullopt);  // waiting does not help
  EXPECT_EQ(poisoned.remaining, 2);
  EXPECT_EQ(s.arrive(at(0s), 1, 0, symptom::failure).what, outcome::failure);
  EXPECT_FALSE(s.arrive(at(0s), 1, 0, symptom::silence).comes());
  std::string line;
  for (int i = 0; i < 3; ++i) line += "+-!"[static_cast<int>(s.arrive(at(0s), 1, 0).what)];
  EXPECT_EQ(line, "++-");
}

TEST(server, knows_what_it_never_admits) {
  server const s({.limits = {token_bucket{.burst = 10}, fixed_window{.count = 20}}});
  EXPECT_FALSE(s.never_admits(10));
  EXPECT_TRUE(s.never_admits(11));
  EXPECT_FALSE(server({.limits = {concurrency{1}, unlimited{}, ban{}}}).never_admits(1'000'000));
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

TEST(server, shows_overload_as_it_is_told) {
  limit const one = fixed_window{1, 1h};
  step const dark{at(1s), outage{}};
  step const dawn{at(2s), unlimited{}};
  struct row {
    char const* what;
    behaviour b;
    std::vector<duration> arrivals;
    std::string_view expect;
  };
  row const rows[] = {
      {"as failures", {.limits = {one}, .refusal = symptom::failure}, {0s, 1s}, "+!"},
      {"as silence", {.limits = {one}, .refusal = symptom::silence}, {0s, 1s}, "+."},
      {"a queue in its own way, the rest as throttles",
       {.limits = {fixed_window{2, 1h}, queue{1, 0, symptom::failure}}, .latency = {100ms}},
       {0ms, 50ms, 100ms, 200ms},
       "+!+-"},
      {"outage: nothing, and back", {.schedule = {dark, dawn}}, {0s, 1s, 2s - 1ns, 2s}, "+..+"},
      {"outage: refused",
       {.schedule = {{at(1s), outage{symptom::throttle}}, dawn}},
       {0s, 1s, 2s},
       "+-+"},
      {"outage: what stands in front of it is not reached",
       {.limits = {one}, .schedule = {dark, dawn}},
       {0s, 0s, 1s, 2s},
       "+-.-"},
      {"outage: does not ban",
       {.limits = {ban{0, 1h, 1h}}, .schedule = {dark, dawn}},
       {1s, 1s, 2s},
       "..+"},
  };
  for (row const& r : rows) EXPECT_EQ(answers(r.b, r.arrivals), r.expect) << r.what;
}

TEST(server, tells_hints_with_throttles_and_nothing_with_silence) {
  for (auto const looks : {symptom::throttle, symptom::failure, symptom::silence}) {
    server s({.limits = {fixed_window{1, 1s}}, .refusal = looks, .error_latency = 30ms});
    s.arrive(at(0ms), 1, 0);
    answer const a = s.arrive(at(100ms), 1, 0);
    EXPECT_EQ(a.retry_after.has_value(), looks == symptom::throttle);
    EXPECT_EQ(a.remaining.has_value(), looks != symptom::silence);
    EXPECT_EQ(a.reset.has_value(), looks != symptom::silence);
    EXPECT_EQ(a.comes() ? a.after : -1ns, looks != symptom::silence ? 30ms : -1ns);
  }
}

TEST(server, tells_what_is_left_of_the_binding_limit) {
  struct row {
    char const* what;
    behaviour b;
    std::optional<std::int64_t> remaining;
    std::optional<duration> reset;
  };
  row const rows[] = {
      {"none that tells", {.limits = {concurrency{5}, queue{}, ban{}}}, {}, {}},
      {"the least", {.limits = {token_bucket{1s, 5}, fixed_window{3, 5s}, concurrency{1}}}, 2, 5s},
      {"of two alike the later",
       {.limits = {fixed_window{3, 1s}, fixed_window{3, 5s}, fixed_window{3, 2s}}},
       2,
       5s},
      {"the schedule's", {.schedule = {{at(0s), fixed_window{3, 5s}}}}, 2, 5s},
      {"counted from the answer", {.limits = {fixed_window{3, 5s}}, .latency = {2s}}, 2, 3s},
      {"never negative", {.limits = {fixed_window{3, 5s}}, .latency = {6s}}, 2, 0s},
  };
  for (row const& r : rows) {
    answer const a = server(r.b).arrive(at(0s), 1, 0);
    EXPECT_EQ(a.remaining, r.remaining) << r.what;
    EXPECT_EQ(a.reset, r.reset) << r.what;
  }
}

TEST(server, tells_false_hints) {
  struct {
    hint_fault fault;
    duration retry_after;  // 50 ms in truth
    duration reset;        // 150 ms in truth
  } const rows[] = {
      {{}, 50ms, 150ms},
      {{.factor = 2}, 100ms, 300ms},
      {{.factor = 0}, 0ms, 0ms},
      {{.offset = -60ms}, 0ms, 90ms},
      {{.offset = 1s}, 1050ms, 1150ms},
      {{.factor = 0.5, .offset = 10ms}, 35ms, 85ms},
      {{.factor = 1e30, .offset = 1s}, duration::max(), duration::max()},
  };
  for (auto const& [fault, retry_after, reset] : rows) {
    server s({.limits = {token_bucket{100ms, 2}}, .hints = fault});
    for (int i = 0; i < 2; ++i) s.arrive(at(0ms), 1, 0);
    answer const a = s.arrive(at(50ms), 1, 0);
    EXPECT_EQ(a.retry_after, retry_after) << fault.factor << ' ' << to_seconds(fault.offset);
    EXPECT_EQ(a.reset, reset) << fault.factor << ' ' << to_seconds(fault.offset);
    EXPECT_EQ(a.remaining, 0);
  }
  server hopeless({.limits = {token_bucket{100ms, 2}}, .hints = {.offset = 1s}});
  EXPECT_EQ(hopeless.arrive(at(0ms), 3, 0).retry_after, std::nullopt);
}

TEST(server, slows_down_on_schedule) {
  server s({.limits = {concurrency{1}},
            .latency = {100ms},
            .slowdowns = {{at(1s), 10}, {at(2100ms), 0.5}}});
  struct {
    duration arrival;
    outcome what;
    duration after;
  } const rows[] = {
      {0ms, outcome::success, 100ms},   {1s - 1ns, outcome::success, 100ms},
      {1100ms, outcome::success, 1s},   {2099ms, outcome::throttle, 0ms},
      {2100ms, outcome::success, 50ms}, {3100ms, outcome::success, 50ms},
  };
  for (auto const& [arrival, what, after] : rows) {
    answer const a = s.arrive(at(arrival), 1, 0);
    EXPECT_EQ(a.what, what) << to_seconds(arrival);
    EXPECT_EQ(a.after, after) << to_seconds(arrival);
  }
}

/// How many of 200 are served in each second, `every` so many seconds.
std::vector<int> capacity(drift d, int every) {
  server s({.schedule = {{at(0s), fixed_window{100, 1s, true}}}, .drifts = d});
  std::vector<int> counts;
  for (int second = 0; second < 60; second += every) {
    int n = 0;
    for (int i = 0; i < 200; ++i) n += s.arrive(at(second * 1s), 1, 0).what == outcome::success;
    counts.push_back(n);
  }
  return counts;
}

TEST(server, drifts_within_bounds) {
  drift d{.every = 1s, .step = 0.1, .min = 0.75, .max = 1.25, .seed = 7};
  auto const seen = capacity(d, 1);
  EXPECT_EQ(seen.front(), 100);
  bool rose = false, fell = false;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    int const by = seen[i] - seen[i - 1];
    EXPECT_TRUE(seen[i] >= 75 && seen[i] <= 125) << seen[i];
    EXPECT_TRUE(by == 10 || by == -10 || seen[i] == 75 || seen[i] == 125) << by;
    rose = rose || by > 0;
    fell = fell || by < 0;
  }
  EXPECT_TRUE(rose && fell);

  auto const seldom = capacity(d, 3);  // the walk does not depend on arrivals
  for (std::size_t i = 0; i < seldom.size(); ++i) EXPECT_EQ(seldom[i], seen[3 * i]);
  d.seed = 8;
  EXPECT_NE(capacity(d, 1), seen);
  d.every = 0s;
  EXPECT_EQ(capacity(d, 1), std::vector<int>(60, 100));
}

TEST(server, a_drift_keeps_what_is_counted) {
  drift const d{.every = 10ms, .step = 0.5, .min = 0.5, .max = 1.5};
  for (limit const& l : std::vector<limit>{
           fixed_window{2, 1h}, sliding_window{2, 1h}, concurrency{2}, queue{2, 0},
           table_capacity{.interval = 100ms, .saved_max = 1s, .level = 0, .fastest = 50ms}}) {
    server s({.schedule = {{at(0s), l}}, .drifts = d, .latency = {1h}});
    int n = 0;
    for (int i = 0; i < 30'000; ++i) n += s.arrive(at(i * 10ms), 1, 0).what == outcome::success;
    // Two minutes at 10/s, and three at the double, which the drift does not take back.
    int const expect = std::holds_alternative<table_capacity>(l) ? 599 + 600 + 3 * 1200 : 3;
    EXPECT_EQ(n, expect) << l.index();
  }
}

TEST(server, draws_latency_from_a_mixture) {
  mixture const two{{{3, spread{1ms}}, {1, spread{60s}}}};
  server s({.latency = two});
  rng draw(9);
  int slow = 0;
  for (int i = 0; i < 4000; ++i) {
    duration const after = s.arrive(at(0s), 1, draw()).after;
    EXPECT_TRUE(after == 1ms || after == 60s);
    slow += after == 60s;
  }
  EXPECT_NEAR(slow, 1000, 100);
}

}  // namespace
}  // namespace headway::sim
