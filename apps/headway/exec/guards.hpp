/// The guards of a run.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/guard.hpp"

namespace headway::app {

/// As many as commands run at once, each made when it is needed and used again. A guard that was
/// killed leaves its place to another. Threads: one.
class guards {
 public:
  explicit guards(int most) : most_(most) {}
  ~guards() { end(); }
  guards(guards const&) = delete;
  guards& operator=(guards const&) = delete;

  /// So many commands may run at once.
  int most() const noexcept { return most_; }

  /// Returns the lowest that is idle; nullopt: there can be no further process, and from then on
  /// there are no more than `running`. Errors: fatal(exit_io) where none runs.
  std::optional<std::size_t> idle(int running);
  guard& operator[](std::size_t place) { return *all_[place].process; }
  bool has(std::size_t place) const { return all_[place].process != nullptr; }

  /// A guard runs a task from now on, or none. Returns the one before; -1: none.
  int runs(std::size_t place, int task) { return std::exchange(all_[place].task, task); }
  /// The tasks that run.
  std::vector<int> running() const;
  /// The processes of the guards that run one.
  std::vector<pid_t> busy() const;

  /// It was killed: ends what it ran, which is ours now.
  void lose(std::size_t place);
  /// Ends all, and what they ran.
  void end();

 private:
  struct slot {
    std::unique_ptr<guard> process{};
    int task = -1;
  };
  void end_orphans();

  int most_;
  std::vector<slot> all_{};
};

}  // namespace headway::app
