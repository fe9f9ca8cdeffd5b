/// Habits of users of GNU parallel.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// Returns what to write in place of an option of GNU parallel that `exec` does not have, as "-N2"
/// or "--results"; "" where there is nothing to say.
std::string parallel_habit(std::string_view option);

}  // namespace headway::app
