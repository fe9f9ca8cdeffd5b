#pragma once

#include "headway/backoff/exponential.hpp"

namespace headway {

/// Waits t / 2 + random_between(0, t / 2), where t = min(cap, base * 2^attempt). Source: seed text
/// 004, "Equal Jitter"; AWS Architecture Blog 2015.
struct equal_jitter {
  duration base = 100ms;  ///< the most after the first failure
  duration cap = 20s;     ///< the most ever

  duration delay(int attempt, duration, fraction u) const noexcept {
    auto const half = exponential_backoff{base, 2.0, cap}.delay(attempt, {}, u) / 2;
    return half + scale(half, u);
  }
  friend bool operator==(equal_jitter const&, equal_jitter const&) = default;
};
static_assert(backoff<equal_jitter>);

}  // namespace headway
