/// The surroundings of commands: the environment that they inherit from us.
#pragma once

#include <string>

#include "exec/command_profile.hpp"

namespace headway::app {

/// Sets HEADWAY_FD, and the variables of a profile that are not set; to be called before the first
/// guard. Returns those as "NAME=VALUE NAME=VALUE".
std::string set_surroundings(command_profile const&);

/// Returns the scope of commands by the variables that their profile names, as "AWS_PROFILE=x".
/// What may be a key is there as its digest.
std::string scope_of_surroundings(command_profile const&);

}  // namespace headway::app
