/// The printer: outputs of commands to our own, each of them whole.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "exec/spool.hpp"

namespace headway::app {

/// What a command printed, and what stands before each line of it.
struct printed {
  std::string tag{};
  spooled output{}, error{};
};

/// One thread writes, so that a slow reader of our output holds nothing up but what comes after it.
/// Threads: all functions from one thread.
class printer {
 public:
  /// `ordered`: by their numbers, which begin with 1 and have no gap.
  explicit printer(bool ordered);
  /// Writes what can be written, unless the reader is gone.
  ~printer();
  printer(printer const&) = delete;
  printer& operator=(printer const&) = delete;

  void print(std::int64_t number, printed);
  /// There is nothing of that number.
  void skip(std::int64_t number) { print(number, {}); }

  /// Bytes of memory, and how many, that wait.
  std::size_t pending_bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::size_t pending() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Returns the errno that ended it, 0 while it can write. EPIPE: the reader of our output is
  /// gone.
  int failure() const noexcept { return failure_.load(std::memory_order_relaxed); }
  /// Writes what waits, behind a gap or not; nothing follows. Returns failure().
  int end();

 private:
  void stop();
  void work();
  void write(printed const&);
  void write(int fd, std::string const& tag, spooled const&);
  void put(int fd, std::string const& tag, std::string_view, bool& line_begins);

  bool const ordered_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::int64_t, printed> waiting_;
  std::int64_t next_ = 1;
  bool stopping_ = false, gaps_ = true;
  std::atomic<std::size_t> bytes_{0}, count_{0};
  std::atomic<int> failure_{0};
  std::thread thread_;
};

}  // namespace headway::app
