/// JOBS: the file of requests, or standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job.hpp"
#include "jobs/line_cutter.hpp"
#include "os/steady_file.hpp"

namespace headway::app {

/// Finds ids that are given twice, exactly, in memory that does not grow with their number but for
/// one bit a line: they go to a temporary database, which the disk holds when it is large.
class id_register {
 public:
  id_register();
  id_register(id_register&&) noexcept;
  id_register& operator=(id_register&&) noexcept;
  ~id_register();

  /// `id` is that of `line`; lines come in ascending order. Returns the line that has it already,
  /// if any. Errors: fatal(exit_io) where the temporary file cannot be written.
  std::optional<std::int64_t> claim(std::string const& id, std::int64_t line);

 private:
  class table;

  std::unique_ptr<table> given_;    // ids other than their line's number
  std::vector<bool> line_numbers_;  // whether the line's number is its id
  std::int64_t largest_ahead_ = 0;  // of ids that are the number of a later line
};

/// Told each line, blank ones and comments too, without its end, once it has been found good, and
/// the number of the line where what it belongs to begins: itself, but within a record of CSV.
using line_hook = std::function<void(std::string_view line, std::int64_t begins)>;

/// The lines that belong together; one bit a line, up to the last that goes on.
struct record_lines {
  std::int64_t header_end = 0;  ///< last line of a CSV's header; 0: there is none
  std::vector<bool> goes_on{};  ///< the line is in the record of the one before

  /// The next line belongs to what `begins` there; `has_header`: a CSV's has come, perhaps by it.
  void add(std::int64_t line, std::int64_t begins, bool has_header);
  /// Adds to `wanted`, lines where records begin (the first is 1), all that makes JOBS of them.
  std::vector<bool> whole(std::vector<bool> wanted) const;
};

/// Makes jobs of bytes, however these are cut.
/// Errors of next(): fatal(exit_usage) with file:line. Threads: distinct objects safe, shared
/// objects unsafe.
class job_stream {
 public:
  explicit job_stream(line_options, line_hook = {});

  void feed(std::string_view bytes) { lines_.feed(bytes); }
  /// There are no more bytes: a last line needs no end.
  void finish() noexcept { lines_.finish(); }

  /// The next job; nullopt where more bytes are needed for one.
  std::optional<job> next();

  /// Every id must be given once. To be called first.
  void check_ids() { ids_.emplace(); }

  std::int64_t lines() const noexcept { return lines_.count(); }
  /// Of what has been read.
  record_lines const& records() const noexcept { return records_; }
  line_options const& options() const noexcept { return parser_.options(); }

 private:
  std::optional<std::string_view> next_line();

  job_parser parser_;
  line_hook on_line_;
  std::optional<id_register> ids_;
  line_cutter lines_{};
  record_lines records_;
};

/// What a first look at all of JOBS found. A file without requests is no error: it has zero.
struct jobs_survey {
  std::int64_t lines = 0;
  std::int64_t requests = 0;
  std::int64_t wanted = 0;           ///< of the requests: all, or the first that were asked for
  std::int64_t last_wanted = 0;      ///< their last line
  std::vector<std::string> origins;  ///< the first two
  bool all_idempotent = true;
  std::int64_t computing = 0;  ///< requests that may be repeated for that reason alone
  record_lines records{};
};

/// Checks that JOBS can be read. Errors: fatal(exit_usage) where it is neither - nor a regular
/// file.
void check_jobs(std::string const& path);

/// Reads a file twice, survey() and then next(), which refuses what has changed since, and standard
/// input once.
class jobs_file {
 public:
  /// `path`: a regular file, or "-". `on_line` is told each line once, in survey() or as standard
  /// input is read. `file` and `folder` of the options follow from `path`.
  /// Errors: fatal(exit_usage) where it cannot be read.
  jobs_file(std::string const& path, line_options, line_hook on_line = {});

  /// Standard input: it is checked as it is read.
  bool is_stream() const noexcept { return is_stream_; }
  int fd() const noexcept { return file_.fd(); }
  /// As errors name it.
  std::string const& name() const noexcept { return stream_.options().file; }
  steady_file& input() noexcept { return file_; }

  /// Looks through the whole file, all checks included. Requires: not a stream.
  /// `progress` is told now and then how many bytes of how many have been read; it may throw.
  /// `only`: that many requests are wanted; 0: all. `on_job` is told all; it may throw.
  jobs_survey survey(std::function<void(std::int64_t, std::int64_t)> const& progress = {},
                     std::int64_t only = 0, std::function<void(job const&)> const& on_job = {});

  /// The next request, waiting for input; nullopt at the end. Lines that were appended since
  /// survey() are left alone.
  std::optional<job> next();

  /// The next next() is the first again; `keeps_records`: with their records. Requires: survey().
  void rewind(bool keeps_records = false);

  /// For event loops: the next request of what has been read; nullopt: call fill() when fd() is
  /// readable.
  std::optional<job> ready() { return stream_.next(); }

  /// Reads once. False at the end, which may make a last request ready.
  bool fill();

 private:
  steady_file file_;
  bool is_stream_;
  std::size_t blocks_ = 0;  // of a file, that were read
  std::int64_t read_ = 0;
  job_stream stream_;
  std::string chunk_;  // of a stream
};

}  // namespace headway::app
