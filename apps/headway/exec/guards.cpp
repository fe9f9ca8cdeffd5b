#include "exec/guards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/fatal.hpp"
#include "exec/descendants.hpp"

namespace headway::app {

std::optional<std::size_t> guards::idle(int running) {
  auto const at = [this](auto is) {
    return static_cast<std::size_t>(std::ranges::find_if(all_, is) - all_.begin());
  };
  auto found = at([](slot const& p) { return p.task < 0 && p.process; });
  if (found < all_.size()) return found;
  found = at([](slot const& p) { return !p.process; });
  if (found == all_.size()) all_.emplace_back();
  try {
    all_[found].process = std::make_unique<guard>();
  } catch (std::system_error const& e) {
    if (running == 0) throw fatal(exit_io, fmt::format("cannot start a process: {}", e.what()));
    most_ = running;
    return std::nullopt;
  }
  return found;
}

std::vector<int> guards::running() const {
  std::vector<int> tasks;
  for (auto const& p : all_)
    if (p.task >= 0) tasks.push_back(p.task);
  return tasks;
}

std::vector<pid_t> guards::busy() const {
  std::vector<pid_t> ids;
  for (auto const& p : all_)
    if (p.process && p.task >= 0) ids.push_back(p.process->id());
  return ids;
}

void guards::lose(std::size_t place) {
  all_[place].process.reset();
  end_orphans();
}

void guards::end() {
  all_.clear();
  end_orphans();
}

void guards::end_orphans() {
  std::vector<pid_t> ours;
  for (auto const& p : all_)
    if (p.process) ours.push_back(p.process->id());
  end_descendants(ours);
}

}  // namespace headway::app
