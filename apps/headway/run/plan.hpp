/// The plan of a run: what --dry-run shows.
#pragma once

#include "run/estimate.hpp"
#include "run/intake.hpp"
#include "run/options.hpp"

namespace headway::app {

/// To standard output, for people.
void print_plan(run_options const&, intake const&, spending const&, tempo const&);

}  // namespace headway::app
