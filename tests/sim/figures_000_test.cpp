// Seed text 000, "Responsive exponential backoff in Go": the delay graph, and a table that grows
// under workers that come and go.

#include "figures.hpp"

namespace headway::sim {
namespace {

/// "For the following configuration".
auto_sleeper graphed() {
  return {.initial_interval = 1ms,
          .max_interval = 15min,
          .max_randomization = 2min,
          .up_multiplier = 1.5,
          .down_multiplier = 0.6,
          .randomization_factor = 0,
          .down_multiplier_threshold = 5};
}

/// Refuses a call that comes sooner than `gap` after the last call, refused or not: fails while a
/// worker's delay is too short. The gap narrows, as a table's does that scales.
behaviour too_soon() {
  auto const at_most_one_in = [](duration gap) {
    return sliding_window{.count = 1, .period = gap, .counts_rejects = true};
  };
  return {
      .schedule = {{time_point{}, at_most_one_in(250ms)}, {time_point(2s), at_most_one_in(60ms)}}};
}

TEST(figures_000, delay_graph) {
  struct point {
    duration delay;
    bool failed;
  };
  std::vector<point> graph;
  auto sleeper = graphed();
  server table(too_soon());
  time_point now{};
  for (int i = 0; i < 200; ++i) {
    auto const delay = sleeper.current_interval;
    now += delay;
    auto const failed = table.arrive(now, 1, 0).what == outcome::throttle;
    graph.push_back({delay, failed});
    if (failed)
      sleeper.failed(0);
    else
      sleeper.succeeded(0);
  }
  double highest_failed = 0, first_success = 0, lowest = 1e9, highest = 0;
  int rises = 0;
  for (std::size_t i = 1; i < graph.size(); ++i) {  // the first call of all comes after none
    auto const ms = 1e3 * to_seconds(graph[i].delay);
    if (first_success == 0) {
      ++rises;
      if (!graph[i].failed) first_success = ms;
    } else if (i >= 40) {
      if (graph[i].failed) {
        highest_failed = std::max(highest_failed, ms);
      } else {
        lowest = std::min(lowest, ms);
        highest = std::max(highest, ms);
      }
    }
  }
  tell("delay graph: failures until the delay reaches", "291.9 ms",
       text("%.1f ms (1 ms × 1.5^%d)", first_success, rises - 2));
  tell("… settled: successes; failures", "\"greater than 60 ms were succeeding\"",
       text("%.1f … %.1f ms; up to %.1f ms", lowest, highest, highest_failed));
  EXPECT_NEAR(first_success, 291.9, 0.05);
  EXPECT_GT(lowest, 60);
  EXPECT_LT(highest, 60 * 1.5);
  EXPECT_LT(highest_failed, 60);
}

/// DynamoDB's table at 1,000 units a second, ten to a write: up to 5 min of it saved, a tenth of
/// that at first, doubled when two minutes were hot. Workers: 10, 30, 50, 30, 10.
scenario growing_table() {
  scenario s{.name = "table", .about = {}};
  s.server.limits = {table_capacity{.interval = 1ms, .fastest = 250us}};
  s.server.latency = spread{15ms, 25ms};
  s.server.error_latency = 5ms;
  auto const workers = [](int count, duration joins, duration leaves) {
    return group{.clients = count,
                 .work = closed_loop{.workers = 1},
                 .joins = joins,
                 .stagger = 1s,
                 .leaves = leaves,
                 .cost_mean = 10};
  };
  s.groups = {workers(10, 0s, 20min), workers(20, 3min, 16min), workers(20, 6min, 13min)};
  s.lasts = 20min;
  return s;
}

TEST(figures_000, workers_on_a_growing_table) {
  auto const table_writes = [](duration at) { return at < 2min ? 100 : at < 4min ? 200 : 400; };
  double throttled_before = 0;
  for (auto const* law : {"auto-sleeper", "linear"}) {
    auto const f = run(growing_table(), law, {.timeline_step = 30s});
    auto least = 1e9;
    for (auto const& m : f.timeline) {
      auto const saved_is_spent = m.at >= 60s;
      if (saved_is_spent) least = std::min(least, 100 * m.accepted / 30. / table_writes(m.at));
    }
    auto const throttled = 100 * static_cast<double>(f.throttled) / static_cast<double>(f.attempts);
    tell(text("10 … 50 … 10 workers, a table that grows fourfold, %s", law),
         "\"auto balancing\" with workers and WCUs",
         text("at least %.0f %% of the table in each 30 s, %.1f %% throttled", least, throttled));
    EXPECT_GT(least, 90) << law;
    EXPECT_GT(throttled, 3 * throttled_before) << law;
    throttled_before = throttled;
  }
}

}  // namespace
}  // namespace headway::sim
