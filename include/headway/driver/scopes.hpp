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

/// A driver's governors by scope, at most `scopes_max`. A new one takes the place of the one least
/// recently asked for, unless somebody holds it, or a server hint or its own pace does. Threads:
/// safe.
template <class Line>
class scopes {
 public:
  /// `make` is called with the key of each scope and a seed of its own, by one thread at a time.
  scopes(std::size_t scopes_max, std::uint64_t seed,
         std::function<std::shared_ptr<Line>(std::string_view key, std::uint64_t seed)> make)
      : seeds_(seed), kept_(scopes_max, [this, make = std::move(make)](std::string_view key) {
          return kept{make(key, seeds_.split()())};
        }) {}

  /// Throws `refused_error` (`queue`, and until when) when all places are taken.
  std::shared_ptr<Line> at(std::string_view key) {
    auto const now = steady_now();
    std::lock_guard const lock(mutex_);
    auto* const found = kept_.at(now, key);
    if (!found) throw refused_error({reason::queue, kept_.room_at()});
    return found->owner;
  }
  /// The server said so of every scope that begins with `prefix`, also of those to come.
  void hold(std::string_view prefix, time_point until) {
    auto const now = steady_now();
    std::lock_guard const lock(mutex_);
    kept_.hold(now, prefix, until);
  }

 private:
  /// What `keyed` asks of a governor, to know whether it may be evicted.
  struct kept {
    std::shared_ptr<Line> owner;
    int in_flight() const noexcept { return 0; }  // whoever waits or flies holds it
    long waiting() const noexcept { return owner.use_count() - 1; }
    time_point busy_until() const { return owner->busy_until(); }
    void hold(time_point until) { owner->hold(until); }
  };

  std::mutex mutex_;
  rng seeds_;
  keyed<kept> kept_;
};

}  // namespace headway
