#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway {

/// Waits `interval` longer after each failure, at most `cap`: 1 s, 2 s, 3 s, …
///
/// Counts failures instead of adding to the last delay: the sequence is the same, and a falling
/// shared retry level shortens it. Source: seed text 000, "Linear back off".
struct linear_backoff {
  duration interval = 1s;  ///< more with each failure
  duration cap = 60s;      ///< the most ever

  duration delay(int attempt, duration, fraction) const noexcept {
    auto const failures = std::int64_t{std::max(attempt, 0)} + 1;
    return interval > cap / failures ? cap : interval * failures;
  }
  friend bool operator==(linear_backoff const&, linear_backoff const&) = default;
};
static_assert(backoff<linear_backoff>);

}  // namespace headway
