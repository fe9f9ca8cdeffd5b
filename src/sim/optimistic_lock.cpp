#include "headway/sim/optimistic_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "headway/sim/event_queue.hpp"
#include "headway/sim/sampling.hpp"

namespace headway::sim {
namespace {

/// A request arrives at the server: a read of the version, or a write that has seen one.
struct arrival {
  std::uint32_t client = 0;
  bool writes = false;
};

struct writer {
  std::int64_t seen = 0;
  int attempt = 0;
  duration last_delay{};
};

}  // namespace

lock_figures simulate(optimistic_lock const& s, std::uint64_t seed) {
  rng chance(seed);
  auto const one_way = [&] {
    auto const off = static_cast<double>(s.delay_deviation.count()) * normal(chance());
    auto const exact = static_cast<double>(s.delay_mean.count()) + off;
    return from_nanoseconds(exact < 0 ? -exact : exact);
  };
  std::vector<writer> writers(static_cast<std::size_t>(s.clients), {.attempt = s.first_attempt});
  event_queue<arrival> arrivals;
  for (std::uint32_t i = 0; i < writers.size(); ++i)
    arrivals.push(time_point(one_way()), {.client = i});

  lock_figures f;
  std::int64_t version = 0;
  while (!arrivals.empty()) {
    auto const [now, a] = arrivals.pop();
    auto& w = writers[a.client];
    auto const answered = now + one_way();
    if (!a.writes) {
      w.seen = version;
      arrivals.push(answered + one_way(), {.client = a.client, .writes = true});
      continue;
    }
    ++f.calls;
    if (w.seen == version) {
      ++version;
      f.time = std::max(f.time, answered.time_since_epoch());
      continue;
    }
    w.last_delay = s.backoff.delay(w.attempt++, w.last_delay, chance());
    arrivals.push(later(answered, w.last_delay) + one_way(), {.client = a.client});
  }
  return f;
}

}  // namespace headway::sim
