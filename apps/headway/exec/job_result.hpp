/// What a job leaves behind: a line of the results, and one of the job log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcomes.hpp"
#include "exec/spool.hpp"
#include "headway/time.hpp"

namespace headway::app {

struct job_result {
  std::string_view id{};
  std::int64_t line = 0, number = 0;
  final_outcome how = final_outcome::success;
  int exit = 0, signal = 0;  ///< of the last attempt
  int attempts = 0, throttled = 0;
  double began = 0;  ///< the last attempt, in seconds of the epoch
  duration took{};   ///< … and how long it took
  std::string_view reason{};
  spooled const* output = nullptr;
  spooled const* error = nullptr;
  std::string_view output_file{}, error_file{};  ///< where they are; "": in the result
  bool cut = false;  ///< some process that could not be ended still had an output open
};

/// Returns one JSON object without line feed. An output that is not UTF-8 is there as base64, with
/// `_base64` after its name; one that is in a file, by its path.
std::string line_of(job_result const&);

/// The first line of GNU parallel's --joblog.
inline constexpr char job_log_head[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
/// Returns its line of a job.
std::string log_line_of(job_result const&, std::string_view command);

/// Returns `arguments` as a shell takes them, as GNU parallel writes them.
std::string shell_words(std::vector<std::string> const& arguments);

}  // namespace headway::app
