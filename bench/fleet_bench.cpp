// A step of a fleet's combiner, and the bytes that its board keeps.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headway/fleet/blob.hpp"
#include "headway/fleet/combine.hpp"

namespace {

using namespace headway;
using namespace headway::fleet;

constexpr time_point start(1000s);

/// A state of so many members, and what they tell in the tenth of a second after it: a request each
/// has gone, and its answer has come.
struct busy {
  state before;
  std::vector<report> reports;

  explicit busy(member_id members) {
    before.law.remember({.rate = 20.0 * members, .latency = 0.05}, 0s);
    std::uint64_t number = 0;
    for (auto now = start; now < start + 1s; now += 100ms) {
      ++number;
      for (member_id id = 1; id <= members; ++id) tell(id, number, now);
      if (now < start + 900ms) before = combine(std::move(before), reports, now);
      if (now < start + 900ms) reports.clear();
    }
  }

  void tell(member_id id, std::uint64_t number, time_point now) {
    report r{.from = id, .number = number, .at = now, .wants = 5, .quick = true};
    for (auto const& t : grant_of(before, id).turns) {
      if (t.at > now || !r.events.empty()) break;
      event e{.what = event::kind::sent, .out = 1, .turn = t.number, .at = t.at};
      r.events.push_back(e);
      e.what = event::kind::success;
      e.at = std::min(now, t.at + 50ms);
      r.events.push_back(e);
    }
    reports.push_back(r);
  }
};

void combine_step(benchmark::State& run) {
  busy const fleet(static_cast<member_id>(run.range(0)));
  std::size_t answers = 0;
  for (auto const& r : fleet.reports) answers += r.events.size() / 2;
  for (auto _ : run) {
    auto copy = fleet.before;
    benchmark::DoNotOptimize(combine(std::move(copy), fleet.reports, start + 901ms));
  }
  run.counters["answers"] = static_cast<double>(answers);
}
BENCHMARK(combine_step)->Arg(32)->Arg(1000)->Unit(benchmark::kMicrosecond);

void state_to_bytes_and_back(benchmark::State& run) {
  busy const fleet(static_cast<member_id>(run.range(0)));
  std::size_t bytes = 0;
  for (auto _ : run) {
    auto const blob = to_blob(fleet.before);
    bytes = blob.size();
    benchmark::DoNotOptimize(read_state(blob));
  }
  run.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(state_to_bytes_and_back)->Arg(32)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace
