// Events per second of whole simulations, beside the bare event queue with as many pending.

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "headway/sim/event_queue.hpp"
#include "headway/sim/simulation.hpp"

namespace {

using namespace headway;

/// Takes the earliest and pushes another, up to `pending` a time unit later.
void floor_event_queue(benchmark::State& state) {
  auto const pending = static_cast<int>(state.range(0));
  sim::event_queue<std::uint32_t> queue;
  rng chance(1);
  auto const later_by = [&] { return duration(static_cast<std::int64_t>(chance() >> 34)); };
  for (int i = 0; i < pending; ++i) queue.push(time_point(later_by()), 0);
  for (auto _ : state) {
    auto const [at, event] = queue.pop();
    queue.push(at + later_by(), event);
  }
  state.SetItemsProcessed(state.iterations());
}

double peak_memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) * 1024;
}

/// `clients` that have 1,000 requests out together, on a server with room for 990 of them.
void simulated(benchmark::State& state, char const* law) {
  auto const clients = static_cast<int>(state.range(0));
  auto const total = std::max(clients, 1000);
  sim::scenario s;
  s.server.limits = {sim::token_bucket{.interval = duration(20'000'000 / total), .burst = 100}};
  s.server.latency = sim::spread{20ms};
  s.server.error_latency = 20ms;
  s.groups[0].clients = clients;
  s.groups[0].work = sim::closed_loop{.workers = total / clients};
  s.told = {.rate = total / 0.02 / clients};
  s.lasts = total > 1000 ? 1s : 30s;
  auto const before = peak_memory();
  std::int64_t events = 0;
  for (auto _ : state) events += simulate(s, *sim::contender_named(law)).events;
  state.SetItemsProcessed(events);
  if (clients == 100'000) state.counters["bytes_per_client"] = (peak_memory() - before) / clients;
}
BENCHMARK_CAPTURE(simulated, seek, "seek")->Arg(100'000)->Arg(1000)->Arg(1);
BENCHMARK_CAPTURE(simulated, reno, "reno")->Arg(100'000)->Arg(1000)->Arg(1);
BENCHMARK_CAPTURE(simulated, told, "told")->Arg(1);
BENCHMARK(floor_event_queue)->Arg(100)->Arg(1000)->Arg(100'000);

}  // namespace
