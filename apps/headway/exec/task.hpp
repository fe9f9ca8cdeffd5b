/// A task: a job that has been read and has not ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "exec/command_pipes.hpp"
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
  command_pipes pipes{};
  spool output{}, error{};
  std::string attempt{};  // its name among --keep-attempts
  std::optional<time_point> kill_at{};
  std::string ended_by{};  // "timed out after 1 s" …
  bool cut_short = false;  // … or because all is to end, which is no result
  std::size_t argument_bytes = 0;

  /// Returns in words what becomes of it now. Requires: it has a lane.
  std::string words(time_point now) const;
};

/// Tasks that are read ahead, at most.
inline constexpr std::size_t tasks_max = 1024;

/// Tasks by a number, which is used again once its task is forgotten. Threads: one.
class task_table {
 public:
  std::uint32_t add();
  void forget(std::uint32_t index);

  task& operator[](std::uint32_t index) { return all_[index]; }
  /// How many there are.
  std::size_t live() const noexcept { return live_; }
  /// Numbers are below this.
  std::uint32_t end_index() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }

 private:
  std::deque<task> all_;
  std::vector<std::uint32_t> free_;
  std::size_t live_ = 0;
};

}  // namespace headway::app
