#pragma once

#include <algorithm>

#include "headway/policy.hpp"

namespace headway::sim {

/// Netflix's averaging: a limit hears of whole seconds with at least ten samples: their mean
/// latency, the most that were out, and whether any was dropped.
///
/// A second is its unit of a cut, not a flight. A throttle is a drop; a failure is ignored. Where
/// Netflix counts those out when a sample is sent, we count when its answer comes: the second's
/// maximum is the same.
/// Source: Netflix concurrency-limits (78a74b9), WindowedLimit and ImmutableAverageSampleWindow
/// with their defaults (the window is clamp(2 · minimum latency, 1 s, 1 s), samples under 100 µs do
/// not count); ConcurrencyLimitClientInterceptor for what is a drop.
template <class Limit>
struct windowed_limit {
  Limit inner{};
  time_point next_update = time_point::min();
  duration rtt_sum{};
  int samples = 0;
  int in_flight_max = 0;
  bool dropped = false;

  static constexpr duration window = 1s;
  static constexpr duration rtt_min = 100us;
  static constexpr int samples_min = 10;

  time_point ready_at(std::int64_t) const noexcept { return time_point::min(); }
  double allowed() const noexcept { return inner.allowed(); }
  stamp take(time_point now, std::int64_t, fraction) noexcept { return {.sent = now}; }
  void on_success(time_point now, sample const& s, fraction) noexcept { add(now, s, false); }
  void on_throttle(time_point now, sample const& s, resource, fraction) noexcept {
    add(now, s, true);
  }
  void on_failure(time_point, sample const&, fraction) noexcept {}
  void on_hint(time_point, hint const&) noexcept {}
  friend bool operator==(windowed_limit const&, windowed_limit const&) = default;

 private:
  void add(time_point now, sample const& s, bool drop) noexcept {
    if (s.rtt < rtt_min) return;
    rtt_sum += s.rtt;
    ++samples;
    in_flight_max = std::max(in_flight_max, s.in_flight);
    dropped |= drop;
    if (now <= next_update) return;
    if (samples >= samples_min) inner.update(rtt_sum / samples, in_flight_max, dropped);
    *this = {.inner = inner, .next_update = later(now, window)};
  }
};

}  // namespace headway::sim
