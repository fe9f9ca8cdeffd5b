/// The throughput of a limit: what its server accepted, and how fast.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headway/time.hpp"
#include "pacing/rolling_count.hpp"

namespace headway::app {

/// Tells a rate that was kept up from one between two answers of a burst. Threads: a value.
class throughput {
 public:
  static constexpr duration window = 10s;

  /// A request that went at `sent` was accepted.
  void accepted(time_point now, time_point sent, double units) noexcept {
    if (units_ == 0) began_ = sent;
    units_ += units;
    last_ = now;
    lately_.add(now, units);
    most_lately_ = std::max(most_lately_, lately_.counted(now));
  }
  void refused() noexcept { ++refused_; }
  /// From now on requests wait for their turn, or none does.
  void waits(time_point now, bool any) noexcept {
    if (waits_) waited_ += std::max(now - looked_, 0ns);
    looked_ = now;
    waits_ = any;
  }

  std::int64_t refusals() const noexcept { return refused_; }
  /// Returns the most units per second over `window`, or over all the time where that is shorter,
  /// but for a second at least.
  double most() const noexcept {
    auto const all = last_ - began_;
    return all < window ? units_ / std::max(to_seconds(all), 1.0)
                        : most_lately_ / to_seconds(window);
  }
  /// Returns for how long requests waited for their turn, in all.
  duration waited() const noexcept { return waited_; }
  /// Returns the units per second of that time; 0 where it was shorter than `window`.
  double mean() const noexcept { return waited_ < window ? 0 : units_ / to_seconds(waited_); }

 private:
  rolling_count lately_{window * 31 / 32};  // it forgets up to 1/31 late
  double units_ = 0, most_lately_ = 0;
  std::int64_t refused_ = 0;
  time_point began_{}, last_{}, looked_{};
  duration waited_{};
  bool waits_ = false;
};

}  // namespace headway::app
