#pragma once

#include <chrono>
#include <random>
#include <thread>

#include "headway/law/auto_sleeper.hpp"

namespace headway::blocking {

/// The AutoSleeper of seed text 000 in its own shape: call one of the two after every call to the
/// API; it sleeps.
///
///   headway::blocking::auto_sleeper sleeper;
///   while (write(item).throttled()) sleeper.sleep_on_failure();
///   sleeper.sleep_on_success();
///
/// Threads: one object for each worker.
class auto_sleeper {
 public:
  /// `seed`: the same one gives the same sleeps.
  explicit auto_sleeper(headway::auto_sleeper policy = {},
                        std::uint64_t seed = std::random_device{}())
      : policy_(policy), chance_(seed) {}

  /// After a throttled call: the interval grows. Blocks for it.
  void sleep_on_failure() { std::this_thread::sleep_for(policy_.failed(chance_())); }
  /// After a call that was served: the interval may shrink. Blocks for it.
  void sleep_on_success() { std::this_thread::sleep_for(policy_.succeeded(chance_())); }
  /// What it has counted so far.
  headway::auto_sleeper::counters metrics() const noexcept { return policy_.metrics; }

 private:
  headway::auto_sleeper policy_;
  rng chance_;
};

}  // namespace headway::blocking
