#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway {

/// Waits min(cap, random_between(base, 3 * previous)); the first `previous` is `base`. Source: seed
/// text 004, "Decorrelated Jitter"; AWS Architecture Blog 2015.
struct decorrelated_jitter {
  duration base = 100ms;  ///< the least
  duration cap = 20s;     ///< the most

  duration delay(int, duration previous, fraction u) const noexcept {
    auto const last = std::clamp(previous, base, std::max(base, cap));
    return std::min(cap, base + scale(std::min(last, duration::max() / 3) * 3 - base, u));
  }
  friend bool operator==(decorrelated_jitter const&, decorrelated_jitter const&) = default;
};
static_assert(backoff<decorrelated_jitter>);

}  // namespace headway
