/// What a file is that is no JOBS, and how to make one of it.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// Returns what the first line of `file` shows it to be, and a command that helps; "" where it may
/// be JOBS.
std::string mistaken_for(std::string_view first_line, std::string_view file);

/// Returns whether a line that is no JSON is the beginning of JSON over several lines.
bool goes_on(std::string_view line) noexcept;

}  // namespace headway::app
