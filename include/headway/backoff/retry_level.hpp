#pragma once

#include <algorithm>

namespace headway {

/// Tells how hard a whole scope backs off: one step up for each throttle, one step down after
/// `quiet_successes` successes in a row. A backoff takes level - 1 as its attempt. Source: seed
/// text 002: "after 10 un-throttled API requests … we can discount our retry".
struct retry_level {
  int quiet_successes = 10;  ///< in a row, for one step down
  int level = 0;             ///< 0: does not back off
  int quiet = 0;             ///< successes since the last step

  /// Steps up once and restarts the count of quiet successes.
  void on_throttle() noexcept {
    level = std::min(level + 1, 1'000'000);
    quiet = 0;
  }
  /// Counts a quiet success and steps down after enough of them.
  void on_success() noexcept {
    if (level == 0 || ++quiet < quiet_successes) return;
    --level;
    quiet = 0;
  }
  friend bool operator==(retry_level const&, retry_level const&) = default;
};

}  // namespace headway
