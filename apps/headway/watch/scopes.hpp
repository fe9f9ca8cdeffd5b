/// The scopes of a surface, as other processes see and order them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pacing/lanes.hpp"
#include "status/metrics.hpp"
#include "watch/command.hpp"

namespace headway::app {

/// Where each lane stands, for monitoring.
std::vector<scope_gauges> gauges_of(time_point now, lanes&);
/// Returns what is known of the hosts that share the limit of a lane; nothing where none do.
std::optional<fleet_gauges> fleet_of(time_point now, lane const&);

/// Adds a JSON object for each lane, with commas between.
void append_states(std::string& json, time_point now, lanes&);

/// Returns what a command orders lanes to do; nullopt: it is not for lanes. Errors:
/// fatal(exit_usage).
std::optional<lane_order> order_of(command const&);

/// Answers a line by what `answers` makes of its command, or by why that is not done.
std::string answered(std::string_view line,
                     std::function<std::string(command const&)> const& answers);

/// Returns the answer to a command that was done, to so many scopes.
std::string answer_done(command const&, std::size_t scopes);

}  // namespace headway::app
