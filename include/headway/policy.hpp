/// Roles: the requirements on a backoff, a pacer, a window or a law.
///
/// Policies are values: small regular structs, the whole algorithm on one screen, the source cited.
/// Copy one to fork a simulation, keep the old one to undo, compare two to prove a replay.
#pragma once

#include <concepts>
#include <cstdint>

#include "headway/outcome.hpp"
#include "headway/random.hpp"
#include "headway/time.hpp"

namespace headway {

/// Decides how long to wait after a failure. `attempt` counts from 0; `previous` is the last delay,
/// zero at first.
template <class B>
concept backoff = std::regular<B> &&
    requires(B const b, int attempt, duration previous, fraction u) {
  { b.delay(attempt, previous, u) }
  noexcept->std::same_as<duration>;
};

/// Decides when the next units may go.
///
/// ready_at: returns the earliest instant at which `cost` units conform, or `never` if they exceed
/// the burst; changes nothing. take: spends the units now. Requires: ready_at(cost) <= now.
/// on_throttle hears of cuts only, one for each flight.
template <class P>
concept pacer = std::regular<P> &&
    requires(P p, P const c, time_point now, std::int64_t cost, sample s, fraction u) {
  { c.ready_at(cost) }
  noexcept->std::same_as<time_point>;
  { p.take(now, cost) }
  noexcept;
  { p.on_success(now, s) }
  noexcept;
  { p.on_throttle(now, s, u) }
  noexcept;
};

/// Decides how many permits may be out: a real number. Another may go while fewer are out than
/// allowed(). on_throttle hears of cuts only, one for each flight.
template <class W>
concept window = std::regular<W> && requires(W w, W const c, time_point now, sample s) {
  { c.allowed() }
  noexcept->std::same_as<double>;
  { w.on_success(now, s) }
  noexcept;
  { w.on_throttle(now, s) }
  noexcept;
};

/// Decides from one state when the next unit may go and how many may be out. A law hears of each
/// answer and decides, by the epoch on the stamp, which throttles cut. One that has
/// on_cancel(now, stamp) hears, too, what was given up before it was answered.
template <class L>
concept law = std::regular<L> && requires(L l, L const c, time_point now, std::int64_t cost,
                                          sample s, resource r, hint h, fraction u) {
  { c.ready_at(cost) }
  noexcept->std::same_as<time_point>;
  { c.allowed() }
  noexcept->std::same_as<double>;
  { l.take(now, cost, u) }
  noexcept->std::same_as<stamp>;
  { l.on_success(now, s, u) }
  noexcept;
  { l.on_throttle(now, s, r, u) }
  noexcept;
  { l.on_failure(now, s, u) }
  noexcept;
  { l.on_hint(now, h) }
  noexcept;
};

}  // namespace headway
