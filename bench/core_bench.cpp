// Nanoseconds per decision, time passed in, beside the floors of the same process.

#include <benchmark/benchmark.h>

#include <chrono>

#include "headway/headway.hpp"

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

}  // namespace
