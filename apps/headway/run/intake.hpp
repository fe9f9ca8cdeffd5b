/// The intake: what a run takes of JOBS.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/headers.hpp"
#include "jobs/jobs_file.hpp"
#include "journal/bodies.hpp"
#include "journal/journal.hpp"
#include "os/poller.hpp"
#include "run/options.hpp"

namespace headway::app {

/// The requests of JOBS, as many as --only says, without those that ended in an earlier run, as the
/// journal knows; --again opens some of them again. A file is checked as a whole before the first
/// request comes, standard input as it is read. Threads: one.
class intake {
 public:
  /// `headers`: lines that go out beside those of --header. Errors: fatal, as those of the journal,
  /// of JOBS and of the options, which tell the line.
  intake(run_options const&, std::vector<std::string> headers);

  bool is_stream() const noexcept { return jobs_.is_stream(); }
  steady_file& input() noexcept { return jobs_.input(); }
  /// JOBS itself. Once it is rewound, no more requests come.
  jobs_file& jobs() noexcept { return jobs_; }
  /// Not start()ed, null: there is none.
  journal* log() const noexcept { return log_.get(); }
  /// What goes to an origin with each request.
  bound_headers const& headers() const noexcept { return headers_; }
  /// What a first look found; nothing of a stream.
  jobs_survey const& survey() const noexcept { return survey_; }
  /// What ended in earlier runs, and stays so.
  journal::tally const& before() const noexcept { return before_; }
  /// How many of them are open again.
  std::int64_t reopened() const noexcept { return reopened_; }

  /// Bodies of lines up to this one may be in --out-dir, of earlier runs of this journal.
  std::int64_t own_bodies() const noexcept { return own_bodies_; }

  /// It was being sent when an earlier run was killed.
  bool in_doubt(job const&) const noexcept;
  /// The same, and it must not be repeated.
  bool perhaps_sent(job const&) const noexcept;

  /// The next request; nullopt: there is none, or not yet. Reads at most once. An error ends it
  /// with a failure().
  std::optional<job> next();
  /// There was no room for it; it comes first again.
  void put_back(job);

  /// next() may have one, without waiting, that was not put back.
  bool ready() const noexcept { return ready_ && !ended_ && !put_back_; }
  /// No more requests come.
  bool ended() const noexcept { return ended_; }
  /// What is wrong with JOBS, null if nothing; what came before is good.
  std::exception_ptr failure() const noexcept { return failure_; }

  /// The poller is to say when there is more, where that is `wanted` and known in no other way.
  void watch(poller&, bool wanted) const;
  /// `fd` of the poller is ready. False when it is not ours.
  bool ready(poller::event const&) noexcept;

 private:
  intake(run_options const&, line_options, std::vector<std::string> headers);
  std::optional<job> take();
  void claim_body_file(job const&);
  void note_own_bodies(std::int64_t lines);

  std::unique_ptr<journal> log_;
  bound_headers headers_;
  std::int64_t const only_;
  std::string const out_name_;
  jobs_file jobs_;
  std::string bodies_key_;  // of the journal's note
  std::int64_t own_bodies_ = 0;
  std::optional<body_files> bodies_{};
  std::optional<id_register> body_names_{};
  bool polls_ = false;  // a pipe or terminal: reading it may wait
  jobs_survey survey_;
  journal::tally before_{};
  std::int64_t reopened_ = 0;

  std::int64_t taken_ = 0;  // requests of JOBS, whatever became of them
  std::optional<job> put_back_;
  bool ready_ = true;
  bool readable_ = false;
  bool closed_ = false;  // of a stream, all has been read
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace headway::app
