/// The load at which attempts were refused, beside that at which others were accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "whatif/recording.hpp"
#include "whatif/trial.hpp"

namespace headway::app {

/// How a server counts what it has to do.
struct measure {
  enum class kind : std::uint8_t {
    in_flight,
    sliding,    ///< in the `period` before
    fixed,      ///< since the first of a `period`
    renewed,    ///< as fixed, and what is accepted after a refusal is the first of the next
    two_parts,  ///< since a `period` began, and a part of the one before: as HAProxy does
  };
  kind what = kind::in_flight;
  duration period{};
  bool refusals_too = false;  ///< refused ones count
  duration late{};            ///< two_parts: the first attempt came so long after it was sent
};

/// Returns how long after it was sent the first attempt may have come, ascending from 0 to its
/// latency: a recording does not tell how much of that a new connection took.
std::vector<duration> first_may_come(stretch);

/// Returns the load at each attempt, itself not counted: at least as much as there was where it was
/// refused, at most as much where it was accepted, since a recording tells arrivals inexactly.
std::vector<double> load_at(stretch, measure);

/// A load from which on attempts are refused.
struct threshold {
  double load = 0;
  trial of{};
};

/// Returns the load that explains those refusals best, beside all that was accepted from `begin`
/// on.
threshold threshold_of(stretch, std::vector<double> const& load, std::size_t begin,
                       std::vector<std::size_t> const& refusals);

/// Loads of some attempts, in any unit.
struct loads {
  std::vector<double> accepted{}, refused{};

  /// Returns how likely refusals by chance are to come at such high loads, at most: where a limit
  /// refuses, few acceptances have as much. Source: Irwin and Hall, 1927: a sum s of n uniform
  /// numbers, here the shares of acceptances that have more, is as small with at most sⁿ / n!.
  double chance() const;
};

enum class refused_at : std::uint8_t {
  high_load,  ///< there is a limit
  any_load,   ///< by chance, or for what others do
  unsaid,     ///< refusals are too few
};

/// Looks at the newest refusals, as many of them as agree on a load, whatever its kind: what was
/// accepted in a time before them, or what was in flight.
refused_at load_of_refusals(recording const&);

/// Returns whether nothing speaks for a limit: refusals came at any load, and the run went at its
/// user's own ceiling or there are many of them. Few at its own ceiling are not believed either.
bool refused_by_chance(recording const&, refused_at);

/// The first refusals after something was accepted: those that follow tell nothing new.
std::vector<std::size_t> first_refusals(stretch);

}  // namespace headway::app
