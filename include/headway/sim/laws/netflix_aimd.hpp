#pragma once

#include <algorithm>

#include "headway/sim/laws/windowed_limit.hpp"

namespace headway::sim {

/// One more when at least half of the limit was used, `backoff` of it on a drop or a timeout.
/// Source: Netflix concurrency-limits (78a74b9), AIMDLimit with its defaults.
struct netflix_aimd {
  int permits = 20;
  int permits_min = 20;
  int permits_max = 200;
  double backoff = 0.9;
  duration timeout = 5s;

  double allowed() const noexcept { return permits; }
  void update(duration rtt, int in_flight, bool dropped) noexcept {
    if (dropped || rtt > timeout)
      permits = static_cast<int>(permits * backoff);
    else if (in_flight * 2 >= permits)
      ++permits;
    permits = std::min(permits_max, std::max(permits_min, permits));
  }
  friend bool operator==(netflix_aimd const&, netflix_aimd const&) = default;
};

using netflix_aimd_law = windowed_limit<netflix_aimd>;
static_assert(law<netflix_aimd_law>);

}  // namespace headway::sim
