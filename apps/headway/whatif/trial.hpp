/// A trial: what a limit would have made of recorded attempts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "headway/sim/limit.hpp"
#include "whatif/recording.hpp"

namespace headway::app {

/// How much of what was recorded a limit explains.
struct trial {
  static constexpr duration timing = 2ms;  ///< how inexactly a recording tells an arrival

  std::int64_t refusals = 0, explained = 0;
  std::int64_t acceptances = 0, against = 0;  ///< against: it would have refused them

  /// F1 of the refusals: 1 explains each, and no acceptance against it.
  double score() const noexcept {
    auto const missed = refusals - explained;
    return explained == 0 ? 0
                          : 2 * static_cast<double>(explained) /
                                static_cast<double>(2 * explained + missed + against);
  }

  /// Returns how much likelier it makes the recorded answers than chance does, which refuses at any
  /// load: the logarithm of the ratio. Source: Wilks, 1938: two shares of refusals instead of one.
  double gain() const noexcept {
    auto const part = [](std::int64_t refused, std::int64_t accepted) {
      auto const x = static_cast<double>(refused), y = static_cast<double>(accepted);
      auto const of = [&](double n) { return n == 0 ? 0 : n * std::log(n / (x + y)); };
      return of(x) + of(y);
    };
    return part(explained, against) + part(refusals - explained, acceptances - against) -
           part(refusals, acceptances);
  }
};

/// Of refusals in a row, which count.
enum class refusals_in_a_row : std::uint8_t { all, first };

/// Tries a limit on each attempt, if all before it went as recorded.
template <class Limit>
trial try_out(stretch all, Limit limit, refusals_in_a_row which = refusals_in_a_row::all) {
  trial t;
  bool was_refused = false;
  for (auto const& a : all) {
    auto const counts = !(was_refused && a.refused() && which == refusals_in_a_row::first);
    was_refused = a.refused();
    if (a.refused()) {
      t.refusals += counts;
      t.explained += counts && limit.wait(a.sent - trial::timing, a.cost) > 0ns;
      limit.refuse(a.sent, a.cost);
      continue;
    }
    t.acceptances += counts;
    t.against += counts && limit.wait(a.sent, a.cost) > trial::timing;
    limit.admit(a.sent, a.cost, a.latency);
    // What was accepted against it shows that it had room: it is empty now, and no emptier.
    if constexpr (std::is_same_v<Limit, sim::token_bucket>)
      limit.tat = std::min(limit.tat, later(a.sent, limit.burst * limit.interval));
  }
  return t;
}

}  // namespace headway::app
