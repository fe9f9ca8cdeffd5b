#include "exec/plan.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/words.hpp"
#include "exec/job_result.hpp"

namespace headway::app {

namespace {

/// Returns what is said where the limit is not that of the command's first word.
std::string limit_of(recipe const& recipe) {
  if (recipe.started_by().empty()) return "";
  return fmt::format("the limit of {}, which {} starts (--name: another); ", recipe.own_name(),
                     recipe.started_by());
}

}  // namespace

void show_plan(plan_counts jobs, command_profile const& speaks, bool safe, room const& room,
               recipe const& recipe, exec_input& input) {
  say(fmt::format(
      "{}{}profile {}{}, {} to repeat, at most {} at once ({})",
      jobs.total < 0 ? "" : fmt::format("{} jobs, {} of them done, ", jobs.total, jobs.done),
      speaks.local() ? "" : limit_of(recipe), speaks.name(), speaks.local() ? " (no server)" : "",
      safe ? "safe" : "not safe", room.most, room.why));
  for (bool more = true; more;) {
    more = input.fill();
    while (auto const item = input.ready())
      std::puts(shell_words(recipe.arguments(*item, 1)).c_str());
  }
}

std::string opening_words(command_profile const& speaks, bool safe, room const& room,
                          recipe const& recipe, std::string_view set, bool journal) {
  auto text = speaks.local() ? fmt::format("{} asks no server: {} at once, for as many {}",
                                           recipe.own_name(), room.most, room.why)
                             : fmt::format("{}profile {}, at most {} at once ({})",
                                           limit_of(recipe), speaks.name(), room.most, room.why);
  if (!set.empty()) text += fmt::format("; with {}, so that each throttle is seen", set);
  if (journal && !safe) text += "; what a kill interrupts is not run again (--safe)";
  return text;
}

}  // namespace headway::app
