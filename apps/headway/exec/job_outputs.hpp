/// The outputs of a run of commands: results, the journal, what is printed, the job log.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/attempt_files.hpp"
#include "exec/job_result.hpp"
#include "exec/options.hpp"
#include "exec/printer.hpp"
#include "exec/spool.hpp"
#include "exec/task.hpp"
#include "journal/journal.hpp"
#include "journal/recorder.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Returns the folder for outputs that are too large for a result, "" where there are no results.
std::string large_outputs_of(exec_options const&);

/// A result is durable before it is printed, and printed whole. Errors: fatal. Threads: one.
class job_outputs {
 public:
  /// Opens all that `options` ask for; they and `log`, which may be null, must live as long.
  job_outputs(exec_options const& options, journal* log);

  /// What becomes durable, and when; null: nothing does.
  recorder* log() noexcept { return recorder_ ? &*recorder_ : nullptr; }
  /// So many changes are durable.
  std::uint64_t committed() const { return recorder_ ? recorder_->committed() : 0; }

  /// Begins the spools of an attempt of a task. Errors: fatal(exit_io).
  void begin(task&);
  /// An attempt has ended, as attempt_files has it. Errors: fatal(exit_io).
  void attempted(task&, job_result const&, std::string_view verdict);
  /// Appends to what it prints. Errors: fatal(exit_io).
  void append(spool& to, std::string_view bytes) const;
  /// A job has ended: what it printed is taken from the task, and `command` is for the job log.
  void record(task&, job_result, std::string const& command);
  /// Drops what a task has printed; it has no result.
  void drop(task&);
  /// Prints what has become durable, and writes the job log of it.
  void acknowledge();

  /// No more may start until some of it is written.
  bool full() const noexcept;
  /// Nothing reads our standard output.
  bool closed() const noexcept { return print_failure() == EPIPE; }
  /// Returns why our standard output or the job log could not be written, or null. What ends is
  /// recorded all the same.
  std::exception_ptr failure() const;
  bool ordered() const noexcept { return printer_ && options_.keep_order; }
  /// All that can be printed is. Nothing follows.
  void conclude();

 private:
  struct acknowledgement {
    std::uint64_t change = 0;
    std::int64_t order = 0;
    printed what{};
    std::string log_line{};
  };
  std::string path_of(task const&, std::string_view kind) const;
  std::string spool_path(task const&, std::string_view kind) const;
  std::string keep(std::vector<kept_body>&, task const&, spooled const&,
                   std::string_view kind) const;
  int print_failure() const noexcept { return printer_ ? printer_->failure() : print_failure_; }

  exec_options const& options_;
  bool const folder_ = !options_.out_dir.empty();
  bool own_folder_ = false;
  std::string const large_;
  std::optional<recorder> recorder_{};
  std::optional<file> job_log_{};
  std::optional<attempt_files> attempts_{};
  std::optional<printer> printer_{};
  std::deque<acknowledgement> acks_{};  // not durable yet
  int print_failure_ = 0;
  std::exception_ptr job_log_failure_{};
};

}  // namespace headway::app
