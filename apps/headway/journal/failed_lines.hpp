/// The lines of JOBS that did not succeed, ready to be run again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/outcomes.hpp"
#include "os/steady_file.hpp"

namespace headway::app {

/// Throws fatal(exit_usage) where `option`'s `path` is a folder, or its folder is not there.
void check_folder(std::string_view option, std::string const& path);

/// Throws fatal(exit_usage) where `option`'s `path` cannot be written to in the end.
void check_replaceable(std::string_view option, std::string const& path);

/// Writes to `path` those lines of `jobs` that `wanted` has (the first is 1), byte for byte, ends
/// included; replaces what was there, at once. Errors: fatal(exit_io), and those of `jobs`.
void write_failed_lines(steady_file& jobs, std::vector<bool> const& wanted, std::string const& path,
                        durability level);

}  // namespace headway::app
