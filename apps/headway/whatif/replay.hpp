/// A recorded run's decisions, made again by the governors that ship.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headway::app {

/// Where a replay first came to something else than the trace has.
struct difference {
  std::int64_t line = 0;  ///< of the trace
  std::string recorded;
  std::string replayed;
};

struct replayed {
  std::int64_t decisions = 0;  ///< calls whose answer was the same
  bool ended = false;          ///< the trace has the end of its run: all states were compared
  std::optional<difference> first_difference{};
};

/// Makes the governors that the trace names, calls them as it says, and compares every answer and
/// every state at the end, to the last bit. Memory does not grow with the trace.
/// Errors: fatal(exit_usage) that names file:line.
replayed replay(std::string const& path);

}  // namespace headway::app
