#pragma once

#include <algorithm>

#include "headway/backoff/exponential.hpp"
#include "headway/backoff/proportional_jitter.hpp"
#include "headway/policy.hpp"

namespace headway {

/// Sets no pace while the server accepts anything; after some cuts in a row it waits, ever longer.
///
/// For laws that are a window only: a window cannot be smaller than one request, so that a server
/// that refuses all at once would be asked as fast as it refuses. Source: none; seed text 003 has
/// no floor, and ours is one request (docs/deviations.md). The waits are those of the law
/// `exponential`.
struct hesitant {
  int free = 4;  ///< cuts in a row without a wait: the window shrinks

  int row = 0;                          ///< cuts since the last success
  time_point next = time_point::min();  ///< not before this

  static constexpr proportional_jitter<exponential_backoff> wait{
      .inner = {.initial = 50ms, .multiplier = 2, .cap = 30s},
      .randomization_factor = 0.5,
      .max_randomization = 15s};  ///< after each further one

  time_point ready_at(std::int64_t) const noexcept { return next; }
  void take(time_point, std::int64_t) noexcept {}
  void on_success(time_point, sample const&) noexcept { row = 0; }
  void on_throttle(time_point now, sample const&, fraction u) noexcept {
    if (row < free)
      ++row;
    else
      next = std::max(next, later(now, wait.delay(row++ - free, {}, u)));
  }
  friend bool operator==(hesitant const&, hesitant const&) = default;
};
static_assert(pacer<hesitant>);

}  // namespace headway
