/// A process of ours that prints.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "os/poller.hpp"

namespace headway::app {

/// A child in a process group of its own: Ctrl-C is for us, and all that it starts ends with it. It
/// has no input, no terminal and no descriptor of ours; its standard output is read here, its
/// standard error is dropped. No signal is blocked or ignored.
///
/// It is ended with this object, if it has not come to its end before. Threads: one.
class process {
 public:
  /// Starts `program`; the poller watches its output and its end. Errors: std::system_error.
  process(poller&, char const* program, std::vector<std::string> arguments,
          std::vector<std::string> environment);
  ~process();
  process(process const&) = delete;
  process& operator=(process const&) = delete;

  /// The descriptors that the poller watches: ready when it has printed, and when it has ended.
  int output() const noexcept { return output_; }
  int end() const noexcept { return end_; }

  /// Appends what it has printed since. False once that is more than `bytes_max` in all.
  bool read(std::string& printed, std::size_t bytes_max);
  /// Its status, as of waitpid(2), once it has come to its end.
  std::optional<int> status();

 private:
  void close() noexcept;

  poller& events_;
  pid_t id_ = 0;     // 0: it has been waited for
  int output_ = -1;  // our end of its pipe
  int end_ = -1;     // pidfd_open(2)
};

}  // namespace headway::app
