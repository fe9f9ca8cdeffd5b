/// A guard: a process that runs one command at a time and leaves no descendant of it behind.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace headway::app {

/// A command to be started. Its standard streams and descriptor 3 are those that are given.
struct command_start {
  std::string program;                     ///< a path
  std::vector<std::string> arguments{};    ///< the first is its own name
  std::vector<std::string> environment{};  ///< NAME=VALUE, in place of our own
  int input = -1, output = -1, error = -1, hints = -1;
  bool detach_ok = false;  ///< what it leaves running stays
};

/// How a command ended.
struct command_end {
  int error = 0;   ///< errno: it was not started
  int status = 0;  ///< as of waitpid(2)
};

/// A child of ours and subreaper: whatever a command starts, in whatever session, becomes a child
/// of its guard when its parent ends, and is killed once the command has come to its end. A guard
/// that loses us, however we ended, kills what it runs and exits; a command that loses its guard is
/// killed. A command has a session of its own, no terminal, no descriptor of ours, no signal
/// blocked or ignored.
///
/// Threads: to be made and used in one thread.
class guard {
 public:
  /// Errors: std::system_error where there can be no further process.
  guard();
  ~guard();
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;

  pid_t id() const noexcept { return id_; }
  /// Readable when a command has ended, or the guard itself.
  int fd() const noexcept { return socket_; }

  /// Starts a command. False where the guard is gone. Requires: the one before has ended.
  bool start(command_start const&);
  /// Sends a signal to its process group.
  void signal(int) noexcept;
  /// Returns how it ended, nullopt while it has not. `gone()` is true where the guard was killed.
  std::optional<command_end> end() noexcept;
  bool gone() const noexcept { return gone_; }

 private:
  pid_t id_ = 0;
  int socket_ = -1;
  bool gone_ = false;
};

}  // namespace headway::app
