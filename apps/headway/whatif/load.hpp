/// The load at which attempts were refused, beside that at which others were accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "whatif/recording.hpp"

namespace headway::app {

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
