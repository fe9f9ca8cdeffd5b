// What the default law reaches where refusals are not only its own doing, in virtual time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "headway/sim/simulation.hpp"

namespace headway::sim {
namespace {

/// Returns the median over nine seeds of what `of` finds in a run.
double median(scenario const& s, std::function<double(figures const&)> const& of) {
  std::vector<double> found;
  for (std::uint64_t seed = 1; seed <= 9; ++seed)
    found.push_back(of(simulate(s, *contender_named("seek"), {.seed = seed})));
  std::ranges::nth_element(found, found.begin() + 4);
  return found[4];
}

double done(figures const& f) {
  return static_cast<double>(f.done);
}
double per_second(figures const& f) {
  return done(f) / to_seconds(f.completion);
}
double jain(figures const& f) {
  return f.jain_late;
}

/// So many clients on one window, for half an hour.
scenario window(int clients, std::int64_t count, duration period) {
  scenario s{.name = "window", .about = {}};
  s.server.limits = {fixed_window{.count = count, .period = period}};
  s.server.latency = distribution(lognormal{50ms, 0.2});
  s.groups = {group{.clients = clients, .work = closed_loop{.workers = 20}}};
  s.told = {.rate = static_cast<double>(count) / to_seconds(period)};
  s.lasts = 30min;
  return s;
}

// One that had most of a window met its end at the same ceiling each time, and kept it: .30.
TEST(crowd, shares_a_window) {
  EXPECT_GE(median(window(8, 1000, 10s), jain), 0.85);
  EXPECT_GE(median(window(4, 900, 15s), jain), 0.85);
}

TEST(crowd, of_one_loses_nothing_to_a_window) {
  EXPECT_GE(median(window(1, 1000, 10s), per_second), 95);
}

/// Clients on so many a second with that burst, for half an hour or until they are done.
scenario bucket(double rate, int burst, std::vector<group> groups) {
  scenario s{.name = "bucket", .about = {}};
  s.server.limits = {token_bucket{.interval = from_seconds(1 / rate), .burst = burst}};
  s.server.latency = distribution(lognormal{50ms, 0.2});
  s.groups = std::move(groups);
  s.told = {.rate = rate};
  s.lasts = 30min;
  return s;
}

/// One client alone before a limit without a burst.
scenario bare(double rate, workload const& work) {
  auto s = bucket(rate, 1, {group{.work = work}});
  s.lasts = 4h;
  return s;
}

// Such a limit refuses what its arrivals bring too close, and halves each pair: an observer that
// asked pairs for company took this one for a crowd, and it was up to 30 times as slow.
TEST(crowd, of_one_before_a_limit_without_a_burst_is_none) {
  auto one_worker = bare(50, closed_loop{.workers = 1, .requests = 3000});
  one_worker.server.latency = distribution(lognormal{20ms, 0.3});
  EXPECT_GE(median(one_worker, per_second), 28);

  auto jitter = bare(37, batch{.requests = 5000});
  jitter.net.jitter = 15ms;
  EXPECT_GE(median(jitter, per_second), 21);
  jitter.net.jitter = 22ms;
  EXPECT_GE(median(jitter, per_second), 18);

  auto late = bare(59, batch{.requests = 4000});
  late.net.wakes_late = 15ms;
  EXPECT_GE(median(late, per_second), 28);

  auto chance = bare(20, batch{.requests = 2500});
  chance.net.misread = 0.02;
  EXPECT_GE(median(chance, per_second), 6.3);
}

TEST(crowd, that_leaves_leaves_a_limit_without_a_burst_to_one) {
  closed_loop const work{.workers = 20};
  auto const s = bucket(
      100, 1,
      {group{.work = work}, group{.clients = 3, .work = work, .leaves = 2min, .background = true}});
  EXPECT_GE(median(s, done), 0.7 * 100 * to_seconds(s.lasts));
}

TEST(crowd, of_two_shares_a_limit_of_a_burst_of_two) {
  auto const s = bucket(100, 2, {group{.clients = 2, .work = closed_loop{.workers = 20}}});
  EXPECT_GE(median(s, done), 0.93 * 100 * to_seconds(s.lasts));
  EXPECT_GE(median(s, jain), 0.95);
}

// Of 50 a second 0.3 were used: each refusal lowered the ceiling, until one request a minute went.
TEST(crowd, of_refusals_by_chance_is_no_limit) {
  scenario s{.name = "chance", .about = {}};
  s.server.limits = {token_bucket{.interval = 20ms, .burst = 10}};
  s.server.latency = distribution(lognormal{80ms, 0.3});
  s.net.misread = 0.15;
  s.groups = {group{.work = batch{.requests = 3000}}};
  s.told = {.rate = 50};
  s.lasts = 12h;
  auto const seconds = [](figures const& f) { return to_seconds(f.completion); };
  EXPECT_LE(median(s, seconds), 20 * 60);
  s.net.misread = 0.25;
  EXPECT_LE(median(s, seconds), 5 * 60);
}

// A row of eight is refused there, whatever refused before: these took 46, 34 and 15 times as long.
TEST(crowd, of_refusals_by_chance_before_a_limit_that_saves_few_is_no_limit) {
  scenario s{.name = "chance", .about = {}};
  s.server.latency = distribution(lognormal{80ms, 0.3});
  s.net.misread = 0.03;
  s.lasts = 12h;
  auto const seconds = [](figures const& f) { return to_seconds(f.completion); };
  for (auto const& [interval, burst] : {std::pair{5ms, 4}, {7ms, 5}, {4ms, 6}}) {
    s.server.limits = {token_bucket{.interval = interval, .burst = burst}};
    s.groups = {group{.work = batch{.requests = 8000}}};
    s.told = {.rate = 1 / to_seconds(interval)};
    EXPECT_LE(median(s, seconds), 14 * 8000 * to_seconds(interval)) << burst;
  }
}

// A client that takes chance for its limit is held at 1 / (12 p), and another that knows has the
// rest.
TEST(crowd, of_few_clients_shares_a_limit_beside_chance) {
  for (auto const& [clients, rate] : {std::pair{2, 70.0}, {5, 150.0}}) {
    auto s = bucket(rate, 30, {group{.clients = clients, .work = closed_loop{.workers = 20}}});
    s.net.misread = 0.02;
    EXPECT_GE(median(s, jain), 0.8) << clients;
    EXPECT_GE(median(s, done), 0.9 * rate * to_seconds(s.lasts)) << clients;
  }
}

// It fell to one request a minute before a second attempt had told of bad lines: hours.
TEST(crowd, of_bad_lines_is_no_limit) {
  scenario s{.name = "bad", .about = {}};
  s.server.limits = {token_bucket{.interval = 20ms, .burst = 10}};
  s.server.latency = distribution(lognormal{50ms, 0.2});
  s.groups = {group{.work = batch{.requests = 200}, .poisoned_at = placing::random}};
  s.told = {.rate = 50};
  s.lasts = 48h;
  for (int const bad : {40, 60, 80}) {
    s.groups[0].poisoned = bad;
    EXPECT_LE(median(s, [](figures const& f) { return to_seconds(f.completion); }), 2 * 60) << bad;
  }
}

// A limit so far below the first pace that nearly all is refused is no share of refusals: some of
// these runs were refused 88 %.
TEST(crowd, of_one_is_not_held_above_a_low_limit) {
  scenario s{.name = "low", .about = {}};
  s.server.latency = distribution(lognormal{100ms, 0.3});
  s.groups = {group{.work = batch{.requests = 60}}};
  s.told = {.rate = .1};
  s.lasts = 12h;
  for (limit const& low : std::vector<limit>{
           token_bucket{.interval = 2s, .burst = 5}, token_bucket{.interval = 4s, .burst = 5},
           token_bucket{.interval = 6s, .burst = 2}, token_bucket{.interval = 6s, .burst = 10},
           fixed_window{.count = 10, .period = 60s}, sliding_window{.count = 10, .period = 60s}}) {
    s.server.limits = {low};
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      auto const f = simulate(s, *contender_named("seek"), {.seed = seed});
      EXPECT_LE(f.throttled, f.attempts / 2) << seed;
    }
  }
}

// A loop that works between its requests passed for a low demand, whose refusals cut nothing: it
// was refused 51 to 78 %.
TEST(crowd, of_one_loop_that_works_between_its_requests_finds_its_limit) {
  auto const throttled = [](figures const& f) {
    return static_cast<double>(f.throttled) / static_cast<double>(f.attempts);
  };
  for (auto const& [low, works, answer] : std::vector<std::tuple<limit, duration, duration>>{
           {token_bucket{.interval = 250ms, .burst = 4}, 10ms, 1ms},
           {token_bucket{.interval = 250ms, .burst = 4}, 100ms, 50ms},
           {token_bucket{.interval = 250ms, .burst = 4}, 200ms, 1ms},
           {token_bucket{.interval = 3s, .burst = 5}, 100ms, 50ms},
           {token_bucket{.interval = 20ms, .burst = 10}, 10ms, 1ms},
           {token_bucket{.interval = 100ms, .burst = 1}, 0ms, 1ms},
           {sliding_window{.count = 10, .period = 1s}, 50ms, 1ms}}) {
    scenario s{.name = "loop", .about = {}};
    s.server.limits = {low};
    s.server.latency = distribution(lognormal{answer, 0.3});
    s.groups = {group{.work = closed_loop{.workers = 1, .think = works, .requests = 500}}};
    s.told = {.rate = 1};
    s.lasts = 12h;
    EXPECT_LE(median(s, throttled), .16) << to_seconds(works) << " s, " << to_seconds(answer);
  }
}

// A client that asks evenly beside others is refused for what they do: it keeps its pace. Half of
// its requests took 350 s where one trial was enough.
TEST(crowd, of_others_does_not_slow_a_client_that_wants_little) {
  for (workload const& own :
       std::vector<workload>{open_arrivals{.rate = .1}, closed_loop{.workers = 1, .think = 10s}}) {
    scenario s{.name = "sparse", .about = {}};
    s.server.limits = {token_bucket{.interval = 1s, .burst = 5}};
    s.server.latency = distribution(lognormal{50ms, 0.2});
    s.groups = {
        group{.work = own},
        group{.law = "exponential-full", .work = open_arrivals{.rate = .8}, .background = true}};
    s.told = {.rate = 1};
    s.lasts = 2h;
    for (std::uint64_t seed = 1; seed <= 30; ++seed)
      EXPECT_LE(simulate(s, *contender_named("seek"), {.seed = seed}).p50, 2s) << seed;
  }
}

// Two loops of one process have most of a slot, 11 a second, and seem to want little. Where a law
// does not find that they want more (parts.excess), 250 of them are refused.
TEST(crowd, of_two_loops_on_a_slot_is_hardly_refused) {
  scenario s{.name = "slot", .about = {}};
  s.server.limits = {concurrency{.max_busy = 1}};
  s.server.latency = distribution(lognormal{50ms, 0.2});
  s.groups = {group{.work = closed_loop{.workers = 2, .think = 100ms, .requests = 1000}}};
  s.told = {.rate = 10};
  s.lasts = 1h;
  EXPECT_LE(median(s, [](figures const& f) { return to_seconds(f.completion); }), 130);
  EXPECT_LE(median(s, [](figures const& f) { return static_cast<double>(f.throttled); }), 130);
}

// Its worker is refused while it comes too soon after its last call, refused or not: 75 %.
TEST(crowd, of_one_worker_whose_answers_take_no_time_is_not_refused_for_ever) {
  scenario s{.name = "text 000", .about = {}};
  s.server.limits = {sliding_window{.count = 1, .period = 250ms, .counts_rejects = true}};
  s.server.latency = distribution(spread{0ms, 0ms});
  s.net = {.jitter = 0ns, .wakes_late = 0ns};
  s.groups = {group{.work = closed_loop{.workers = 1, .requests = 120}}};
  s.told = {.rate = 4};
  s.lasts = 1h;
  EXPECT_LE(median(s, [](figures const& f) { return static_cast<double>(f.throttled); }), 60);
}

}  // namespace
}  // namespace headway::sim
