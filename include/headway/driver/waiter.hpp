#pragma once

#include <condition_variable>
#include <mutex>

#include "headway/export.hpp"
#include "headway/governor.hpp"

namespace headway::blocking {

/// One thread that waits for its turn, and only it: who tells it wakes no other.
///
/// Threads: wait() from the one that waits; tell(), lead() and stop() from any. Lives until wait()
/// has returned `told`, or nobody can reach it any more.
class HEADWAY_EXPORT waiter {
 public:
  /// Why wait() returned.
  enum class news : std::uint8_t { told, due, stopped };

  /// Blocks until it was told, stopped, or the instant it leads until has come.
  news wait();
  /// Its turn has come (`none`), or never will.
  void tell(refused const& answer);
  /// To wake at `until` on behalf of all who wait.
  void lead(time_point until);
  /// Its owner waits no longer.
  void stop();

  /// Of tell(). Requires: wait() returned `told`.
  refused const& answer() const noexcept { return answer_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  time_point until_ = never;
  bool told_ = false;
  bool stopped_ = false;
  refused answer_{};
};

}  // namespace headway::blocking
