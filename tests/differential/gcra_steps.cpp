// gcra and shared_pacer on random schedules, printed for x_time_rate.go to repeat:
//
//   schedule INTERVAL BURST
//   NOW COST WAIT          nanoseconds; WAIT is zero when it was taken, `never` above the burst
//   end SCHEDULES

#include <algorithm>
#include <cstdio>

#include "headway/driver/shared_pacer.hpp"
#include "headway/random.hpp"
#include "headway/require.hpp"
#include "schedules.hpp"

namespace {

using namespace headway;

/// From 1 to 10^digits_max, small ones as often as great ones.
std::int64_t any_size(rng& draw, int digits_max) {
  std::uint64_t most = 10;
  for (auto digits = draw() % static_cast<unsigned>(digits_max); digits > 0; --digits) most *= 10;
  return static_cast<std::int64_t>(1 + draw() % most);
}

/// When to ask next: anywhere, or where a pacer is most likely to be wrong, at the edge.
time_point step(rng& draw, gcra const& pace, time_point now, time_point ready) {
  if (ready != never && ready > now) {
    if (draw() % 4 == 0) return ready;
    if (draw() % 8 == 0) return std::max(now, ready - 2ns);
  }
  auto const span = pace.interval * (draw() % 4 == 0 ? any_size(draw, 3) : 1);
  return now + scale(span, draw());
}

void schedule(rng& draw) {
  auto const burst = any_size(draw, 3);
  duration const interval{any_size(draw, 10)};
  gcra pace{.interval = interval, .burst_tolerance = interval * (burst - 1)};
  shared_pacer shared(pace);
  std::printf("schedule %ld %ld\n", interval.count(), burst);
  auto ready = never;
  time_point now{1s};
  for (int i = 0; i < 20; ++i) {
    now = step(draw, pace, now, ready);
    auto const cost = draw() % 2 == 0 ? 1 : 1 + any_size(draw, 3) % (burst + 1);
    ready = pace.ready_at(cost);
    HEADWAY_REQUIRE(shared.admit(now, cost) == ready);
    if (ready <= now) pace.take(now, cost);
    if (ready == never)
      std::printf("%ld %ld never\n", now.time_since_epoch().count(), cost);
    else
      std::printf("%ld %ld %ld\n", now.time_since_epoch().count(), cost,
                  std::max(ready - now, duration(0)).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return print_schedules(argc, argv, schedule);
}
