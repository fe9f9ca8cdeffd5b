// A fleet in the simulator: one limit that many members share by turns.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headway/sim/simulation.hpp"

namespace headway::sim {
namespace {

scenario shared(int members, double rate, std::int64_t burst, std::int64_t requests) {
  scenario s{.name = "fleet", .about = {}};
  s.server.limits = {token_bucket{.interval = from_seconds(1 / rate), .burst = burst}};
  s.server.latency = spread{20ms, 80ms};
  s.groups = {group{.work = batch{.requests = requests}}};
  s.told = {.rate = rate};
  s.fleet = fleet_terms{.members = members};
  return s;
}

double share_throttled(figures const& f) {
  return static_cast<double>(f.throttled) / static_cast<double>(f.attempts);
}

/// Runs it under the audit; the time that is best is that of the sender that knows the limit.
/// Returns the share that was refused.
double expect_near_best(scenario const& s, double times, double throttled, std::uint64_t seed = 1) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto const best = simulate(s, *contender_named("told"), {.seed = seed});
  auto const f = simulate(s, *contender_named("seek"), {.seed = seed, .audit = true});
  EXPECT_TRUE(f.finished);
  EXPECT_LE(to_seconds(f.completion), times * to_seconds(best.completion));
  EXPECT_LE(share_throttled(f), throttled);
  EXPECT_GT(f.jain, 0.995);
  return share_throttled(f);
}

TEST(fleet, a_hundred_members_use_a_limit_nearly_as_well_as_one_that_knows_it) {
  expect_near_best(shared(100, 200, 20, 12'000), 1.06, 0.006);
}

TEST(fleet, so_do_four_hundred) {
  expect_near_best(shared(400, 200, 20, 12'000), 1.08, 0.006);
}

TEST(fleet, so_do_a_thousand) {
  expect_near_best(shared(1000, 200, 20, 12'000), 1.10, 0.006);
}

TEST(fleet, so_does_a_hundred_at_two_thousand_a_second) {
  auto const s = shared(100, 2000, 100, 120'000);
  std::vector<double> took;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {  // a first guess that is low costs a tenth
    auto const f = simulate(s, *contender_named("seek"), {.seed = seed, .audit = true});
    EXPECT_TRUE(f.finished);
    EXPECT_LE(share_throttled(f), 0.006);
    took.push_back(to_seconds(f.completion));
  }
  std::ranges::sort(took);
  auto const best = to_seconds(simulate(s, *contender_named("told")).completion);
  EXPECT_LE(took[1], 1.15 * best);
  EXPECT_LE(took[2], 1.25 * best);
}

TEST(fleet, so_do_a_thousand_at_two_thousand_a_second) {
  expect_near_best(shared(1000, 2000, 100, 120'000), 1.15, 0.006);
}

TEST(fleet, ten_climb_to_ten_thousand_a_second_as_one_does) {
  auto s = shared(10, 10'000, 500, 100'000);
  auto alone = s;
  alone.fleet.reset();
  auto const one = simulate(alone, *contender_named("seek"));
  auto const ten = simulate(s, *contender_named("seek"), {.audit = true});
  EXPECT_TRUE(ten.finished);
  EXPECT_LE(to_seconds(ten.completion), 1.3 * to_seconds(one.completion));
}

/// 41 seeds of it by one client and by the fleet: the median times.
std::pair<double, double> one_and_all(scenario const& s) {
  auto alone = s;
  alone.fleet.reset();
  std::vector<double> one, all;
  for (std::uint64_t seed = 1; seed <= 41; ++seed) {
    one.push_back(to_seconds(simulate(alone, *contender_named("seek"), {.seed = seed}).completion));
    auto const f = simulate(s, *contender_named("seek"), {.seed = seed, .audit = true});
    EXPECT_TRUE(f.finished);
    all.push_back(to_seconds(f.completion));
  }
  std::ranges::sort(one);
  std::ranges::sort(all);
  return {one[20], all[20]};
}

TEST(fleet, refusals_by_chance_are_told_from_a_limits_after_a_while) {
  auto s = shared(10, 200, 20, 6'000);
  s.net.misread = 0.02;  // good answers that are taken for refusals
  auto const [one, all] = one_and_all(s);
  EXPECT_LE(all,
            1.9 * one);  // 1.75, since pairs tell one client sooner; all take as long as before
}

TEST(fleet, so_are_they_by_a_hundred_of_which_some_are_active_at_once) {
  auto s = shared(100, 200, 20, 6'000);
  s.net.misread = 0.03;
  auto const [one, all] = one_and_all(s);
  EXPECT_LE(all, 1.8 * one);  // 1.51; 2.3
}

TEST(fleet, members_that_rest_ask_the_board_rarely) {
  auto const f = simulate(shared(400, 200, 20, 12'000), *contender_named("seek"));
  EXPECT_LE(static_cast<double>(f.exchanges), 1.4 * 400 * to_seconds(f.completion));  // 1.32; 1.78
}

// Of 101 seeds the median refuses .41 %, one in six more than .6 %.
TEST(fleet, a_way_of_twenty_milliseconds_to_the_board_costs_little) {
  auto s = shared(10, 200, 20, 6'000);
  s.fleet->round_trip = 20ms;
  std::vector<double> refused;
  for (std::uint64_t seed = 1; seed <= 9; ++seed)
    refused.push_back(expect_near_best(s, 1.1, 0.012, seed));
  std::ranges::sort(refused);
  EXPECT_LE(refused[4], 0.006);
}

TEST(fleet, the_way_to_the_board_may_be_half_a_second) {
  struct {
    duration way;
    double times, throttled;
  } const worlds[] = {{20ms, 1.1, 0.03},
                      {50ms, 1.15, 0.02},
                      {100ms, 1.2, 0.01},
                      {250ms, 1.3, 0.02},
                      {500ms, 1.6, 0.005}};
  for (auto const& [way, times, throttled] : worlds)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      auto s = shared(10, 200, 20, 12'000);
      s.fleet->round_trip = way;
      SCOPED_TRACE(std::to_string(to_seconds(way)) + " s, seed " + std::to_string(seed));
      auto const best = simulate(s, *contender_named("told"), {.seed = seed});
      auto const f = simulate(s, *contender_named("seek"), {.seed = seed, .audit = true});
      EXPECT_TRUE(f.finished);
      EXPECT_LE(to_seconds(f.completion), times * to_seconds(best.completion));
      EXPECT_LE(share_throttled(f), throttled);
    }
}

TEST(fleet, what_is_on_its_way_to_the_board_arrives_though_its_sender_sleeps) {
  auto s = shared(10, 200, 20, 6'000);
  auto sleepers = s.groups.front();
  sleepers.suspended_at = 5s;
  sleepers.suspended_for = 10s;
  s.groups.push_back(sleepers);
  auto const f = simulate(s, *contender_named("seek"), {.audit = true});
  EXPECT_TRUE(f.finished);
  EXPECT_LE(share_throttled(f), 0.01);
  EXPECT_LE(to_seconds(f.completion), 75);  // 60 s of work, and none lost while half of them sleep
}

TEST(fleet, a_retry_after_that_one_is_told_holds_all) {
  auto s = shared(20, 50, 5, 2'000);
  s.hints = telling::retry_after;
  auto const f = simulate(s, *contender_named("seek"), {.audit = true});
  EXPECT_TRUE(f.finished);
  EXPECT_LE(share_throttled(f), 0.03);
}

TEST(fleet, lost_messages_cost_little) {
  auto s = shared(100, 200, 20, 6'000);
  s.fleet->lost = 0.05;  // of the reports, and of the answers
  expect_near_best(s, 1.25, 0.01);
}

TEST(fleet, members_that_are_killed_leave_their_share_to_the_others) {
  auto s = shared(10, 200, 20, 12'000);
  auto doomed = s.groups.front();
  doomed.leaves = 10s;
  s.groups.push_back(doomed);
  s.lasts = 60s;
  std::vector<double> done;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    auto const f = simulate(s, *contender_named("seek"), {.seed = seed, .audit = true});
    done.push_back(static_cast<double>(f.done));
    EXPECT_LE(share_throttled(f), 0.006);
  }
  std::ranges::sort(done);
  EXPECT_GT(done[1], 0.94 * 60 * 200);
}

TEST(fleet, shares_slots_among_more_members_than_there_are_slots) {
  auto s = shared(32, 200, 20, 12'000);
  s.server.limits = {concurrency{.max_busy = 20}};
  s.server.latency = spread{100ms, 100ms};
  s.fleet->round_trip = 2ms;
  for (std::uint64_t seed = 1; seed <= 41; ++seed) expect_near_best(s, 1.07, 0.004, seed);
}

TEST(fleet, members_of_another_law_than_the_default_are_one_client) {
  auto s = shared(10, 200, 20, 500);
  auto const f = simulate(s, *contender_named("reno"));
  EXPECT_EQ(f.exchanges, 0);
  s.fleet.reset();
  EXPECT_EQ(simulate(s, *contender_named("reno")).digest, f.digest);
}

}  // namespace
}  // namespace headway::sim
