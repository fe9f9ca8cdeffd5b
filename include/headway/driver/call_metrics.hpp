#pragma once

#include <cstddef>
#include <cstdint>

#include "headway/governor.hpp"

namespace headway {

/// What a driver has counted since it was made, and how it stands now. A value: what two counts
/// differ by is what came between them.
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
  held_back held{};            ///< what holds the first back who waits
  observation observed{};      ///< of governor_settings::observe

  /// One attempt more that came to `what`.
  void count(outcome what) noexcept {
    ++(what == outcome::success    ? succeeded
       : what == outcome::throttle ? throttled
       : what == outcome::failure  ? failed
                                   : ignored);
  }
  friend bool operator==(call_metrics const&, call_metrics const&) = default;
};

/// Hears what a driver does. Derive from it and hide what you want to hear; what is left costs
/// nothing. Called by the thread whose call it is, with no lock held: must be safe for threads.
struct no_listener {
  /// An attempt goes, `waited` after it was asked for.
  void sent(time_point, ticket, duration /*waited*/) const noexcept {}
  /// Its answer came, and what becomes of the request.
  void answered(time_point, ticket, outcome, decision const&) const noexcept {}
  /// A request was not sent.
  void refused(time_point, headway::refused const&) const noexcept {}
};

}  // namespace headway
