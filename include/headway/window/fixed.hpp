#pragma once

#include "headway/policy.hpp"

namespace headway {

/// Allows a constant number of permits. Source: the thread pool of each client that knows no
/// better; seed text 003 calls it max outstanding requests.
struct fixed_window {
  double permits = 64;  ///< at once

  double allowed() const noexcept { return permits; }
  void on_success(time_point, sample const&) noexcept {}
  void on_throttle(time_point, sample const&) noexcept {}
  friend bool operator==(fixed_window const&, fixed_window const&) = default;
};
static_assert(window<fixed_window>);

}  // namespace headway
