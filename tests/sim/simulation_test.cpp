// The simulator itself: seed 003's own figures, the same run twice, and nothing that hangs.

#include "headway/sim/simulation.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

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
  EXPECT_EQ(all, 139173881272954309U);  // seen from g++ and clang, -O0 to -O3
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

/// Four processors that 600 requests of 200 ms share; nothing is lost on the way.
scenario processors() {
  scenario s{.name = "processors", .about = {}};
  s.server.limits = {shared{4}};
  s.server.latency = spread{200ms};
  s.net = {.jitter = 0ns, .wakes_late = 0ns};
  s.groups = {group{.work = batch{.requests = 600}}};
  s.told = {.rate = 20, .window = 4};
  s.lasts = 10min;
  s.first_alone = 0ns;
  return s;
}

TEST(simulation, of_shared_processors_takes_the_time_of_the_work) {
  auto s = processors();
  EXPECT_EQ(run(s, "hammer").completion, 30s);  // all at once
  auto const told = run(s, "told");
  EXPECT_NEAR(to_seconds(told.server_p99), 0.2, 0.01);
  EXPECT_NEAR(to_seconds(told.completion), 30, 0.3);
  s.net.jitter = 5ms;
  for (auto const* const law : {"seek", "told", "aws-adaptive", "exponential-full"}) {
    auto const audited = simulate(s, *contender_named(law), {.seed = 7, .audit = true});
    EXPECT_EQ(audited.done, 600) << law;
    EXPECT_EQ(run(s, law, 7), audited) << law;
  }
}

TEST(simulation, a_timeout_before_shared_processors_is_a_gateway_s_patience) {
  auto s = processors();
  s.attempts_max = 1;
  s.net.timeout = 5s;
  auto const all = run(s, "hammer");
  EXPECT_EQ(all.broken, 600);
  EXPECT_EQ(all.given_up, 600);
  EXPECT_TRUE(all.finished);
  s.net.timeout = 31s;
  EXPECT_EQ(run(s, "hammer").broken, 0);
  auto gateway = s;
  gateway.net.timeout.reset();
  std::get<shared>(gateway.server.limits[0]).patience = 5s;
  EXPECT_EQ(run(gateway, "hammer"), all);
}

TEST(simulation, an_answer_of_shared_processors_may_be_lost_or_misread) {
  auto s = processors();
  s.net.lost = 0.1;
  s.net.timeout = 1s;
  auto const f = run(s, "told");
  EXPECT_EQ(f.done, 600);
  EXPECT_NEAR(static_cast<double>(f.broken), 67, 30);
  s.net = {.misread = 0.1};
  EXPECT_NEAR(static_cast<double>(run(s, "told").throttled), 67, 30);
}

/// 100 requests a second that take 50 ms.
scenario bucket() {
  scenario s{.name = "bucket", .about = {}};
  s.server.limits = {token_bucket{.interval = 10ms, .burst = 10}};
  s.server.latency = spread{50ms};
  s.told = {.rate = 90};
  s.lasts = 5min;
  return s;
}

TEST(simulation, a_loop_with_an_end_ends) {
  auto s = bucket();
  s.groups = {group{.clients = 3, .work = closed_loop{.workers = 4, .requests = 50}}};
  s.told.rate = 30;
  auto const f = run(s, "told");
  EXPECT_TRUE(f.finished);
  EXPECT_EQ(f.done, 150);
}

// Seed text 002: "the SDK itself already retries 3 times".
TEST(simulation, an_sdk_that_retries_hides_throttles_from_the_law_and_sends_more) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 300}}};
  auto const bare = run(s, "exponential-full");
  s.groups[0].sdk_retries = 3;
  auto const hidden = run(s, "exponential-full");
  EXPECT_EQ(hidden.done, 300);
  EXPECT_EQ(hidden.attempts, 300 + hidden.throttled);
  EXPECT_GT(hidden.throttled, 0);
  EXPECT_NE(hidden.attempts, bare.attempts);
}

