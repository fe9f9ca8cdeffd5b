/// A part of JOBS: consecutive lines, read elsewhere as all of JOBS would have them read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "jobs/job.hpp"
#include "jobs/line_cutter.hpp"

namespace headway::app {

/// The jobs of whole records: none begins before the part, or goes on behind it.
/// Errors: as those of job_parser. Threads: distinct objects safe.
class jobs_part {
 public:
  /// `lines`: each with its end, the first of them is number `first` of JOBS. `preface`: the lines
  /// of JOBS, from the first on, that say how others are read: the header of a CSV, or what comes
  /// before and with the first record; "" where each line is a request.
  jobs_part(line_options, std::string_view preface, std::int64_t first, std::string_view lines);

  /// The next job; nullopt at the end.
  std::optional<job> next();

 private:
  job_parser parser_;
  line_cutter lines_{};
  std::int64_t const before_;  // the first line
};

}  // namespace headway::app
