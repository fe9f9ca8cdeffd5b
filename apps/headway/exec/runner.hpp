/// The runner of `exec`: each command of the input once, as fast as what it calls lets us.
#pragma once

#include "exec/options.hpp"

namespace headway::app {

/// Runs to the end, to a signal, or to a reason to stop; says on standard error how it went.
///
/// Returns the exit code of the contract. Errors: fatal. To be called once in a process, from its
/// only thread: it takes over its signals and its children.
int exec(exec_options);

}  // namespace headway::app
