#pragma once

#include <limits>

#include "headway/law/paced.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/window/fixed.hpp"

namespace headway::sim {

/// The sender that knows the limit: paces evenly at `rate` a second, early by at most 1 ms, and
/// keeps at most `permits` out; zero: unbounded. Constant: it learns nothing.
/// Source: the measure that all others are held to. No evenly paced sender does better than the
/// limit plus one latency.
struct told : paced<gcra, headway::fixed_window> {
  explicit told(double rate = 0, double permits = 0) noexcept
      : paced{.pace = {.interval = rate > 0 ? gcra::per(rate, 1s).interval : 0ns,
                       .burst_tolerance = 1ms},
              .win = {permits > 0 ? permits : std::numeric_limits<int>::max()}} {}
};
static_assert(law<told>);

}  // namespace headway::sim
