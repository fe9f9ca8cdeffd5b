#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway {

/// Waits `initial` after the first failure and `multiplier` times more after each further one, at
/// most `cap`.
///
/// Exact at any attempt: no overflow at 10^6, logarithmic time. Requires: multiplier >= 1. Source:
/// seed text 000, "Exponential back off"; the delay of the first retry is initial * multiplier^0.
struct exponential_backoff {
  duration initial = 100ms;  ///< after the first failure
  double multiplier = 2.0;   ///< from one failure to the next
  duration cap = 20s;        ///< the most ever

  duration delay(int attempt, duration, fraction) const noexcept {
    if (initial <= 0ns) return 0ns;  // and not 0 × infinity
    auto grown = static_cast<double>(initial.count());
    auto factor = multiplier;
    for (auto n = static_cast<unsigned>(std::max(attempt, 0)); n > 0; n >>= 1, factor *= factor)
      if (n & 1) grown *= factor;
    return grown < static_cast<double>(cap.count()) ? duration(static_cast<std::int64_t>(grown))
                                                    : cap;
  }
  friend bool operator==(exponential_backoff const&, exponential_backoff const&) = default;
};
static_assert(backoff<exponential_backoff>);

}  // namespace headway
