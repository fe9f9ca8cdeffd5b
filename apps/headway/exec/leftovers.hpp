/// Leftovers: processes that an earlier `exec` could not end, since it and its guards were killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace headway::app {

/// The variable of the environment that marks what we start.
inline constexpr char mark_name[] = "HEADWAY_EXEC";

/// Returns a mark of the journal at `path`, the same for all runs of it.
std::string mark_of(std::string const& path);

/// Returns the processes of ours that carry this mark, once their guards, if they live, have had
/// half a second to end them. Reads /proc.
std::vector<pid_t> leftovers(std::string_view mark);

/// Marks what we start from now on as the journal's at `path`; says what of its earlier runs still
/// lives, if `resumed`.
void mark_commands(std::string const& path, bool resumed);

}  // namespace headway::app
