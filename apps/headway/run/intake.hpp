/// The intake: what a run takes of JOBS.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/jobs_file.hpp"
#include "journal/bodies.hpp"
#include "journal/journal.hpp"
#include "run/options.hpp"
#include "run/source.hpp"

namespace headway::app {

/// Returns how the lines of JOBS are to be read.
line_options lines_of(run_options const&);

/// The requests of JOBS, as many as --only says, without those that ended in an earlier run, as the
/// journal knows; --again opens some of them again. A file is checked as a whole before the first
/// request comes, standard input as it is read. Threads: one.
class intake final : public source {
 public:
  /// `headers`: lines that go out beside those of --header. Errors: fatal, as those of the journal,
  /// of JOBS and of the options, which tell the line.
  /// `on_job` is told each request of a file that is good; it may throw.
  intake(run_options const&, std::vector<std::string> headers,
         std::function<void(job const&)> const& on_job = {});

  bool is_stream() const noexcept { return jobs_.is_stream(); }
  steady_file& input() noexcept { return jobs_.input(); }
  /// JOBS itself. Once it is rewound, no more requests come.
  jobs_file& jobs() noexcept { return jobs_; }
  /// Not start()ed, null: there is none.
  journal* log() const noexcept { return log_.get(); }
  /// What a first look found; nothing of a stream.
  jobs_survey const& survey() const noexcept { return survey_; }
  /// What ended in earlier runs, and stays so.
  outcome_counts const& before() const noexcept { return before_; }
  /// How many of them are open again.
  std::int64_t reopened() const noexcept { return reopened_; }

  /// How many requests of a file have no result, as the journal knows.
  std::int64_t left() const;
  /// Notes what is kept of results from now on, and says where earlier ones differ: they stay.
  void note_selection(std::vector<selection> const&);

  /// Bodies of lines up to this one may be in --out-dir, of earlier runs of this journal.
  std::int64_t own_bodies() const noexcept { return own_bodies_; }

  bool remembers() const noexcept override { return log_ != nullptr; }
  bool in_doubt(job const&) const noexcept override;

  void tell(standing&, time_point) override;
  void watch(poller&, bool wanted) const override;
  bool ready(poller::event const&) noexcept override;
  using source::ready;

 protected:
  std::optional<job> take() override;

 private:
  intake(run_options const&, line_options, std::vector<std::string> headers,
         std::function<void(job const&)> const& on_job);
  std::optional<job> read();
  void claim_body_file(job const&);
  void note_own_bodies(std::int64_t lines);

  std::unique_ptr<journal> log_;
  std::int64_t const only_;
  std::string const out_name_;
  jobs_file jobs_;
  std::string bodies_key_;  // of the journal's note
  std::int64_t own_bodies_ = 0;
  std::optional<body_files> bodies_{};
  std::optional<id_register> body_names_{};
  bool polls_ = false;  // a pipe or terminal: reading it may wait
  jobs_survey survey_;
  outcome_counts before_{};
  std::int64_t reopened_ = 0;

  std::int64_t taken_ = 0;  // requests of JOBS, whatever became of them
  bool readable_ = false;
  bool closed_ = false;  // of a stream, all has been read
};

}  // namespace headway::app
