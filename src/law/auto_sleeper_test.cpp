#include "headway/law/auto_sleeper.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "headway/driver/auto_sleeper.hpp"

namespace headway {
namespace {

constexpr fraction middle = fraction{1} << 63;
constexpr fraction most = ~fraction{0};

// The article's graph: 1 ms, ×1.5, ×0.6, no randomisation, threshold 5. Computed in rational
// arithmetic, each step truncated to nanoseconds.
constexpr auto_sleeper graph{.initial_interval = 1ms,
                             .up_multiplier = 1.5,
                             .down_multiplier = 0.6,
                             .randomization_factor = 0,
                             .down_multiplier_threshold = 5};
constexpr std::int64_t up[] = {1000000,  1500000,  2250000,   3375000,   5062500,
                               7593750,  11390625, 17085937,  25628905,  38443357,
                               57665035, 86497552, 129746328, 194619492, 291929238};
constexpr std::int64_t down[] = {175157542, 105094525, 63056715, 37834029, 22700417, 13620250,
                                 8172150,   4903290,   2941974,  1765184,  1059110,  0};

TEST(auto_sleeper, the_articles_graph_up_and_down) {
  auto sleeper = graph;
  for (auto const ns : up) EXPECT_EQ(sleeper.failed(most), duration(ns));
  duration last(291929238);
  for (auto const ns : down) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(sleeper.succeeded(most), last);
    EXPECT_EQ(sleeper.succeeded(most), duration(ns));
    last = duration(ns);
  }
  EXPECT_EQ(sleeper.metrics.total_invocation, 15 + 60);
  EXPECT_EQ(sleeper.metrics.total_went_up, 15);
  EXPECT_EQ(sleeper.metrics.total_went_down, 12);
  EXPECT_EQ(sleeper.metrics.total_slept, 15 + 60);
}

// f: a failure, s: a success; sleeps in ms.
TEST(auto_sleeper, corners) {
  auto const plain = [](auto_sleeper s) {
    s.initial_interval = 100ms;
    s.up_multiplier = 2;
    s.down_multiplier = 0.5;
    s.down_multiplier_threshold = 2;
    return s;
  };
  auto const exact = plain({.randomization_factor = 0});
  auto capped = exact;
  capped.max_interval = 300ms;
  auto const random = plain({.randomization_factor = 0.3});
  auto widening = random;  // a shrink that may rise: 0.9 × 1.3
  widening.max_interval = 100ms;
  widening.down_multiplier = 0.9;
  auto narrow = random;
  narrow.max_randomization = 10ms;
  struct {
    char const* what;
    auto_sleeper sleeper;
    std::string_view history;
    fraction u;
    double last_ms;
  } const rows[] = {
      {"the first interval is not randomised", random, "f", most, 100},
      {"… the second is, up", random, "ff", most, 260},
      {"… and down", random, "ff", 0, 140},
      {"… and in the middle not", random, "ff", middle, 200},
      {"the half-width is capped", narrow, "ff", 0, 190},
      {"growth is capped at the maximum", capped, "fff", 0, 300},
      {"a shrink is not", widening, "fss", most, 117},
      {"nor is the first interval",
       [&] {
         auto s = exact;
         s.max_interval = 50ms;
         return s;
       }(),
       "f", 0, 100},
      {"a shrink to the initial interval stays", exact, "ffss", 0, 100},
      {"a shrink below it drops to zero", exact, "fss", 0, 0},
      {"a success at zero stays at zero", exact, "sssss", 0, 0},
      {"… and is not counted towards a shrink", exact, "ssff s", 0, 200},
      {"after zero the next failure starts afresh", exact, "ffffss ss ss ss f", 0, 100},
      {"failures do not reset the success counter", exact, "ff s f s", 0, 200},
      {"a shrink does", exact, "ffff ss s", 0, 400},
      {"… also one that drops to zero", exact, "f ss ff s", 0, 200},
  };
  for (auto const& r : rows) {
    auto sleeper = r.sleeper;
    duration last{};
    for (char const c : r.history) {
      if (c == 'f') last = sleeper.failed(r.u);
      if (c == 's') last = sleeper.succeeded(r.u);
    }
    EXPECT_NEAR(to_seconds(last) * 1e3, r.last_ms, 1e-5) << r.what;
  }
}

TEST(auto_sleeper, a_success_at_zero_adds_to_the_invocations_only) {
  auto sleeper = graph;
  for (int i = 0; i < 7; ++i) sleeper.succeeded(0);
  auto expect = graph;
  expect.metrics.total_invocation = 7;
  EXPECT_EQ(sleeper, expect);
}

TEST(auto_sleeper, defaults_are_the_originals) {
  auto_sleeper const s;
  EXPECT_EQ(s.initial_interval, 500ms);
  EXPECT_EQ(s.max_interval, 15min);
  EXPECT_EQ(s.max_randomization, 2min);
  EXPECT_EQ(s.up_multiplier, 1.5);
  EXPECT_EQ(s.down_multiplier, 0.9);
  EXPECT_EQ(s.randomization_factor, 0.3);
  EXPECT_EQ(s.down_multiplier_threshold, 10);
}

/// The Go original, line for line; rand.Float64() is the `random` handed in.
struct go_original {
  std::int64_t initial_interval, max_interval, max_randomization;
  double up_multiplier, down_multiplier, randomization_factor;
  int down_multiplier_threshold;

  std::int64_t total_invocation = 0, total_went_up = 0, total_went_down = 0, total_slept = 0;
  std::int64_t total_sleep_time = 0;
  std::int64_t current_interval = 0;
  int current_success = 0;

