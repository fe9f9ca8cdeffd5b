#pragma once

#include <limits>

#include "headway/law/paced.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/window/fixed.hpp"

namespace headway::sim {

/// Units in the same even spacing, of which one must be due and the rest is paid afterwards: no
/// cost is too large for it.
struct paid_later : gcra {
  time_point ready_at(std::int64_t) const noexcept { return gcra::ready_at(1); }
  friend bool operator==(paid_later const&, paid_later const&) = default;
};

/// The sender that knows the limit: paces evenly at `rate` a second, early by at most 1 ms, and
/// keeps at most `permits` out; zero: unbounded. Constant: it learns nothing.
/// Source: the measure of all others. No evenly paced sender does better than the limit plus one
/// latency.
struct told : paced<paid_later, headway::fixed_window> {
  explicit told(double rate = 0, double permits = 0) noexcept
      : paced{.pace = {{.interval = rate > 0 ? gcra::per(rate, 1s).interval : 0ns,
                        .burst_tolerance = 1ms}},
              .win = {permits > 0 ? permits : std::numeric_limits<int>::max()}} {}
};
static_assert(law<told>);

}  // namespace headway::sim
