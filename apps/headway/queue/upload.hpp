/// Uploading JOBS into a queue.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "os/steady_file.hpp"
#include "queue/queue.hpp"

namespace headway::app {

/// JOBS as it was surveyed.
struct upload_plan {
  std::string name;             ///< of the queue
  std::string jobs;             ///< the input's name as users know it
  std::vector<bool> requests;   ///< the lines where requests begin, the first is 1
  std::vector<bool> goes_on{};  ///< the line belongs to the one before
  std::string shape{};          ///< what else makes requests of the lines, and must be what it was
  std::string options{};        ///< what workers are told
  /// The line as workers get it, if it is another: with the file of its body in it.
  std::function<std::string(std::int64_t line, std::string_view text)> as_sent{};
  /// Told now and then how many lines of how many are there; may throw, and so end the upload.
  std::function<void(std::int64_t, std::int64_t)> progress{};
};

/// The name of a queue for a file of requests: `jobs` for in/jobs.jsonl.
std::string queue_name_of(std::string_view jobs);

/// Uploads JOBS and seals the queue, or joins the one that has these lines under this name; goes on
/// where one that was killed has left off, or beside one that runs. Until the seal no worker is
/// handed anything.
///
/// Errors: fatal(exit_usage) that names the line where the queue of this name is of other lines,
/// where the shape is another, and where a line is too long; those of queue_engine and of `jobs`.
queue_facts upload(queue_engine&, steady_file& jobs, upload_plan const&);

inline constexpr std::int64_t block_lines_max = 1000;
inline constexpr std::size_t block_bytes_usual = std::size_t{1}
                                                 << 20;  ///< more only for one record
inline constexpr std::size_t queue_line_bytes_max = std::size_t{1} << 20;
inline constexpr std::size_t record_bytes_max = std::size_t{8}
                                                << 20;  ///< with the file of its body

}  // namespace headway::app
