/// `headway fleet up`: the installed PostgreSQL as a private server, in the foreground.
#pragma once

#include <string>

#include "base/address.hpp"

namespace headway::app {

struct private_server {
  std::string folder;  ///< its data, its keys and what other hosts need of it, in `join`
  address listen;      ///< where it listens
  std::string name;    ///< how other hosts call this one; "": as it calls itself
};

/// Makes the server's data where there are none, starts it, prints how to use it, and returns the
/// exit code when a signal has ended it. Errors: fatal.
int up(private_server const&);

}  // namespace headway::app
