#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "headway/driver/clock.hpp"
#include "headway/driver/refused_error.hpp"
#include "headway/headway.hpp"

namespace headway {

/// Governors of a driver by scope, at most `scopes_max`. A new scope replaces the one least
/// recently asked for, unless that one is in use or its next request is not due yet. Threads: safe.
template <class Line>
class scopes {
 public:
  /// Makes the governor of each scope by `make`, with its key and a seed of its own, in one thread
  /// at a time.
  scopes(std::size_t scopes_max, std::uint64_t seed,
         std::function<std::shared_ptr<Line>(std::string_view key, std::uint64_t seed)> make)
      : seeds_(seed), kept_(scopes_max, [this, make = std::move(make)](std::string_view key) {
          return kept{make(key, seeds_.split()())};
        }) {}

  /// Returns the governor of `key`. Throws `refused_error` (`queue`, and until when) if all places
  /// are taken.
  std::shared_ptr<Line> at(std::string_view key) {
    auto const now = steady_now();
    std::lock_guard const lock(mutex_);
    auto* const found = kept_.at(now, key);
    if (!found) throw refused_error({reason::queue, kept_.room_at()});
    return found->owner;
  }
  /// Holds all scopes that begin with `prefix`, present and future, until `until`.
  void hold(std::string_view prefix, time_point until) {
    auto const now = steady_now();
    std::lock_guard const lock(mutex_);
    kept_.hold(now, prefix, until);
  }

 private:
  /// Interface that `keyed` needs, to know whether a governor may be evicted.
  struct kept {
    std::shared_ptr<Line> owner;
    int in_flight() const noexcept { return 0; }  // a request that waits or flies holds it
    long waiting() const noexcept { return owner.use_count() - 1; }
    time_point busy_until() const { return owner->busy_until(); }
    void hold(time_point until) { owner->hold(until); }
  };

  std::mutex mutex_;
  rng seeds_;
  keyed<kept> kept_;
};

}  // namespace headway
