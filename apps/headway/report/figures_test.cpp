#include "report/figures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "whatif/replay.hpp"
#include "whatif/test_recording.hpp"

namespace headway::app {
namespace {

/// A rate that is halved after 3 s, with answers that take 20 to 60 ms: two in flight would do.
sim::behaviour halved() {
  sim::behaviour b{.latency = {20ms, 60ms}, .error_latency = 1ms};
  b.schedule = {{time_point{}, sim::token_bucket{.interval = 10ms, .burst = 10}},
                {time_point{3s}, sim::token_bucket{.interval = 20ms, .burst = 10}}};
  return b;
}

/// In how many of 20 runs so many slots are found.
int slots_found(sim::behaviour const& serves, int requests, double slots) {
  temporary file;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    record(serves, "seek", requests, file.path, seed);
    auto f = figures_of_trace(file.path);
    find_limit(f, read_recording(file.path));
    auto const& found = f.scopes.at(0);
    count += found.met && found.slots == slots;
  }
  return count;
}

/// In how many of so many runs the limit is found within 5 %.
int near(sim::behaviour const& serves, int requests, double limit, double ceiling = 0,
         std::uint64_t runs = 20, duration first_late = {}) {
  temporary file;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    beside more{.first_late = first_late};
    if (ceiling > 0) more.ceiling = gcra::per(ceiling, 1s);
    record(serves, "seek", requests, file.path, seed, more);
    auto f = figures_of_trace(file.path);
    find_limit(f, read_recording(file.path));
    auto const& found = f.scopes.at(0);
    EXPECT_EQ(found.slots, 0) << seed;
    EXPECT_NEAR(found.ceiling, ceiling, 0.01);
    count += found.met && std::abs(found.limit / limit - 1) <= 0.05;
  }
  return count;
}

sim::behaviour serves(sim::limit l) {
  return {.limits = {std::move(l)}, .latency = {20ms, 60ms}, .error_latency = 1ms};
}

TEST(figures, say_the_limit_that_was_met_last) {
  EXPECT_GE(near(halved(), 750, 50), 19);  // by the law's belief alone 15
  EXPECT_GE(near(serves(sim::token_bucket{.interval = 20ms, .burst = 10}), 750, 50), 19);
  EXPECT_GE(near(serves(sim::fixed_window{.count = 50, .period = 1s}), 750, 50), 18);  // 12
  for (int const count : {20, 50})                                                     // 14, 19
    EXPECT_GE(
        near(serves(sim::sliding_window{.count = count, .period = 1s, .counts_rejects = true}), 750,
             count),
        19);
  for (bool const counts_rejects : {false, true})  // 18, 17, without `first_may_come`
    EXPECT_GE(near(serves(sim::window_counter{
                       .count = 30, .period = 1s, .counts_rejects = counts_rejects}),
                   750, 30, 0, 20, 3ms),
              19);
  auto slots = serves(sim::concurrency{.max_busy = 20});
  slots.latency = {100ms, 100ms};
  EXPECT_GE(slots_found(slots, 2000, 20), 20);
}

/// Of 50 runs on a server without a limit, whose refusals come by chance.
struct by_chance {
  int untold = 0, seen = 0;  ///< no limit is told; that it was chance is
};
by_chance without_limit(int requests, beside const& more) {
  temporary file;
  by_chance count;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    record({.latency = {20ms, 60ms}}, "seek", requests, file.path, seed, more);
    auto f = figures_of_trace(file.path);
    find_limit(f, read_recording(file.path));
    auto const& found = f.scopes.at(0);
    count.untold += !found.met;
    count.seen += found.by_chance && found.limit == 0 && found.slots == 0;
  }
  return count;
}

TEST(figures, refusals_by_chance_make_no_limit) {
  struct {
    int requests;
    beside what;
    int untold, seen;
  } const rows[] = {{300, {.ceiling = gcra::per(20, 1s), .noise = 0.05}, 48, 34},
                    {600, {.ceiling = gcra::per(100, 1s), .noise = 0.03}, 48, 45},
                    {600, {.noise = 0.03}, 32, 29}};  // of 200: 139, 127
  for (auto const& row : rows) {
    auto const found = without_limit(row.requests, row.what);
    EXPECT_GE(found.untold, row.untold) << row.requests;
    EXPECT_GE(found.seen, row.seen) << row.requests;
  }
}

TEST(figures, a_limit_below_an_own_ceiling_is_told) {
  auto const server = serves(sim::token_bucket{.interval = 20ms, .burst = 10});
  EXPECT_GE(near(server, 750, 50, 60, 200), 188);
  EXPECT_GE(near(server, 750, 50, 200), 19);
}

TEST(figures, say_what_held_it_back_where_the_governor_does_not) {
  temporary file;
  {
    constexpr time_point began{2h};
    trace to(file.path);
    auto const law = parse_law("fixed");
    governor_settings const settings{.rate_ceiling = gcra::per(1, 1s)};
    to.head({.law = law, .settings = settings, .began = began});
    traced_governor g(&to, 0, "http://host", law, settings);
    for (int i = 0; i < 3; ++i) g.submit(began, {});
    auto const t = g.next(began).value();
    g.start(began, t, 1);
    g.finish(began + 10ms, t, {}, 1);
    g.wakeup(began + 10ms);
    for (auto const at : {510ms, 520ms}) g.held(began + at, reason::paused);
    g.held(began + 2510ms, reason::quota);
    g.wakeup(began + 5510ms);
    g.end();
    to.flush();
  }
  auto const f = figures_of_trace(file.path);
  EXPECT_NEAR(f.held.at("own ceiling"), 0.5, 1e-6);
  EXPECT_NEAR(f.held.at("paused"), 2, 1e-6);
  EXPECT_NEAR(f.held.at("quota"), 3, 1e-6);
  EXPECT_FALSE(replay(file.path).first_difference);
}

}  // namespace
}  // namespace headway::app
