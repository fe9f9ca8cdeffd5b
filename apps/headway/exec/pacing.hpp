/// The pacing of commands: what their lanes are made from.
#pragma once

#include <memory>
#include <string_view>

#include "exec/command_profile.hpp"
#include "exec/options.hpp"
#include "exec/room.hpp"
#include "pacing/settings.hpp"

namespace headway::app {

/// Returns the hosts that share the limit of `program`, null where none do, as for one that asks no
/// server. Errors: as join_fleet(), and fatal(exit_usage) where it was asked for in vain.
std::shared_ptr<fleet_link> fleet_of(exec_options const&, command_profile const&,
                                     std::string_view program);

/// `speaks`: of the program; a program that asks no server is held by nothing but `here`.
pacing_settings pacing_of(exec_options const&, command_profile const& speaks, room const& here,
                          std::shared_ptr<fleet_link>);

}  // namespace headway::app
