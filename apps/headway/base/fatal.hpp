/// How the program ends: exit codes, and the error that ends it.
#pragma once

#include <stdexcept>
#include <string>

namespace headway::app {

/// Exit codes are a contract with other people's scripts.
enum exit_code : int {
  exit_ok = 0,
  exit_failed = 1,     ///< finished; some requests failed for good or are unknown
  exit_usage = 2,      ///< usage, configuration or input error
  exit_threshold = 3,  ///< finished, and a --fail-if threshold was crossed
  exit_io = 74,        ///< journal or results cannot be written
  exit_parked = 75,    ///< run the same command again later
  exit_stopped = 77,   ///< refused for good; nothing more is sent
  exit_pipe = 141,     ///< what read standard output is gone, as | head: nothing is said
};

/// An error that ends the program: one line on stderr that says what, where and the allowed range.
struct fatal : std::runtime_error {
  fatal(int exit_code, std::string const& what) : std::runtime_error(what), code(exit_code) {}
  int code;
};

}  // namespace headway::app
