/// The files of a run.
#pragma once

#include "os/named_files.hpp"
#include "run/options.hpp"

namespace headway::app {

/// Returns what the options name. To be called before anything is opened for writing. Errors:
/// fatal(exit_usage), as of named_files and its standard streams.
named_files files_of(run_options const&);

}  // namespace headway::app
