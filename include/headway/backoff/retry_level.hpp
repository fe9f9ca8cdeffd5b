#pragma once

#include <algorithm>

namespace headway {

/// How hard a whole scope is backing off: one step up for each throttle, one step down after
/// `quiet_successes` successes in a row without one. Handed to a backoff as its attempt (level -
/// 1). Source: seed text 002: "after 10 un-throttled API requests … we can discount our retry".
struct retry_level {
  int quiet_successes = 10;  ///< in a row, for one step down
  int level = 0;             ///< 0: does not back off
  int quiet = 0;             ///< successes since the last step

  /// One step up; the quiet begins anew.
  void on_throttle() noexcept {
    level = std::min(level + 1, 1'000'000);
    quiet = 0;
  }
  /// One quiet success more.
  void on_success() noexcept {
    if (level == 0 || ++quiet < quiet_successes) return;
    --level;
    quiet = 0;
  }
  friend bool operator==(retry_level const&, retry_level const&) = default;
};

}  // namespace headway
