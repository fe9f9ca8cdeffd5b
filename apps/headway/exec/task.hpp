/// A task: a job that has been read and has not ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "exec/input.hpp"
#include "exec/spool.hpp"
#include "headway/governor.hpp"
#include "pacing/lane.hpp"

namespace headway::app {

/// What becomes of a job, from its turn to wait until its end.
struct task {
  exec_item what{};
  lane* where = nullptr;  // null: there is none
  ticket id{};
  std::int64_t order = 0;  // of printing
  time_point read{}, sent{};
  std::optional<time_point> first_sent{};
  double began = 0;
  int attempts = 0, throttled = 0, refusals = 0, broken = 0;
  bool out = false, intended = false;
  std::uint64_t intent = 0;
  int guard = -1;
  int output_fd = -1, error_fd = -1, hints_fd = -1;
  spool output{}, error{};
  std::optional<time_point> kill_at{};
  std::string ended_by{};  // "timed out after 1 s" …
  bool cut_short = false;  // … or because all is to end, which is no result
  std::size_t argument_bytes = 0;
};

}  // namespace headway::app
