#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>
#include <utility>

#include "headway/time.hpp"

namespace headway::sim {

/// Responses per second, smoothed, anew with the first response of each half second.
/// Source: botocore 1.43, retries/adaptive.py, RateClocker: smoothing 0.8, buckets of 0.5 s.
struct measured_rate {
  using half_seconds = std::chrono::duration<std::int64_t, std::ratio<1, 2>>;

  double rate = 0;
  half_seconds bucket{};
  std::int64_t count = 0;

  static constexpr double smoothing = 0.8;

  /// Begins the first bucket with the whole second.
  void start(time_point now) noexcept {
    bucket = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  }
  void record(time_point now) noexcept {
    ++count;
    auto const current = std::chrono::floor<half_seconds>(now.time_since_epoch());
    if (current <= bucket) return;
    auto const span = std::chrono::duration<double>(current - std::exchange(bucket, current));
    auto const recent = static_cast<double>(std::exchange(count, 0)) / span.count();
    rate = recent * smoothing + rate * (1 - smoothing);
  }
  friend bool operator==(measured_rate const&, measured_rate const&) = default;
};

}  // namespace headway::sim
