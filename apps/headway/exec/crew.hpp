/// The crew: the processes that run commands.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/guards.hpp"
#include "exec/task.hpp"
#include "os/poller.hpp"

namespace headway::app {

/// Starts commands, hears what they print and how they end, and ends those that should. A task is
/// known by its number. Threads: one.
class crew {
 public:
  struct ears {
    /// A command has printed something, to this spool of its task.
    std::function<void(spool&, std::string_view)> printed{};
    /// It has ended; nullopt: its guard was killed.
    std::function<void(std::uint32_t task, std::optional<command_end>)> ended{};
  };
  crew(poller&, task_table&, int most, ears);

  /// So many commands may run at once.
  int most() const noexcept { return guards_.most(); }
  /// Returns a place for one more, beside so many that run; nullopt: there can be no further
  /// process. Errors: fatal(exit_io) where none runs.
  std::optional<std::size_t> place(std::int64_t running);
  /// Starts the command of a task, with this on its standard input. False, with errno, where there
  /// can be no further descriptor; else listen() must follow.
  bool start(std::size_t place, std::uint32_t task, command_start,
             std::optional<std::string> const& input);
  void listen(std::uint32_t task);
  /// Takes an event of the poller; false: it is not ours.
  bool ready(poller::event const&);
  /// Reads what the pipes of a command that has ended hold. What a process that lives on writes
  /// from now on is not waited for: then true.
  bool drain(task&);

  /// SIGTERM now, SIGKILL later; what has been told so before is left alone.
  void terminate(time_point now, task&, std::string why);
  /// The same to all, whose ends are no results.
  void terminate_all(time_point now, std::string const& why);
  /// Ends what is late; `timeout`: said of what ran for too long.
  void end_late(time_point now, std::string const& timeout);
  /// When end_late() is due.
  time_point wakeup() const;

  /// The guards that run a command.
  std::vector<pid_t> busy() const { return guards_.busy(); }
  /// Ends all.
  void end() { guards_.end(); }

 private:
  struct watch {
    enum kind : std::uint8_t { none, guard, task };
    kind what = none;
    std::uint32_t index = 0;
  };
  void watch_fd(int fd, watch);
  void forget_fd(int fd);
  std::size_t read_some(task&, int fd, std::size_t most);
  bool read_rest(task&, int fd);
  void hear(std::size_t place);
  task& task_at(int index) const { return tasks_[static_cast<std::uint32_t>(index)]; }

  poller& events_;
  task_table& tasks_;
  ears ears_;
  guards guards_;
  std::vector<watch> watched_{};  // by descriptor
  std::array<char, 65536> block_;
  bool stillborn_ = false;  // the guard of the last start() was gone
};

}  // namespace headway::app
