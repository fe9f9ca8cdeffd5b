/// A halt: why a run sends nothing more, and the exit code that makes.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "headway/time.hpp"

namespace headway::app {

/// Several reasons may come together; what is told in the end is the gravest. Threads: one.
class halt {
 public:
  /// Refused for good. `why`: a sentence; the first one is told.
  void stop(std::string why);
  /// One account was, and that has been said; the others go on.
  void stop_in_part() noexcept { in_part_ = true; }
  /// The lines of one scope are left open, and that has been said; the others go on.
  void leave_in_part() noexcept { left_in_part_ = true; }
  /// The input is not good.
  void fail(std::exception_ptr) noexcept;
  /// A signal that ends the run. The second one hurries.
  void interrupt(int signal) noexcept;
  /// --time-max is over.
  void time_out() noexcept;
  /// Its user has said so, by these words.
  void leave_off(std::string by = "headway ctl: run the same command again to go on");
  /// The reader of the results is gone.
  void drain() noexcept { draining_ = true; }

  /// Nothing new goes out …
  bool draining() const noexcept { return draining_; }
  /// … and what flies is not waited for.
  bool hurried() const noexcept { return hurried_; }
  /// By stop().
  bool refused() const noexcept { return !why_.empty(); }
  /// Some lines are left open.
  bool left_in_part() const noexcept { return left_in_part_; }
  /// The last one, or 0.
  int signal() const noexcept { return signal_; }

  /// Returns what is waited for before the run is over, in words: so many requests, for so long at
  /// most; `if_silent`: as long as no byte comes.
  std::string still_out(std::int64_t many, duration most, bool if_silent) const;

  /// Once the run is over: says why it halted, and returns its exit code; nullopt where it came to
  /// its own end. `unfinished`: something is left to do; `resumable`: there is a journal. Throws
  /// what the input failed with.
  std::optional<int> exit_code(bool unfinished, bool resumable) const;

 private:
  std::string why_;
  bool in_part_ = false, left_in_part_ = false;
  std::exception_ptr failure_;
  int signal_ = 0;
  bool out_of_time_ = false;
  std::string left_off_;  // by what
  bool draining_ = false;
  bool hurried_ = false;
};

}  // namespace headway::app
