/// The sockets by which the living runs of a user are asked and told.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/poller.hpp"
#include "watch/listener.hpp"

namespace headway::app {

/// Takes commands, a line each, from this user's other processes: a socket of mode 0600 in the
/// folder of the machine's pace. It goes with this object. Threads: one.
class command_socket {
 public:
  using answerer = std::function<std::string(std::string_view line)>;

  /// Known as `surface`-PID. Errors: std::system_error and std::runtime_error, as machine_pace.
  command_socket(poller&, std::string_view surface, answerer);
  ~command_socket();
  command_socket(command_socket const&) = delete;
  command_socket& operator=(command_socket const&) = delete;

  listener& service() noexcept { return *service_; }

 private:
  file folder_;
  std::string name_;
  std::optional<listener> service_;
};

/// A living run.
struct live_run {
  std::string surface;  ///< "run"
  pid_t pid = 0;
};

/// Returns those of this user, by their pid. Sockets that killed ones left are removed.
std::vector<live_run> live_runs();

/// Returns the answer to one line, without its line feed; nullopt: it has ended, or has not said
/// all of it within 5 s.
std::optional<std::string> ask(live_run const&, std::string_view line);

}  // namespace headway::app
