/// What came of the latest attempts of a scope.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "headway/outcome.hpp"

namespace headway::app {

/// Threads: a value.
class lately {
 public:
  static constexpr int most = 20;  ///< attempts

  /// Takes an attempt that has ended. `error`: what went wrong, if anything did.
  void add(outcome what, std::string_view error);

  /// Attempts, at most `most`, and how many of them broke or were throttled.
  int attempts() const noexcept { return attempts_; }
  int broken() const noexcept { return std::popcount(broken_); }
  int throttled() const noexcept { return std::popcount(throttled_); }
  /// The last one was.
  bool ends_throttled() const noexcept { return (throttled_ & 1U) != 0; }

  /// What went wrong with the last one that broke or was throttled, of all.
  std::string const& broke_by() const noexcept { return broke_by_; }
  std::string const& throttled_by() const noexcept { return throttled_by_; }

 private:
  int attempts_ = 0;
  std::uint32_t broken_ = 0, throttled_ = 0;  // a bit each, the last one lowest
  std::string broke_by_{}, throttled_by_{};
};

}  // namespace headway::app
