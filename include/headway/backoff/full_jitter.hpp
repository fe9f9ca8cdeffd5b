#pragma once

#include "headway/backoff/exponential.hpp"

namespace headway {

/// Waits random_between(0, min(cap, base * 2^attempt)). Source: seed text 004, "Full Jitter"; AWS
/// Architecture Blog 2015.
struct full_jitter {
  duration base = 100ms;  ///< the most after the first failure
  duration cap = 20s;     ///< the most ever

  duration delay(int attempt, duration, fraction u) const noexcept {
    return scale(exponential_backoff{base, 2.0, cap}.delay(attempt, {}, u), u);
  }
  friend bool operator==(full_jitter const&, full_jitter const&) = default;
};
static_assert(backoff<full_jitter>);

}  // namespace headway
