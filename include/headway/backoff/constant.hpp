#pragma once

#include "headway/policy.hpp"

namespace headway {

/// Waits the same time after each failure. Source: seed text 000's linear back off with interval 0.
struct constant_backoff {
  duration wait = 1s;  ///< after each failure

  duration delay(int, duration, fraction) const noexcept { return wait; }
  friend bool operator==(constant_backoff const&, constant_backoff const&) = default;
};
static_assert(backoff<constant_backoff>);

}  // namespace headway
