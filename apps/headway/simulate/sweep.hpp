/// A sweep: values that the keys of a scenario take in turn.
#pragma once

#include <string>
#include <vector>

#include "scenario/scenario_file.hpp"

namespace headway::app {

/// Returns every combination of the values of all `sweeps`, each "KEY=VALUE,VALUE". Where there is
/// a ';' it separates values, or ends the only one, and commas are theirs. Errors:
/// fatal(exit_usage).
std::vector<std::vector<setting>> combinations(std::vector<std::string> const& sweeps);

}  // namespace headway::app