  void sleep_on_failure(double random) {
    total_invocation += 1;
    go_up(random);
    sleep();
  }
  void sleep_on_success(double random) {
    total_invocation += 1;
    if (current_interval == 0) return;
    current_success += 1;
    if (current_success == down_multiplier_threshold) {
      go_down(random);
      current_success = 0;
    }
    sleep();
  }
  void sleep() {
    total_sleep_time += current_interval;
    total_slept += 1;
  }
  void go_down(double rand) {
    total_went_down += 1;
    double const interval = static_cast<double>(current_interval) * down_multiplier;
    double const random = next_random_interval(interval, rand);
    if (random < static_cast<double>(initial_interval)) {
      current_interval = 0;
      return;
    }
    current_interval = static_cast<std::int64_t>(random);
  }
  void go_up(double rand) {
    total_went_up += 1;
    if (current_interval == 0) {
      current_interval = initial_interval;
      return;
    }
    double const interval = static_cast<double>(current_interval) * up_multiplier;
    double const random = next_random_interval(interval, rand);
    if (random > static_cast<double>(max_interval)) {
      current_interval = max_interval;
      return;
    }
    current_interval = static_cast<std::int64_t>(random);
  }
  double next_random_interval(double interval, double rand) const {
    if (randomization_factor == 0) return interval;
    double delta = randomization_factor * interval;
    if (delta > static_cast<double>(max_randomization))
      delta = static_cast<double>(max_randomization);
    double const randomization = 2 * delta * rand;
    double const min_interval = interval - delta;
    return min_interval + randomization;
  }
};

TEST(auto_sleeper, follows_the_original_over_random_histories) {
  auto_sleeper const settings[] = {
      {},
      graph,
      {.randomization_factor = 1},
      {.initial_interval = 1ns, .max_randomization = 1ms, .down_multiplier = 0.3},
      {.initial_interval = 3ms, .max_interval = 70ms, .down_multiplier_threshold = 1},
      {.initial_interval = 7s, .max_interval = 5s, .up_multiplier = 1.01, .down_multiplier = 0.99},
  };
  std::vector<auto_sleeper> all(std::begin(settings), std::end(settings));
  rng draw(2020);
  for (int i = 0; i < 60; ++i) {
    auto const share = [&] { return unit(draw()); };
    auto const initial = 1ns + scale(1s, draw());
    all.push_back({.initial_interval = initial,
                   .max_interval = initial + scale(20s, draw()),
                   .max_randomization = scale(10s, draw()),
                   .up_multiplier = 1 + 3 * share(),
                   .down_multiplier = 0.3 * share(),
                   .randomization_factor = share(),
                   .down_multiplier_threshold = 1 + static_cast<int>(draw() % 4)});
  }
  for (auto sleeper : all) {
    go_original original{sleeper.initial_interval.count(),  sleeper.max_interval.count(),
                         sleeper.max_randomization.count(), sleeper.up_multiplier,
                         sleeper.down_multiplier,           sleeper.randomization_factor,
                         sleeper.down_multiplier_threshold};
    for (int i = 0; i < 20'000; ++i) {
      auto const u = draw();
      auto const failures = (static_cast<std::uint64_t>(i) / 200) % 8;  // of 16, in phases
      if (draw() % 16 < failures) {
        sleeper.failed(u);
        original.sleep_on_failure(unit(u));
      } else {
        sleeper.succeeded(u);
        original.sleep_on_success(unit(u));
      }
      ASSERT_EQ(sleeper.current_interval.count(), original.current_interval) << i;
      ASSERT_EQ(sleeper.current_success, original.current_success) << i;
      ASSERT_EQ(sleeper.metrics.total_invocation, original.total_invocation) << i;
      ASSERT_EQ(sleeper.metrics.total_went_up, original.total_went_up) << i;
      ASSERT_EQ(sleeper.metrics.total_went_down, original.total_went_down) << i;
      ASSERT_EQ(sleeper.metrics.total_slept, original.total_slept) << i;
      ASSERT_EQ(sleeper.metrics.total_sleep_time.count(), original.total_sleep_time) << i;
    }
    EXPECT_GT(original.total_went_down, 100);
  }
}

TEST(auto_sleeper, as_a_law_starts_no_sooner_than_the_last_finish_plus_the_interval) {
  auto sleeper = graph;
  time_point now{};
  for (auto const ns : up) {
    EXPECT_LE(sleeper.ready_at(1), now);
    sleeper.take(now, 1, 0);
    now += 40ms;  // the call
    sleeper.on_throttle(now, {}, resource::unknown, 0);
    EXPECT_EQ(sleeper.ready_at(1), now + duration(ns));
    now = sleeper.ready_at(1);
  }
}

TEST(auto_sleeper, blocking_form_sleeps_and_counts) {
  blocking::auto_sleeper sleeper({.initial_interval = 1us, .down_multiplier_threshold = 2}, 7);
  sleeper.sleep_on_success();
  sleeper.sleep_on_failure();
  sleeper.sleep_on_failure();
  sleeper.sleep_on_success();
  sleeper.sleep_on_success();
  auto const m = sleeper.metrics();
  EXPECT_EQ(m.total_invocation, 5);
  EXPECT_EQ(m.total_went_up, 2);
  EXPECT_EQ(m.total_went_down, 1);
  EXPECT_EQ(m.total_slept, 4);
  EXPECT_GE(m.total_sleep_time, 3us);
}

}  // namespace
}  // namespace headway
