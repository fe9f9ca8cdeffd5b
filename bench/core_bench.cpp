// Nanoseconds per decision, time passed in, beside the floors of the same process.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "headway/headway.hpp"
#include "headway/law/paced.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/window/fixed.hpp"

namespace {

using namespace headway;

void floor_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(std::chrono::steady_clock::now());
}
BENCHMARK(floor_clock);

void floor_draw(benchmark::State& state) {
  rng chance(1);
  for (auto _ : state) benchmark::DoNotOptimize(chance());
}
BENCHMARK(floor_draw);

void gcra_decision(benchmark::State& state) {
  auto pace = gcra::per(1e6, 1s, 10);
  time_point now{};
  for (auto _ : state) {
    now += 1us;
    benchmark::DoNotOptimize(pace.ready_at(1));
    pace.take(now, 1);
  }
}
BENCHMARK(gcra_decision);

void full_jitter_delay(benchmark::State& state) {
  full_jitter const policy;
  rng chance(1);
  for (auto _ : state) benchmark::DoNotOptimize(policy.delay(7, {}, chance()));
}
BENCHMARK(full_jitter_delay);

/// submit, next, start and finish of one request, with `waiting` others in the queue.
template <class Governor>
void whole_cycle(benchmark::State& state) {
  Governor governor{{}, {}, {.queue_max = 1U << 21}};
  rng chance(1);
  time_point now{};
  auto const waiting = state.range(0);
  for (std::int64_t i = 0; i < waiting; ++i) governor.submit(now);
  for (auto _ : state) {
    benchmark::DoNotOptimize(governor.submit(now));
    auto turn = governor.next(now);
    while (!turn) {
      now = governor.wakeup(now);
      turn = governor.next(now);
    }
    governor.start(now, *turn, chance());
    now += 1us;
    benchmark::DoNotOptimize(governor.finish(now, *turn, {}, chance()));
  }
}
BENCHMARK(whole_cycle<default_governor>)->Arg(0)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(whole_cycle<any_governor>)->Arg(0);

/// The instants at which sleepers wake: the earliest wakes, and sleeps again for up to a second.
void floor_heap(benchmark::State& state) {
  using sleeper = std::pair<time_point, std::uint64_t>;
  std::priority_queue<sleeper, std::vector<sleeper>, std::greater<>> asleep;
  full_jitter const nap{.base = 1s, .cap = 1s};
  rng chance(1);
  time_point now{};
  std::uint64_t sequence = 0;
  while (sequence < static_cast<std::uint64_t>(state.range(0)))
    asleep.emplace(now + nap.delay(0, {}, chance()), sequence++);
  for (auto _ : state) {
    auto const first = asleep.top();
    asleep.pop();
    now = std::max(now, first.first);
    asleep.emplace(now + nap.delay(0, {}, chance()), first.second);
  }
}
BENCHMARK(floor_heap)->Arg(1'000)->Arg(1'000'000);

/// The same of requests that fail each time: the earliest is sent, fails, and sleeps again.
void sleeping_retries(benchmark::State& state) {
  auto const count = static_cast<std::size_t>(state.range(0));
  governor<full_jitter, paced<unpaced, fixed_window>> governor{
      {.base = 1s, .cap = 1s},
      {.win = {.permits = 1}},
      {.attempts_max = std::numeric_limits<int>::max(),
       .queue_max = count,
       .first_alone = 0ns,
       .budget = {.per_second = 1e12, .balance_max = 1e12, .balance = 1e12}}};
  rng chance(1);
  time_point now{};
  auto const fails = [&] {
    auto const turn = *governor.next(now);
    governor.start(now, turn, chance());
    benchmark::DoNotOptimize(governor.finish(now, turn, {outcome::failure}, chance()));
  };
  for (std::size_t i = 0; i < count; ++i) {
    governor.submit(now);
    fails();
  }
  for (auto _ : state) {
    now = governor.wakeup(now);
    fails();
  }
}
BENCHMARK(sleeping_retries)->Arg(1'000)->Arg(1'000'000);

}  // namespace
