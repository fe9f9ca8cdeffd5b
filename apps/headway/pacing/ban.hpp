/// A ban: a server that has throttled, and then refuses the caller.
#pragma once

#include <algorithm>

#include "headway/time.hpp"

namespace headway::app {

/// Tells a 403 that is a ban, and passes, from one that is about the request. A ban begins right
/// after throttles: nothing that was sent since the last of them has been served. Threads: a value.
class ban {
 public:
  /// A request that went at `sent` was throttled, or banned.
  void throttled(time_point now, time_point sent) noexcept {
    if (!throttles()) since_ = now;
    throttled_ = std::max(throttled_, sent);
  }
  /// One was served.
  void served(time_point sent) noexcept { served_ = std::max(served_, sent); }

  /// Returns whether a status that answered says so; not for longer than `patience`, and not where
  /// nothing was ever served.
  bool says(int status, time_point now, duration patience) const noexcept {
    return (status == 403 || status == 418) && served_ != nothing && throttles() &&
           now <= later(since_, patience);
  }

 private:
  static constexpr auto nothing = time_point::min();
  bool throttles() const noexcept { return throttled_ != nothing && throttled_ >= served_; }

  // The last request that was throttled, and that was served; when the former began.
  time_point throttled_ = nothing, served_ = nothing, since_{};
};

}  // namespace headway::app
