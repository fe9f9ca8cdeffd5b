/// The results in the order of their lines in JOBS.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/outcomes.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Sorts the lines of `results`, as result_writer made them, by their `line`; those of one line
/// stay in their order. The file is replaced as a whole by one of the same length, or left as it
/// is: to the journal both are the same. Memory does not grow with it: what is known of the lines
/// is in a temporary file beside it, 24 bytes each.
///
/// Errors: fatal(exit_io); fatal(exit_usage) where a line is no result. O(n log n).
void put_in_order(file const& results, durability level);

/// The same, of a file that has no name, to the descriptor `out`. False if its reader is gone.
bool write_in_order(file const& results, int out);

/// Calls `use` with each line that has a result, in the order of lines, and its last one, without a
/// line feed. Errors as above.
void each_last_result(file const& results,
                      std::function<void(std::int64_t line, std::string_view result)> const& use);

/// A regular file without a name, in the folder of `beside` if that is there, else in the one for
/// temporary files (TMPDIR).
file nameless_file(std::string const& beside = {});

}  // namespace headway::app
