/// The outputs of a run: results, bodies, the journal, the lines that failed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/jobs_file.hpp"
#include "journal/journal.hpp"
#include "journal/recorder.hpp"
#include "journal/result.hpp"
#include "os/file.hpp"
#include "os/steady_file.hpp"
#include "run/options.hpp"

namespace headway::app {

/// Results go to a file, which standard output may follow, or straight there. Errors: fatal.
/// Threads: one.
class outputs {
 public:
  /// Starts `log`, which may be null; it and `options` must live as long. `own_bodies`: bodies of
  /// lines up to this one may be there, and are replaced.
  outputs(run_options const& options, journal* log, std::int64_t own_bodies);

  /// Results go to a ledger, and no file.
  outputs(run_options const& options, std::unique_ptr<ledger> to);

  /// What becomes durable, and when.
  recorder& log() noexcept { return *recorder_; }
  recorder const& log() const noexcept { return *recorder_; }

  /// A request has ended: what the options say is kept of its answer.
  void record(result);

  /// Returns a line that tells of how many bodies nothing could be selected, "" of none.
  std::string unread() const { return writer_.unread(); }

  /// Why the copy of the results on standard output broke off, an errno; 0: it did not.
  int print_failure() const noexcept {
    return print_failure_ != 0 ? print_failure_ : recorder_->echo_failure();
  }

  /// All that was recorded is durable and, if so asked and the run is not `hurried`, in the order
  /// of JOBS.
  void conclude(bool hurried);

  /// The table of all results so far, if so asked. Reads `jobs` from its beginning.
  void write_table(jobs_file& jobs);

  /// What did not succeed of `jobs`, if so asked: whole records, which make a JOBS by themselves.
  void write_failed(steady_file& jobs, record_lines const&);

 private:
  outputs(run_options const&, journal*, std::int64_t own_bodies, file results);

  run_options const& options_;
  journal* const journal_ = nullptr;
  std::int64_t const own_bodies_ = 0;
  std::optional<file> unordered_{};  // the results, to be put in order
  std::optional<file> tabled_{};     // the results, of which there will be a table
  int print_failure_ = 0;
  std::optional<recorder> recorder_{};
  result_writer writer_;
};

}  // namespace headway::app
