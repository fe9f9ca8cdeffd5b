/// A speed: how many a second, of late.
#pragma once

#include <cmath>
#include <cstdint>

#include "headway/time.hpp"

namespace headway::app {

/// What came in the last seconds counts most, or, where little comes, what came with the last few.
/// It begins when the first has come: what one waits for the first answer is no speed. Threads: a
/// value.
class speed {
 public:
  static constexpr double seconds = 5, few = 10;

  /// Takes how many came in a span of time.
  void add(duration span, std::int64_t came) noexcept {
    if (!begun_) {
      begun_ = came > 0;
      return;
    }
    auto const memory = std::fmax(seconds, came_ > 0 ? few * span_ / came_ : seconds);
    auto const kept = std::exp(-to_seconds(span) / memory);
    came_ = kept * came_ + static_cast<double>(came);
    span_ = kept * span_ + to_seconds(span);
  }

  /// Returns 0 where there is none yet, or more was taken back than came.
  double per_second() const noexcept { return span_ > 0 ? std::fmax(came_ / span_, 0) : 0; }

 private:
  bool begun_ = false;
  double came_ = 0, span_ = 0;
};

}  // namespace headway::app
