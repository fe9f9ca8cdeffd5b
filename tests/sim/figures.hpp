/// What the tests of the seed texts' figures share.
#pragma once

#include <limits>
#include <string_view>

#include "headway/sim/simulation.hpp"
#include "tell.hpp"

namespace headway::sim {

inline figures run(scenario const& s, std::string_view law, simulation_options options = {}) {
  return simulate(s, *contender_named(law), options);
}

/// A contender that is wanted here only. Nothing is given up.
inline contender one_of_its_own(any_backoff backoff, any_law law, after_throttle throttled,
                                int quiet_successes = 10) {
  return {.name = "one of its own", .what = {}, .make = [=](scenario const& s) -> client_governor {
            return any_governor(backoff, law,
                                {.attempts_max = std::numeric_limits<int>::max(),
                                 .queue_max = std::size_t{1} << 40,
                                 .hint_max = duration::max(),
                                 .first_alone = s.first_alone,
                                 .throttled = throttled,
                                 .quiet_successes = quiet_successes});
          }};
}

inline any_law unlimited_law() {
  return {paced<unpaced, headway::fixed_window>{.win = {1e9}}};
}

}  // namespace headway::sim
