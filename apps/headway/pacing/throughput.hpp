/// The throughput of a limit: what its server accepted, and how fast.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headway/time.hpp"
#include "pacing/cycles.hpp"
#include "pacing/in_order.hpp"
#include "pacing/rolling_count.hpp"
#include "pacing/slots_seen.hpp"

namespace headway::app {

/// Tells a rate that was kept up from one between two answers of a burst. Threads: a value.
class throughput {
 public:
  static constexpr duration window = 10s;

  /// Takes that a request goes. Returns the number of that attempt.
  std::uint64_t sent(time_point now) { return order_.sent(now); }
  /// Takes that one of so many units was accepted that went at `sent`.
  void accepted(time_point now, std::uint64_t number, time_point sent, double units) {
    if (units_ == 0) began_ = sent;
    units_ += units;
    last_ = now;
    lately_.add(now, units);
    most_lately_ = std::max(most_lately_, lately_.counted(now));
    look(number, {.answered = now, .units = units});
  }
  /// Takes that one was refused. `hinted`: with the time after which to come back.
  void refused(time_point now, std::uint64_t number, bool hinted) {
    ++refused_;
    look(number, {.answered = now, .refused = true, .hinted = hinted});
  }
  /// Takes that one ended in another way.
  void forget(std::uint64_t number) { order_.forget(number), look(); }
  /// From now on requests wait for their turn, or none does.
  void waits(time_point now, bool any) noexcept {
    auto const since = std::max(now - looked_, 0ns);
    if (waits_)
      waited_ += since;
    else if (since > idle && looked_ != time_point{})
      cycles_.idle();
    looked_ = now;
    waits_ = any;
  }

  /// What it accepted between refusals.
  cycles const& between() const noexcept { return cycles_; }
  /// What was out at refusals.
  slots_seen const& slots() const noexcept { return slots_; }

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
  static constexpr duration idle = 100ms;  // in which no request waits

  void look(std::uint64_t number, tried const& how) {
    order_.ended(number, how);
    look();
  }
  void look() {
    while (auto const next = order_.next()) {
      cycles_.take(*next);
      slots_.take(*next);
    }
  }

  in_order order_{};
  cycles cycles_{};
  slots_seen slots_{};
  rolling_count lately_{window * 31 / 32};  // it forgets up to 1/31 late
  double units_ = 0, most_lately_ = 0;
  std::int64_t refused_ = 0;
  time_point began_{}, last_{}, looked_{};
  duration waited_{};
  bool waits_ = false;
};

}  // namespace headway::app
