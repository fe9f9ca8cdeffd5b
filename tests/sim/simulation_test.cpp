// The simulator itself: seed 003's own figures, the same run twice, and nothing that hangs.

#include "headway/sim/simulation.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headway::sim {
namespace {

/// Seed text 003's server as laws compare on it: no jitter, no careful first request.
scenario seed_003() {
  scenario s{.name = "seed 003", .about = {}};
  s.server.limits = {concurrency{.max_busy = 50, .error_holds = 50ms}};
  s.server.latency = spread{500ms};
  s.server.error_latency = 50ms;
  s.net = {.connect = 100ms, .jitter = 0ns, .wakes_late = 0ns};
  s.groups = {group{.work = batch{.requests = 2000}}};
  s.told = {.rate = 99.5, .window = 60};
  s.lasts = 10min;
  s.first_alone = 0ns;
  return s;
}

figures run(scenario const& s, std::string_view law, std::uint64_t seed = 1) {
  auto const* const found = contender_named(law);
  EXPECT_NE(found, nullptr) << law;
  return simulate(s, *found, {.seed = seed});
}

TEST(simulation, seed_003_to_the_attempt) {
  auto const s = seed_003();
  EXPECT_EQ(run(s, "reno-0.9").attempts, 2088);
  EXPECT_EQ(run(s, "tahoe-0.9").attempts, 2081);
  EXPECT_NEAR(to_seconds(run(s, "reno-0.9").completion), 25.2, 0.05);
  EXPECT_NEAR(to_seconds(run(s, "told").completion), 20.149 * 1.027, 0.05);
  EXPECT_EQ(run(s, "told").throttled, 0);
}

TEST(simulation, the_same_seed_gives_the_same_figures) {
  auto s = seed_003();
  s.net.jitter = 5ms;
  for (auto const& law : contenders()) {
    s.lasts = 30s;
    EXPECT_EQ(run(s, law.name, 7), run(s, law.name, 7)) << law.name;
  }
  EXPECT_NE(run(s, "seek", 7).digest, run(s, "seek", 8).digest);
}

TEST(simulation, every_compiler_draws_the_same) {
  auto s = seed_003();
  s.server.latency = distribution(exponential{500ms});
  s.net.jitter = 5ms;
  std::uint64_t all = 0;
  for (auto const& law : contenders()) all = mix(all ^ run(s, law.name, 42).digest);
  EXPECT_EQ(all, 3321221434821395690U);  // seen from g++ and clang, -O0 to -O3
}

TEST(simulation, stops_instead_of_hanging) {
  auto const s = seed_003();
  EXPECT_THROW(simulate(s, *contender_named("hammer"), {.events_max = 1000}), std::runtime_error);
}

TEST(simulation, names_the_law_that_it_does_not_know) {
  auto s = seed_003();
  s.groups.front().law = "magic";
  EXPECT_THROW(run(s, "seek"), std::invalid_argument);
  EXPECT_EQ(contender_named("magic"), nullptr);
}

TEST(simulation, an_on_off_rival_gets_its_share_from_a_sender_that_knows_the_limit) {
  scenario s{.name = "rival", .about = {}};
  s.server.limits = {token_bucket{.interval = 100ms, .burst = 10}};
  s.server.latency = spread{50ms};
  s.groups = {group{.work = batch{.requests = 500}},
              group{.name = "rival",
                    .law = "exponential-full",
                    .work = open_arrivals{.rate = 2, .on = 10s, .off = 10s},
                    .background = true}};
  s.told = {.rate = 8};
  s.lasts = 5min;
  auto const f = run(s, "told");
  EXPECT_TRUE(f.finished);
  EXPECT_EQ(f.done, 500);
  EXPECT_GT(f.background_share, 0.95);
}

}  // namespace
}  // namespace headway::sim
