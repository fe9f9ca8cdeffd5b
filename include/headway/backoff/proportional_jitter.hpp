#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway {

/// Returns `interval` ± `factor` × `interval`, with a half-width of at most `half_width_max`;
/// returns it unchanged if the factor is zero. Source: seed text 000, getNextRandomInterval,
/// operation for operation.
inline double randomised(double interval, double factor, duration half_width_max,
                         fraction u) noexcept {
  if (factor == 0) return interval;
  auto const half_width = std::min(factor * interval, static_cast<double>(half_width_max.count()));
  return interval - half_width + 2 * half_width * unit(u);
}

/// Spreads the delay of another backoff by ± `randomization_factor` of it, with a half-width of at
/// most `max_randomization`. Source: seed text 000, "RandomizationFactor".
template <backoff B>
struct proportional_jitter {
  B inner{};                          ///< the backoff to spread
  double randomization_factor = 0.3;  ///< half-width as a share of the delay
  duration max_randomization = 2min;  ///< half-width at most

  duration delay(int attempt, duration previous, fraction u) const noexcept {
    auto const exact = inner.delay(attempt, previous, derive(u, 0));
    return from_nanoseconds(
        randomised(static_cast<double>(exact.count()), randomization_factor, max_randomization, u));
  }
  friend bool operator==(proportional_jitter const&, proportional_jitter const&) = default;
};

}  // namespace headway
