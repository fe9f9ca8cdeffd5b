#pragma once

#include <chrono>
#include <thread>

#include "headway/driver/entropy.hpp"
#include "headway/law/auto_sleeper.hpp"

namespace headway::blocking {

/// The AutoSleeper of seed text 000 in its original shape: after each call to the API, call one of
/// its two functions, which sleeps.
///
///   headway::blocking::auto_sleeper sleeper;
///   while (write(item).throttled()) sleeper.sleep_on_failure();
///   sleeper.sleep_on_success();
///
/// Threads: one object for each worker.
class auto_sleeper {
 public:
  /// Sleeps by `policy`; the same `seed` gives the same sleeps.
  explicit auto_sleeper(headway::auto_sleeper policy = {}, std::uint64_t seed = entropy())
      : policy_(policy), chance_(seed) {}

  /// Grows the interval after a throttled call, and sleeps for it.
  void sleep_on_failure() { std::this_thread::sleep_for(policy_.failed(chance_())); }
  /// Shrinks the interval, if due, after a served call, and sleeps for it.
  void sleep_on_success() { std::this_thread::sleep_for(policy_.succeeded(chance_())); }
  /// Returns the counts so far.
  headway::auto_sleeper::counters metrics() const noexcept { return policy_.metrics; }

 private:
  headway::auto_sleeper policy_;
  rng chance_;
};

}  // namespace headway::blocking
