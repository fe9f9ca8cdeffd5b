/// A plan: what --dry-run shows, and what a run says of it at first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exec/command_profile.hpp"
#include "exec/input.hpp"
#include "exec/recipe.hpp"
#include "exec/room.hpp"

namespace headway::app {

/// How many jobs there are, and how many of them are done; `total` is negative where the input is a
/// stream.
struct plan_counts {
  std::int64_t total = -1, done = 0;
};

/// Prints the commands that would be run; says how.
void show_plan(plan_counts, command_profile const&, bool safe, room const&, recipe const&,
               exec_input&);

/// Returns what is said before the first command; `set`: variables that are set for all, "": none;
/// `journal`: there is one.
std::string opening_words(command_profile const&, bool safe, room const&, recipe const&,
                          std::string_view set, bool journal);

}  // namespace headway::app
