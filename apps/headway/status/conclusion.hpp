/// A conclusion: the exit code of a run that nothing halted, and what it says of that.
#pragma once

#include <optional>
#include <string>

#include "base/fatal.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// What a run leaves behind.
struct remains {
  struct waiting {
    bool broken = false;      ///< for a server that answers nothing but failures
    time_point until{never};  ///< else for this, which it asked for
  };
  std::optional<waiting> parked{};      ///< something waits for longer than --wait-max
  std::string alone{};                  ///< what was refused, not all, for so long; "": nothing
  std::optional<std::string> missed{};  ///< how --fail-if came true
  bool failed = false;                  ///< something has no success
};

struct conclusion {
  int code = exit_ok;
  std::string said{};  ///< a sentence; "": the summary says it all
};

/// Returns the gravest of them.
conclusion conclusion_of(remains const&, duration wait_max, time_point now);

}  // namespace headway::app
