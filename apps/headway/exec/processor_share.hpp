/// The processors that commands share.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "exec/room.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// No further command starts while twice as many processes as there are processors want one:
/// commands that share one all come late to what they call, and at the same time. Source:
/// docs/design/014-how-many-commands.md. Threads: one.
class processor_share {
 public:
  /// Looks at the descendants of `guards` if it is time, where so many commands have started.
  void look(time_point now, std::int64_t started,
            std::function<std::vector<pid_t>()> const& guards);
  /// A command begins, which will want a processor; so many have started with it.
  void begin(std::int64_t started) noexcept;
  /// Returns true when all were taken and may no longer be.
  bool eases(time_point now, std::int64_t started) noexcept;

  /// None is left for a further command.
  bool taken() const noexcept { return taken_; }
  /// When it is time for the next look.
  time_point looks_at() const noexcept { return looks_at_; }

 private:
  int const most_ = 2 * processors();
  int hungry_ = 0;  // at the last look, and what began since
  time_point looks_at_ = time_point::min();
  bool taken_ = false;
};

}  // namespace headway::app
