/// The room that a machine has for commands.
#pragma once

#include <string>

namespace headway::app {

/// How many commands may run at once, and why no more.
struct room {
  int most = 1;
  std::string why{};

  /// Of this machine; `wanted`: as many as asked for, 0: as many as it carries; `local`: they call
  /// no server. Errors: fatal(exit_usage) where more are wanted than can be.
  static room here(int wanted, bool local);
};

/// Returns how many processors there are.
int processors();

}  // namespace headway::app