TEST(simulation, a_suspended_machine_goes_on_where_it_was_and_does_not_rush) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 1000}}};
  auto const awake = run(s, "told");
  s.groups[0].suspended_at = 2s;
  s.groups[0].suspended_for = 60s;
  auto const slept = run(s, "told");
  EXPECT_EQ(slept.done, 1000);
  EXPECT_EQ(slept.throttled, 0);
  EXPECT_NEAR(to_seconds(slept.completion - awake.completion), 60, 0.2);
}

TEST(simulation, a_cost_that_the_client_knows_is_paced_for) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 300}, .cost_mean = 5}};
  EXPECT_GT(run(s, "told").throttled, 0);
  s.groups[0].cost_known = true;
  auto const f = run(s, "told");
  EXPECT_EQ(f.done, 300);
  EXPECT_EQ(f.throttled, 0);
}

TEST(simulation, the_others_are_done_beside_requests_that_are_always_refused) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 1500}, .poisoned = 8}};
  auto const told = run(s, "told");
  EXPECT_TRUE(told.finished);
  EXPECT_EQ(told.attempts, 1492);
  EXPECT_EQ(told.throttled, 0);
  for (auto const at : {placing::spread, placing::start, placing::middle}) {
    s.groups[0].poisoned_at = at;
    auto const f = run(s, "exponential-full");
    EXPECT_TRUE(f.finished);
    EXPECT_EQ(f.requests, 1500);
    EXPECT_EQ(f.done, 1492);
    EXPECT_EQ(f.given_up, 8);
    EXPECT_GE(f.poisoned_most, 3);
    EXPECT_GE(f.poisoned_attempts, 8 * 3);
    EXPECT_LE(f.poisoned_attempts, 8 * f.poisoned_most);
  }
}

TEST(simulation, poison_lies_where_the_scenario_puts_it) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 10, .rate = 1}, .poisoned = 2}};
  s.lasts = 3500ms;  // three requests: of ten, the third and the eighth are poisoned
  EXPECT_EQ(run(s, "exponential-full").given_up, 1);
  s.groups[0].poisoned_at = placing::start;
  EXPECT_EQ(run(s, "exponential-full").given_up, 2);
  s.groups[0].poisoned_at = placing::middle;  // the fifth and the sixth
  EXPECT_EQ(run(s, "exponential-full").given_up, 0);
  s.lasts = 6500ms;
  EXPECT_EQ(run(s, "exponential-full").given_up, 2);
  s.groups = {group{.work = batch{.requests = 250}, .poisoned = 2, .poisoned_at = placing::start}};
  s.lasts = 1min;
  EXPECT_EQ(run(s, "exponential-full").done, 248);
  auto const f = run(s, "auto-sleeper");  // a pool of 100 workers
  EXPECT_EQ(f.given_up, 2);
  EXPECT_EQ(f.done, 248);
}

TEST(simulation, poison_at_random_is_as_much_on_average_and_other_with_each_seed) {
  auto s = bucket();
  s.groups = {
      group{.work = batch{.requests = 1000}, .poisoned = 100, .poisoned_at = placing::random}};
  std::set<std::int64_t> met;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const f = run(s, "told", seed);
    EXPECT_EQ(f.done + f.given_up, 1000);
    met.insert(f.given_up);
    sum += static_cast<double>(f.given_up);
  }
  EXPECT_NEAR(sum / 20, 100, 8);
  EXPECT_GT(met.size(), 5U);
}

TEST(simulation, a_poisoned_request_that_ends_leaves_the_next_one_clean) {
  auto s = bucket();
  s.server.limits = {unlimited{}};
  s.groups = {group{.work = closed_loop{.workers = 2, .requests = 50},
                    .poisoned = 5,
                    .poisoned_shows = symptom::failure}};
  auto const f = run(s, "exponential-full");
  EXPECT_EQ(f.done, 45);
  EXPECT_EQ(f.poisoned_attempts, 5 * s.attempts_max);
  EXPECT_EQ(f.poisoned_most, s.attempts_max);
}

