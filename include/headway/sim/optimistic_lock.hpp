/// Optimistic concurrency: after a conflict a client backs off and reads the row again.
///
/// The simulation that made jitter known: the server never refuses and has no limit, each client
/// writes once. So it tells the cost of a backoff in calls and in time, and nothing about rate
/// limits (without any backoff it is over first). Source: AWS Architecture Blog 2015, "Exponential
/// Backoff And Jitter", and its aws-arch-backoff-simulator.
#pragma once

#include <cstdint>
#include <optional>

#include "headway/backoff/any.hpp"
#include "headway/export.hpp"
#include "headway/random.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// Writers of one row; each reads its version and writes if that is still the same.
struct optimistic_lock {
  int clients = 100;      ///< with one write each
  any_backoff backoff{};  ///< after a write in vain
  int first_attempt = 1;  ///< the exponent of the first delay; AWS's simulator begins at 1
  /// One way, |normal|.
  duration delay_mean = 10ms;
  duration delay_deviation = 2ms;  ///< of the delay
  friend bool operator==(optimistic_lock const&, optimistic_lock const&) = default;
};

/// The outcome of optimistic_lock.
struct lock_figures {
  std::int64_t calls = 0;  ///< writes, in vain or not
  duration time{};         ///< until the last client has heard that its write was good
};

/// Runs it; all clients begin at time 0. The same seed gives the same figures, on every compiler.
HEADWAY_EXPORT lock_figures simulate(optimistic_lock const& s, std::uint64_t seed);

}  // namespace headway::sim
