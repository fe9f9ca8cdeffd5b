/// The outputs of all attempts, in a folder.
#pragma once

#include <string>
#include <string_view>

#include "exec/job_result.hpp"
#include "exec/task.hpp"
#include "os/file.hpp"

namespace headway::app {

/// 00000042.1.out and .err are the first attempt of job 42, as it goes on; attempts.jsonl has a
/// line for each that has ended. Nothing that is there is written over: the attempts of a later run
/// count on. Errors: fatal. Threads: one.
class attempt_files {
 public:
  explicit attempt_files(std::string folder);

  /// Returns true for a name that it gives a file.
  static bool names(std::string_view name) noexcept;

  /// Begins an attempt: what the command prints goes to its files, too.
  void begin(task&);
  /// It has ended; `verdict`: "success", "throttle" or "failure".
  void end(task&, job_result const&, std::string_view verdict);

 private:
  std::string folder_;
  file log_;
};

}  // namespace headway::app