TEST(simulation, a_request_that_no_limit_has_room_for_is_poisoned) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 300}, .cost_mean = 5, .cost_cv = 0.5}};
  s.told.rate = 15;
  auto const f = run(s, "told");
  EXPECT_TRUE(f.finished);
  EXPECT_GT(f.given_up, 0);  // more than the ten units of the bucket
  EXPECT_EQ(f.done + f.given_up, 300);
  EXPECT_EQ(f.poisoned_attempts, 0);
  EXPECT_GT(run(s, "exponential-full").poisoned_attempts, f.given_up);
}

TEST(simulation, what_breaks_is_given_up_as_headway_run_does) {
  auto s = bucket();
  s.groups = {group{.work = batch{.requests = 1000}}};
  s.server.failures = 0.5;
  auto const f = run(s, "exponential-full");
  EXPECT_TRUE(f.finished);
  EXPECT_NEAR(static_cast<double>(f.given_up), 1000 * 0.0625, 25);  // four failures in a row
  EXPECT_EQ(f.done + f.given_up, 1000);
  EXPECT_EQ(run(s, "told").given_up, 0);
  s.attempts_max = 1;
  EXPECT_NEAR(static_cast<double>(run(s, "exponential-full").given_up), 500, 60);
  // About as many retries as first attempts: a tenth of them are paid for by successes alone.
  s.attempts_max = 1000;
  s.budget = {.ratio = 0.1, .per_second = 0, .balance_max = 1, .balance = 1};
  EXPECT_GT(run(s, "exponential-full").given_up, 400);
}

using heard_at = std::vector<std::pair<duration, bool>>;

/// With requests that come at once, on a wire that takes no time.
figures run_at_once(scenario s, std::int64_t requests, std::size_t points_max) {
  s.net.connect = s.net.jitter = s.net.wakes_late = 0ns;
  s.groups = {group{.work = batch{.requests = requests}}};
  s.told = {.rate = 0, .window = 100};
  s.first_alone = 0ns;
  return simulate(s, *contender_named("told"), {.points_max = points_max});
}

/// When the first `most` answers are heard, and which of them are good.
heard_at heard(scenario const& s, std::int64_t requests, std::size_t most) {
  heard_at all;
  for (auto const& p : run_at_once(s, requests, most).points) all.emplace_back(p.at, p.served);
  return all;
}

TEST(simulation, what_has_no_answer_at_the_timeout_has_failed_served_or_waiting) {
  scenario s{.name = "a queue", .about = {}};
  s.server.limits = {queue{.servers = 1, .waiting_max = 100}};
  s.server.latency = spread{1s};
  EXPECT_EQ(heard(s, 4, 4), (heard_at{{1s, true}, {2s, true}, {3s, true}, {4s, true}}));
  s.net.timeout = 2500ms;  // when it works on the third; it works on the fourth, too
  EXPECT_EQ(heard(s, 4, 5),
            (heard_at{{1s, true}, {2s, true}, {2500ms, false}, {2500ms, false}, {5s, true}}));
  s.net.timeout = 2s;
  EXPECT_EQ(heard(s, 3, 3), (heard_at{{1s, true}, {2s, true}, {2s, false}}));
  s.net.timeout = 4s;
  EXPECT_EQ(heard(s, 4, 4), (heard_at{{1s, true}, {2s, true}, {3s, true}, {4s, true}}));
}

