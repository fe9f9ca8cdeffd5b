// Many random worlds under the simulator's audit: nothing is lost, sent too early, or forgotten.
//
// HEADWAY_OPERATIONS: so many attempts in all (10^7 unless it says otherwise; 10^9 is the long
// mode).

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "headway/sim/simulation.hpp"

namespace headway::sim {
namespace {

class world_maker {
 public:
  explicit world_maker(std::uint64_t seed) : chance_(seed) {}

  scenario make() {
    scenario s{.name = "random", .about = {}};
    for (auto i = pick(3); i >= 0; --i) s.server.limits.push_back(any_limit());
    if (one_in(4))
      s.server.schedule = {{time_point(5s), any_limit()}, {time_point(8s), unlimited{}}};
    if (one_in(4)) s.server.schedule.push_back({time_point(20s), outage{}});
    if (one_in(4)) s.server.drifts = {.every = 100ms};
    if (one_in(8)) s.server.refusal = symptom::failure;
    s.server.latency = any_latency();
    if (one_in(3)) s.server.slowdowns = {{time_point(4s), 10}};
    s.server.error_latency = milliseconds(0, 100);
    if (one_in(3)) s.server.failures = 0.05;
    if (one_in(4)) s.server.hints = {.factor = one_in(2) ? 0.0 : 3.0, .offset = -1s};
    s.hints = static_cast<telling>(pick(3));
    s.net.connect = milliseconds(0, 100);
    if (one_in(3)) s.net.lost = 0.02, s.net.timeout = 1s;
    if (one_in(3)) s.net.misread = 0.02;
    s.groups.clear();
    for (auto i = pick(2); i >= 0; --i) s.groups.push_back(any_group());
    s.groups.front().background = false;
    s.told = {.rate = 50, .window = 20};
    s.lasts = 60s;
    if (one_in(2)) s.first_alone = 0ns;
    return s;
  }
  contender const& any_law() {
    return contenders()[static_cast<std::size_t>(pick(static_cast<int>(contenders().size())))];
  }

 private:
  int pick(int count) { return static_cast<int>(chance_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return pick(count) == 0; }
  duration milliseconds(int least, int most) {
    return std::chrono::milliseconds(least + pick(most - least + 1));
  }

  limit any_limit() {
    switch (pick(8)) {
      case 0:
        return concurrency{.max_busy = 1 + pick(50), .error_holds = milliseconds(0, 50)};
      case 1:
        return fixed_window{.count = 20 + pick(100), .period = milliseconds(500, 5000)};
      case 2:
        return sliding_window{.count = 20 + pick(50), .period = 1s, .counts_rejects = one_in(2)};
      case 3:
        return queue{.servers = 1 + pick(20), .waiting_max = pick(100)};
      case 4:
        return ban{.rejects = 5 + pick(20), .period = 5s, .lasts = 5s};
      case 5:
        return table_capacity{.interval = milliseconds(1, 10)};
      case 6:
        return slope{.interval = milliseconds(1, 20), .period = 5s, .burst = 1 + pick(20)};
      default:
        return token_bucket{.interval = milliseconds(2, 50), .burst = 1 + pick(20)};
    }
  }
  distribution any_latency() {
    switch (pick(3)) {
      case 0:
        return exponential{milliseconds(1, 300)};
      case 1:
        return lognormal{milliseconds(1, 300), 2};
      default:
        return spread{milliseconds(1, 50), milliseconds(50, 300)};
    }
  }
  group any_group() {
    group g{
        .clients = 1 + pick(5), .joins = milliseconds(0, 5000), .stagger = milliseconds(0, 300)};
    if (one_in(3)) g.leaves = 30s;
    if (one_in(3)) g.cost_mean = 2, g.cost_cv = 1, g.cost_known = one_in(2);
    if (one_in(4)) g.sdk_retries = 3;
    if (one_in(4)) g.suspended_at = 10s, g.suspended_for = milliseconds(100, 5000);
    if (one_in(3)) g.law = any_law().name;
    switch (pick(3)) {
      case 0:
        g.work = batch{.requests = 1 + pick(2000), .rate = one_in(2) ? 100.0 : 0.0};
        break;
      case 1:
        g.work = open_arrivals{.rate = 1.0 + pick(100), .on = 1s, .off = 1s};
        break;
      default:
        g.work = closed_loop{.workers = 1 + pick(50),
                             .think = milliseconds(0, 20),
                             .requests = one_in(2) ? 500 : closed_loop{}.requests};
    }
    if (auto const* b = std::get_if<batch>(&g.work); b != nullptr && one_in(3)) {
      g.poisoned = std::min<std::int64_t>(b->requests, 1 + pick(8));
      g.poisoned_at = static_cast<placing>(pick(4));
      g.poisoned_shows = static_cast<symptom>(pick(3));
    }
    g.background = one_in(3);
    return g;
  }

  rng chance_;
};

TEST(operations, ten_million_without_a_break) {
  char const* const wanted = std::getenv("HEADWAY_OPERATIONS");
  auto const operations = wanted != nullptr ? std::atoll(wanted) : 10'000'000LL;
  std::int64_t attempts = 0, worlds = 0, ended_early = 0;
  for (std::uint64_t seed = 1; attempts < operations; ++seed) {
    SCOPED_TRACE("world " + std::to_string(seed));
    world_maker maker(seed);
    auto const s = maker.make();
    auto const& law = maker.any_law();
    figures f;
    try {
      f = simulate(s, law, {.seed = seed, .events_max = 3'000'000, .audit = true});
    } catch (std::runtime_error const&) {  // a law that hammers
      ++ended_early;
      continue;
    } catch (std::logic_error const& broken) {
      FAIL() << law.name << ": " << broken.what();
    }
    ASSERT_LE(f.done + f.given_up, f.requests) << law.name;
    ASSERT_TRUE(!f.finished || f.done + f.given_up == f.requests) << law.name;
    ASSERT_LE(f.done + f.throttled + f.broken, f.attempts) << law.name;
    attempts += f.attempts;
    ++worlds;
  }
  std::printf("%lld attempts in %lld worlds; %lld more were ended early\n",
              static_cast<long long>(attempts), static_cast<long long>(worlds),
              static_cast<long long>(ended_early));
}

}  // namespace
}  // namespace headway::sim
