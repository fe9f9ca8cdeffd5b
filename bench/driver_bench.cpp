// Nanoseconds per call of the drivers, clocks included, beside the floors of the same process.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "headway/driver/blocking.hpp"
#include "headway/driver/machine_governor.hpp"
#include "headway/driver/shared_pacer.hpp"
#include "headway/driver/timer_slack.hpp"

namespace {

using namespace headway;
using paced_governor = governor<constant_backoff, paced<gcra, fixed_window>>;
using paced_api = blocking::shared_governor<paced_governor>;

paced_governor at_rate(double per_second) {
  return paced_governor({}, {.pace = fixed_rate(per_second)}, {.first_alone = 0ns});
}

/// glibc's mutex is three times cheaper in a process that never had a second thread.
[[maybe_unused]] bool const threaded = [] {
  std::jthread([] {}).join();
  return true;
}();

void floor_two_clocks_two_locks(benchmark::State& state) {
  static std::mutex mutex;
  for (auto _ : state)
    for (int i = 0; i < 2; ++i) {
      benchmark::DoNotOptimize(steady_now());
      std::lock_guard const lock(mutex);
    }
}
BENCHMARK(floor_two_clocks_two_locks)->Threads(1)->Threads(2)->UseRealTime();

void floor_clock_and_cas(benchmark::State& state) {
  alignas(64) static std::atomic<std::int64_t> word = 0;
  for (auto _ : state) {
    auto const now = steady_now().time_since_epoch().count();
    auto seen = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
}
BENCHMARK(floor_clock_and_cas)->Threads(1)->Threads(2)->UseRealTime();

void shared_pacer_admit(benchmark::State& state) {
  static shared_pacer pace(gcra{.interval = 1ns});
  for (auto _ : state) benchmark::DoNotOptimize(pace.admit());
}
BENCHMARK(shared_pacer_admit)->Threads(1)->Threads(2)->UseRealTime();

/// One request at a limit that processes share; none is there but this one.
void machine_governor_request(benchmark::State& state) {
  auto const folder =
      std::filesystem::temp_directory_path() / ("headway-bench-" + std::to_string(getpid()));
  {
    machine_governor one("bench", {}, {.level = seek::rate_max}, folder);
    auto now = steady_now();
    for (auto _ : state) {
      auto const id = std::get<ticket>(one.submit(now += 1ms));
      one.expired(now);
      one.start(now, id, 0);
      one.finish(now, id, {}, 0);
    }
  }
  std::filesystem::remove_all(folder);
}
BENCHMARK(machine_governor_request);

/// One request: its turn, and the answer with its round-trip time.
void admit_and_settle(benchmark::State& state) {
  static paced_api api(at_rate(1e9));
  for (auto _ : state) std::get<paced_api::permit>(api.admit()).settle();
}
BENCHMARK(admit_and_settle)->Threads(1)->Threads(2)->UseRealTime();

/// The same with the default law, at the rate that it would come to here: no thread waits.
void admit_and_settle_default_law(benchmark::State& state) {
  static throttled api(default_governor({}, {.level = seek::rate_max}));
  for (auto _ : state) std::get<throttled::permit>(api.admit()).settle();
}
BENCHMARK(admit_and_settle_default_law)->Threads(1)->UseRealTime();

/// So many threads at a set rate: how near they come to it, in parts per million of it.
void set_rate(benchmark::State& state) {
  auto const rate = static_cast<double>(state.range(0));
  auto const threads = static_cast<int>(state.range(1));
  auto const calls = std::max<std::int64_t>(4, static_cast<std::int64_t>(2 * rate));
  for (auto _ : state) {
    paced_api api(at_rate(rate));
    std::atomic<std::int64_t> left = calls;
    std::mutex mutex;
    time_point first = never, last{};
    {
      std::vector<std::jthread> pool;
      for (int i = 0; i < threads; ++i)
        pool.emplace_back([&] {
          time_point mine_first = never, mine_last{};
          while (left.fetch_sub(1) > 0)
            api.call(
                [&] {
                  auto const now = steady_now();
                  mine_first = std::min(mine_first, now), mine_last = std::max(mine_last, now);
                },
                [] { return outcome::success; });
          std::lock_guard const lock(mutex);
          first = std::min(first, mine_first), last = std::max(last, mine_last);
        });
    }
    // the burst at the start is early by the tolerance; the rate is that of the rest
    auto const tolerance = fixed_rate(rate).burst_tolerance;
    auto const took = to_seconds(last - first + tolerance);
    auto const ideal = static_cast<double>(calls - 1) / rate;
    state.counters["off_ppm"] = (ideal / took - 1) * 1e6;
  }
}
BENCHMARK(set_rate)
    ->ArgNames({"rate", "threads"})
    ->Args({1, 2})
    ->Args({100, 4})
    ->Args({1'000, 4})
    ->Args({1'000, 1'000})
    ->Args({10'000, 4})
    ->Args({100'000, 16})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void report_lateness(benchmark::State& state, std::vector<double> late) {
  std::sort(late.begin(), late.end());
  state.counters["p50_us"] = late[late.size() / 2];
  state.counters["p99_us"] = late[late.size() * 99 / 100];
}

/// How late the system wakes a thread, in microseconds, a hundred times a second.
void floor_release_late(benchmark::State& state) {
  std::optional<blocking::timer_slack> slack;
  if (state.range(0) != 0) slack.emplace();
  std::vector<double> late;
  for (auto _ : state) {
    for (int i = 0; i < 200; ++i) {
      auto const due = steady_now() + 10ms;
      std::this_thread::sleep_for(10ms);
      late.push_back(to_seconds(steady_now() - due) * 1e6);
    }
  }
  report_lateness(state, late);
}

/// How late a thread goes that waited for its turn alone, in microseconds: at 100/s, as the pace
/// says.
void release_late(benchmark::State& state) {
  std::optional<blocking::timer_slack> slack;
  if (state.range(0) != 0) slack.emplace();
  paced_api api(at_rate(100));
  std::vector<double> late;
  auto last = never;
  for (auto _ : state) {
    for (int i = 0; i < 200; ++i) {
      auto const held = api.admit();
      auto const went = steady_now();
      auto const due = api.governor().law_state().ready_at(1) - 10ms;
      if (last != never) late.push_back(to_seconds(went - due) * 1e6);
      last = went;
    }
  }
  report_lateness(state, late);
}
void precise_or_not(benchmark::internal::Benchmark* b) {
  b->ArgName("precise")->Arg(0)->Arg(1)->Iterations(1)->UseRealTime()->Unit(
      benchmark::kMillisecond);
}
BENCHMARK(floor_release_late)->Apply(precise_or_not);
BENCHMARK(release_late)->Apply(precise_or_not);

}  // namespace
