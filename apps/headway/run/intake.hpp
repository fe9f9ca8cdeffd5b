/// The intake: what a run takes of JOBS.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>

#include "run/headers.hpp"
#include "run/jobs_file.hpp"
#include "run/journal.hpp"
#include "run/options.hpp"
#include "run/poller.hpp"

namespace headway::app {

/// The lines of JOBS as these options make requests of them. Errors: fatal(exit_usage).
line_options lines_of(run_options const&);

/// The requests of JOBS, as many as --only says, without those that the journal knows to have
/// ended; --again opens some of them again. A file is checked as a whole before the first request
/// comes, standard input as it is read. Tells `bound` of each origin. Threads: one.
class intake {
 public:
  /// `log`: not start()ed, or null. It and `bound` must live as long. Errors: fatal(exit_usage)
  /// with file:line.
  intake(run_options const&, line_options, journal* log, bound_headers& bound);

  bool is_stream() const noexcept { return jobs_.is_stream(); }
  file const& input() const noexcept { return jobs_.input(); }
  /// What a first look found; nothing of a stream.
  jobs_survey const& survey() const noexcept { return survey_; }
  /// What ended in earlier runs, and stays so.
  journal::tally const& before() const noexcept { return before_; }
  /// How many of them are open again.
  std::int64_t reopened() const noexcept { return reopened_; }

  /// The next request; nullopt: there is none, or not yet. Reads at most once. Errors: as in the
  /// constructor, but of a stream: that ends with a failure().
  std::optional<job> next();
  /// There was no room for it; it comes first again.
  void put_back(job);

  /// next() may have one, without waiting, that was not put back.
  bool ready() const noexcept { return ready_ && !ended_ && !put_back_; }
  bool has_put_back() const noexcept { return put_back_.has_value(); }
  /// No more requests come, but for the one that was put back.
  bool ended() const noexcept { return ended_; }
  /// What is wrong with a stream, null if nothing; what came before is good.
  std::exception_ptr failure() const noexcept { return failure_; }

  /// The poller is to say when there is more, where that is `wanted` and known in no other way.
  void watch(poller&, bool wanted) const;
  /// `fd` of the poller is ready. False when it is not ours.
  bool ready(poller::event const&) noexcept;

 private:
  std::optional<job> take();

  bound_headers& bound_;
  journal* const log_;
  std::int64_t const only_;
  jobs_file jobs_;
  bool polls_ = false;  // a pipe or terminal: reading it may wait
  jobs_survey survey_;
  journal::tally before_{};
  std::int64_t reopened_ = 0;

  std::int64_t taken_ = 0;  // requests of JOBS, whatever became of them
  std::optional<job> put_back_;
  bool ready_ = true;
  bool readable_ = true;
  bool closed_ = false;  // of a stream, all has been read
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace headway::app