TEST(simulation, an_answer_that_is_lost_is_given_up_at_the_timeout_or_after_a_minute) {
  scenario s{.name = "lost", .about = {}};
  s.net.lost = 1;
  s.server.latency = spread{2min};
  EXPECT_EQ(heard(s, 1, 1), (heard_at{{1min, false}}));
  s.net.timeout = 3s;
  EXPECT_EQ(heard(s, 1, 1), (heard_at{{3s, false}}));
  s.net.lost = 0;
  s.server.head = distribution(spread{1s});  // it comes, and then too little
  EXPECT_EQ(heard(s, 1, 1), (heard_at{{3s, false}}));
  s.lasts = 2s;
  auto const events = run_at_once(s, 1, 1).events;
  s.server.head.reset();
  EXPECT_EQ(run_at_once(s, 1, 1).events, events - 1);
  s.lasts = 1h;
  s.net.timeout.reset();
  EXPECT_EQ(heard(s, 1, 1), (heard_at{{2min, true}}));
}

TEST(simulation, some_clients_are_nearer_than_others) {
  auto s = bucket();
  s.net = {.connect = 1s, .jitter = 0ns, .wakes_late = 0ns};
  s.groups = {group{.clients = 3, .work = batch{.requests = 1}, .connect = spread{0ms, 200ms}}};
  auto f = run(s, "told");
  EXPECT_EQ(f.completion, 250ms);  // the farthest, and 50 ms of work
  EXPECT_NEAR(to_seconds(f.p50), 0.15, 0.01);
  s.groups[0].connect.reset();
  EXPECT_EQ(run(s, "told").completion, 1050ms);
}

TEST(simulation, compares_the_shares_of_those_that_were_there_to_the_end) {
  auto s = bucket();
  s.server.limits = {unlimited{}};
  s.lasts = 10min;
  s.told.rate = 1000;
  auto const at = [](double rate) {
    return group{.work = open_arrivals{.rate = rate, .poisson = false}};
  };
  s.groups = {at(30), at(10), at(90), at(90)};
  s.groups[2].leaves = 9min;
  s.groups[3].joins = 6min;
  auto const f = run(s, "told");
  EXPECT_NEAR(f.jain_late, 40.0 * 40 / (2 * (30 * 30 + 10 * 10)), 1e-3);
  EXPECT_NEAR(f.smallest_share, 10 * 2 / 40.0, 1e-3);
  s.groups = {at(30)};
  EXPECT_EQ(run(s, "told").jain_late, 1);
}

TEST(simulation, capacity_drifts_with_the_seed) {
  auto s = bucket();
  s.server.limits.clear();
  s.server.schedule = {{time_point{}, token_bucket{.interval = 10ms, .burst = 10}}};
  s.server.drifts = {.every = 100ms, .step = 0.1};
  s.told.rate = 110;
  EXPECT_NE(run(s, "told", 1).throttled, run(s, "told", 2).throttled);
}

TEST(simulation, no_law_guesses_where_the_server_tells_what_remains) {
  auto s = bucket();
  s.server.limits = {fixed_window{.count = 300, .period = 1min}};
  s.groups = {group{.work = batch{.requests = 1500}}};
  s.lasts = 1h;
  for (auto const* law : {"seek", "adaptive-rate"}) {
    s.hints = telling::nothing;
    EXPECT_GT(run(s, law).throttled, 0) << law;
    s.hints = telling::remaining;
    auto const f = run(s, law);
    EXPECT_EQ(f.throttled, 0) << law;
    EXPECT_LT(f.completion, 4min + 10s) << law;  // the fifth window of 300 opens after 4 minutes
  }
}

// That the comparison of two runs can fail: this law takes its rate from an address.
TEST(simulation, a_source_of_chance_shows) {
  std::vector<std::unique_ptr<int>> kept;
  contender const by_address{
      .name = "by address", .what = {}, .make = [&](scenario const&) -> client_governor {
        kept.push_back(std::make_unique<int>());
        auto const address = reinterpret_cast<std::uintptr_t>(kept.back().get());
        return default_governor({}, seek{.level = 20 + static_cast<double>(address % 4096)},
                                {.queue_max = 1'000'000});
      }};
  EXPECT_NE(simulate(seed_003(), by_address).digest, simulate(seed_003(), by_address).digest);
}

}  // namespace
}  // namespace headway::sim
