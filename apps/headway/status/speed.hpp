/// A speed: how many a second, of late, or of all the time where it goes by fits and starts.
#pragma once

#include <cmath>
#include <cstdint>

#include "headway/time.hpp"

namespace headway::app {

/// What came in the last seconds counts most, or, where little comes, what came with the last few.
/// It begins when the first has come: what one waits for the first answer is no speed. Once nothing
/// could come for long, as at the end of a window, the mean of all counts. Threads: a value.
class speed {
 public:
  static constexpr double seconds = 5, few = 10, long_hold = 5;

  /// Takes how many came in a span of time.
  void add(duration span, std::int64_t came) noexcept {
    all_came_ += static_cast<double>(came);
    all_span_ += to_seconds(span);
    if (!begun_) {
      begun_ = came > 0;
      return;
    }
    auto const memory = std::fmax(seconds, came_ > 0 ? few * span_ / came_ : seconds);
    auto const kept = std::exp(-to_seconds(span) / memory);
    came_ = kept * came_ + static_cast<double>(came);
    span_ = kept * span_ + to_seconds(span);
  }

  /// Takes for how long from now on nothing can come.
  void hold(duration rest) noexcept {
    held_ = std::fmax(to_seconds(rest), 0);
    by_fits_ = by_fits_ || held_ > long_hold;
  }

  /// Returns 0 where there is none yet, or more was taken back than came.
  double per_second() const noexcept {
    if (by_fits_) return std::fmax(all_came_ / (all_span_ + held_), 0);
    return span_ > 0 ? std::fmax(came_ / span_, 0) : 0;
  }

 private:
  bool begun_ = false, by_fits_ = false;
  double came_ = 0, span_ = 0, all_came_ = 0, all_span_ = 0, held_ = 0;
};

}  // namespace headway::app
