#pragma once

#include "headway/policy.hpp"

namespace headway {

/// Combines a pacer and a window into a law: whichever binds. It holds the epoch, so both see one
/// cut for each flight.
///
/// The epoch decides as seed text 003's set of ids `ignored` does, simultaneous events included: an
/// attempt is in that set if and only if it was sent before the last cut. Comparing timestamps does
/// not (tests/model/epoch_test.cpp). Source: seed text 003, "discard the current value of ignored,
/// replacing it with the current value of flying"; RFC 9002 §7.3.2 has the same rule for QUIC.
template <pacer P, window W>
struct paced {
  P pace{};                     ///< when
  W win{};                      ///< how many
  std::uint64_t epoch = 0;      ///< count of cuts
  std::uint64_t successes = 0;  ///< so far

  time_point ready_at(std::int64_t cost) const noexcept { return pace.ready_at(cost); }
  double allowed() const noexcept { return win.allowed(); }
  stamp take(time_point now, std::int64_t cost, fraction) noexcept {
    pace.take(now, cost);
    return {.sent = now, .epoch = epoch, .successes = successes};
  }
  void on_success(time_point now, sample const& s, fraction) noexcept {
    ++successes;
    pace.on_success(now, s);
    win.on_success(now, s);
  }
  void on_throttle(time_point now, sample const& s, resource, fraction u) noexcept {
    if (s.sent.epoch != epoch) return;
    ++epoch;
    pace.on_throttle(now, s, u);
    win.on_throttle(now, s);
  }
  void on_failure(time_point, sample const&, fraction) noexcept {}
  void on_hint(time_point, hint const&) noexcept {}
  friend bool operator==(paced const&, paced const&) = default;
};

}  // namespace headway
