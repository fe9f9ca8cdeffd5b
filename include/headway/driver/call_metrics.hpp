#pragma once

#include <cstddef>
#include <cstdint>

#include "headway/observing.hpp"

namespace headway {

/// Counts of a driver since it was made, and its present state. A value: the difference of two
/// tells what happened between them.
struct call_metrics {
  std::int64_t sent = 0;       ///< attempts
  std::int64_t succeeded = 0;  ///< attempts, as the next three are
  std::int64_t throttled = 0;  ///< by the server
  std::int64_t failed = 0;     ///< broken
  std::int64_t ignored = 0;    ///< taught nothing
  std::int64_t refused = 0;    ///< never sent
  std::int64_t given_up = 0;   ///< sent, and neither answered for good nor to be sent again
  duration waited{};           ///< in all, by attempts that were sent, for their turn
  int in_flight = 0;           ///< attempts out now
  std::size_t waiting = 0;     ///< requests that wait now
  held_back held{};            ///< what holds the first waiting request back
  observation observed{};      ///< of an observing_governor

  /// Counts an attempt with outcome `what`.
  void count(outcome what) noexcept {
    ++(what == outcome::success    ? succeeded
       : what == outcome::throttle ? throttled
       : what == outcome::failure  ? failed
                                   : ignored);
  }
  friend bool operator==(call_metrics const&, call_metrics const&) = default;
};

/// Listener of a driver. Derive from it and hide the functions that you want to hear; the others
/// cost nothing. Called in the thread of the call, with no lock held, from any number of threads.
struct no_listener {
  /// Hears that an attempt goes, `waited` after it was asked for.
  void sent(time_point, ticket, duration /*waited*/) const noexcept {}
  /// Hears the answer of an attempt, and the decision about the request.
  void answered(time_point, ticket, outcome, decision const&) const noexcept {}
  /// Hears that a request was not sent.
  void refused(time_point, headway::refused const&) const noexcept {}
};

}  // namespace headway
