#pragma once

#include <atomic>
#include <limits>

#include "headway/driver/clock.hpp"
#include "headway/pacer/gcra.hpp"

namespace headway {

/// Paces a known rate, and slots if wanted, for any number of threads: GCRA in one atomic. It never
/// waits, queues or learns; a thread that is not admitted hears when to ask again. Lock-free.
///
///   headway::shared_pacer pace(headway::gcra::per(50, 1s, 10));
///   while ((at = pace.admit()) > headway::steady_now()) sleep_until(at);
///
/// Threads: safe. No thread is promised a turn: see blocking::shared_governor for an order. Source:
/// ITU-T I.371 Annex A, by a compare-and-swap of the theoretical arrival time.
class shared_pacer {
 public:
  static constexpr int unlimited = std::numeric_limits<int>::max();  ///< slots: only the rate binds

  /// Paces by `pace`, with at most `slots` attempts out at once; each must be released.
  explicit shared_pacer(gcra const& pace, int slots = unlimited) noexcept
      : pace_(pace), slots_(slots), tat_(pace.tat.time_since_epoch().count()) {}

  /// Takes `cost` units and a slot if they conform, and then returns an instant not after `now`.
  /// Else takes nothing and returns when to ask again: `never` if the cost exceeds the burst, or if
  /// all slots are taken, which only a release() changes. Requires: cost >= 1.
  time_point admit(time_point now, std::int64_t cost = 1) noexcept {
    if (slots_ != unlimited && in_flight_.load(std::memory_order_relaxed) >= slots_) return never;
    auto before = tat_.load(std::memory_order_relaxed);
    for (;;) {
      auto pace = pace_;
      pace.tat = time_point(duration(before));
      auto const at = pace.ready_at(cost);
      if (at > now) return at;
      pace.take(now, cost);
      if (!tat_.compare_exchange_weak(before, pace.tat.time_since_epoch().count(),
                                      std::memory_order_relaxed))
        continue;
      if (slots_ == unlimited || take_slot()) return at;
      tat_.fetch_sub(pace_.interval.count() * cost, std::memory_order_relaxed);  // gives them back
      return never;
    }
  }
  /// Takes one unit, now.
  time_point admit() noexcept { return admit(steady_now()); }

  /// Gives a slot back. Requires: one admitted and not yet released.
  void release() noexcept {
    if (slots_ != unlimited) in_flight_.fetch_sub(1, std::memory_order_release);
  }

  /// Returns the slots taken; zero if they are unlimited.
  int in_flight() const noexcept { return in_flight_.load(std::memory_order_relaxed); }

 private:
  bool take_slot() noexcept {
    auto taken = in_flight_.load(std::memory_order_relaxed);
    while (taken < slots_)
      if (in_flight_.compare_exchange_weak(taken, taken + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed))
        return true;
    return false;
  }

  gcra const pace_;
  int const slots_;
  alignas(64) std::atomic<duration::rep> tat_;  // of one cache line with what goes with it
  std::atomic<int> in_flight_ = 0;
};

}  // namespace headway
