/// A rolling count: how much went lately.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "headway/time.hpp"

namespace headway::app {

/// Counts what went in a window that ends now, so that no window of the server's, whenever it
/// begins, has more. Forgets a slice of the window at a time, up to 1/31 of it late. Threads: a
/// value.
class rolling_count {
 public:
  /// Requires: 1 ms <= window <= 366 days.
  explicit rolling_count(duration window) noexcept
      : window_(window), slice_((window + duration(covering - 1)) / covering) {}

  duration window() const noexcept { return window_; }
  /// So much goes now.
  void add(time_point now, double units) noexcept {
    auto const slot = slot_of(now);
    if (slot - newest_ >= slots) sent_.fill(0);
    for (auto n = std::max(newest_ + 1, slot - slots + 1); n <= slot; ++n) at(n) = 0;
    newest_ = std::max(newest_, slot);
    at(newest_) += units;
  }
  /// When `units` more may go, with at most `most` in a window; now where they may at once, and
  /// when nothing else is counted where they are too many.
  time_point ready_at(time_point now, double units, double most) const noexcept {
    auto left = counted(now);
    auto until = now;
    for (auto n = oldest(now); n <= newest_ && left > 0 && left + units > most * (1 + 1e-9); ++n) {
      left -= at(n);
      until = time_point(slice_ * n);  // slots later, and counted from `slots`
    }
    return until;
  }
  /// Returns how much went in the window.
  double counted(time_point now) const noexcept {
    double all = 0;
    for (auto n = oldest(now); n <= newest_; ++n) all += at(n);
    return all;
  }

 private:
  static constexpr std::int64_t slots = 32;
  static constexpr std::int64_t covering = slots - 1;  // the newest is not over

  /// From `slots` on, so that none before it is below zero.
  std::int64_t slot_of(time_point t) const noexcept {
    return slots + t.time_since_epoch() / slice_;
  }
  std::int64_t oldest(time_point now) const noexcept {
    return std::max(newest_, slot_of(now)) - slots + 1;
  }
  double& at(std::int64_t n) noexcept { return sent_[static_cast<std::size_t>(n % slots)]; }
  double at(std::int64_t n) const noexcept { return sent_[static_cast<std::size_t>(n % slots)]; }

  duration window_;
  duration slice_;
  std::array<double, slots> sent_{};
  std::int64_t newest_ = slots;
};

}  // namespace headway::app
