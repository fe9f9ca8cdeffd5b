/// The lines of JOBS that did not succeed, ready to be run again.
#pragma once

#include <string>
#include <vector>

#include "base/outcomes.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Throws fatal(exit_usage) where `path` cannot be written to in the end, or is one of `ours`.
void check_failed_lines(std::string const& path, std::vector<std::string> const& ours);

/// Writes to `path` those lines of `jobs`, a regular file, that `wanted` has (the first is 1), byte
/// for byte, ends included; replaces what was there, at once. Errors: fatal(exit_io).
void write_failed_lines(file const& jobs, std::vector<bool> const& wanted, std::string const& path,
                        durability level);

}  // namespace headway::app
