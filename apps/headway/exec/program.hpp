/// A program, as it is found.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// Returns the path of a program as execvp(3) finds it; "" where there is none.
std::string found_program(std::string const& name);
/// Returns why there is none: "there is no such program in PATH", "it is not executable".
std::string why_not_found(std::string const& name);
/// Returns what stands after the last slash.
std::string base_name(std::string_view path);

}  // namespace headway::app
