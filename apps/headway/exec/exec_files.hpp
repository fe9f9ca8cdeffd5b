/// The files that a run of commands reads and writes.
#pragma once

#include "exec/options.hpp"

namespace headway::app {

/// Throws fatal(exit_usage) if one that is written is another one of them, or takes what we say. To
/// be called before anything is opened for writing.
void check_files(exec_options const&);

}  // namespace headway::app
