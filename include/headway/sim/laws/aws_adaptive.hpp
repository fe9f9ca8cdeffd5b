#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "headway/policy.hpp"
#include "headway/sim/laws/cubic_rate.hpp"
#include "headway/sim/laws/measured_rate.hpp"

namespace headway::sim {

/// The throttles that cut.
enum class cuts : std::uint8_t {
  each_throttle,  ///< as published: a flight of 50 that is refused leaves 0.7^50 of the rate
  one_a_flight,   ///< those sent after the last cut; the others are measured, and change nothing
};

/// The "adaptive" retry mode of the AWS SDKs: a token bucket, off until the first throttle and
/// never off again. Its fill follows CUBIC but stays below twice the measured rate of responses.
///
/// As published it is exempt from two of our rules: every throttle cuts, and while the application
/// is the bottleneck the fill still grows up to twice what is measured. An attempt takes one token
/// whatever it costs, and there is no window: SDKs leave that to their connection pool.
/// Units: rates in attempts per second.
/// Source: botocore 1.43, retries/adaptive.py, ClientRateLimiter, and retries/bucket.py,
/// TokenBucket (at least 0.5/s, capacity at least 1).
template <cuts Cuts>
struct aws_rate_limiter {
  bool enabled = false;
  double fill = 1;
  double capacity = 1;  ///< one second of the fill
  double tokens = 0;
  time_point refilled{};
  cubic_rate cubic{};
  measured_rate measured{};
  std::uint64_t epoch = 0;
  bool started = false;

  static constexpr double fill_min = 0.5;
  static constexpr double capacity_min = 1;
  static constexpr double measured_factor = 2;

  time_point ready_at(std::int64_t) const noexcept {
    if (!enabled) return time_point::min();
    return tokens >= 1 ? refilled : later(refilled, from_seconds((1 - tokens) / fill) + 1ns);
  }
  double allowed() const noexcept { return std::numeric_limits<int>::max(); }

  stamp take(time_point now, std::int64_t, fraction) noexcept {
    if (!started) start(now);
    refill(now);
    if (enabled) tokens = std::max(0.0, tokens - 1);
    return {.sent = now, .epoch = epoch};
  }
  void on_success(time_point now, sample const&, fraction) noexcept {
    measured.record(now);
    set_rate(now, cubic.on_success(now));
  }
  void on_throttle(time_point now, sample const& s, resource, fraction) noexcept {
    measured.record(now);
    if (Cuts == cuts::one_a_flight && s.sent.epoch != epoch) return;
    ++epoch;
    auto const rate = enabled ? std::min(measured.rate, fill) : measured.rate;
    enabled = true;
    set_rate(now, cubic.on_throttle(now, rate));
  }
  /// Follows every response that is not a throttle, as botocore's rate does.
  void on_failure(time_point now, sample const& s, fraction u) noexcept { on_success(now, s, u); }
  void on_hint(time_point, hint const&) noexcept {}
  friend bool operator==(aws_rate_limiter const&, aws_rate_limiter const&) = default;

 private:
  void start(time_point now) noexcept {
    started = true;
    refilled = now;
    cubic.last_throttle = now;
    measured.start(now);
  }
  void refill(time_point now) noexcept {
    tokens = std::min(capacity, tokens + to_seconds(now - refilled) * fill);
    refilled = now;
  }
  void set_rate(time_point now, double rate) noexcept {
    rate = std::min(rate, measured_factor * measured.rate);
    refill(now);
    fill = std::max(rate, fill_min);
    capacity = std::max(rate, capacity_min);
    tokens = std::min(tokens, capacity);
  }
};
using aws_adaptive = aws_rate_limiter<cuts::each_throttle>;
using aws_adaptive_one_cut = aws_rate_limiter<cuts::one_a_flight>;
static_assert(law<aws_adaptive> && law<aws_adaptive_one_cut>);

}  // namespace headway::sim
