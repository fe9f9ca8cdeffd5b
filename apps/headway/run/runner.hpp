/// The runner: every request of JOBS once, as fast as the API lets it.
#pragma once

#include "run/options.hpp"

namespace headway::app {

/// Runs to the end, to a signal, or to a reason to stop; says on standard error how it went.
///
/// Returns the exit code of the contract. Errors: fatal; nothing that was acknowledged is lost. To
/// be called once in a process, from its only thread: it takes over SIGINT, SIGTERM and SIGPIPE.
int run(run_options const&);

}  // namespace headway::app
