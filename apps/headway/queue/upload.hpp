/// Uploading JOBS into a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/steady_file.hpp"
#include "queue/queue.hpp"

namespace headway::app {

inline constexpr std::size_t queue_line_bytes_max = std::size_t{1} << 20;  ///< as it is in JOBS
inline constexpr std::size_t queue_body_bytes_max = std::size_t{1} << 20;  ///< of a body_file
inline constexpr std::size_t block_bytes_usual = std::size_t{1} << 20;     ///< more: one record

/// JOBS as it was surveyed, and what becomes of it.
struct upload_plan {
  std::string name;             ///< of the queue
  std::string jobs;             ///< the input's name as users know it
  std::vector<bool> requests;   ///< the lines where requests begin, the first is 1
  std::vector<bool> goes_on{};  ///< the line belongs to the one before
  std::string shape{};          ///< what else makes requests of the lines, and must be what it was
  std::string options{};        ///< what workers are told
  std::int64_t lines = 0;       ///< so many of it are enough for now, the first ones; 0: all
  std::vector<quota_units> spend_max{};  ///< of all workers, before the first one begins
  /// Of JOBS, if its lines are requests: the body files that they name go with them.
  std::optional<std::filesystem::path> folder{};
  /// Told now and then how many lines of how many are there; may throw, and so end the upload.
  std::function<void(std::int64_t, std::int64_t)> progress{};
};

/// Returns the name of a queue for a file of requests: `jobs` for in/jobs.jsonl.
std::string queue_name_of(std::string_view jobs);

/// Uploads JOBS and seals the queue, or joins the one that has these lines under this name; goes on
/// where one that was killed has left off, or beside one that runs. Until the seal no worker is
/// handed anything.
///
/// Errors: fatal(exit_usage) that names the line where the queue of this name has another, where
/// the shape is another, and where a line or body is too long; those of queue_engine and `jobs`.
queue_facts upload(queue_engine&, steady_file& jobs, upload_plan const&);

/// Returns a line of JOBS with its body_file, of `folder`, as its body; as it is if it names none.
/// Errors: std::invalid_argument.
std::string with_its_body(std::string_view line, std::filesystem::path const& folder);

}  // namespace headway::app
