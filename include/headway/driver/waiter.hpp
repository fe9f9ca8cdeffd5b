#pragma once

#include <condition_variable>
#include <mutex>

#include "headway/export.hpp"
#include "headway/governor.hpp"

namespace headway::blocking {

/// One thread that waits for its turn; telling it wakes no other.
///
/// Threads: wait() from the waiting thread; tell(), lead() and stop() from any. Lives until wait()
/// has returned `told`, or no thread can reach it any more.
class HEADWAY_EXPORT waiter {
 public:
  /// Reason why wait() returned.
  enum class news : std::uint8_t { told, due, stopped };

  /// Blocks until told, stopped, or the instant that it leads until has come.
  news wait();
  /// Tells that its turn has come (`none`), or never will.
  void tell(refused const& answer);
  /// Makes it wake at `until` on behalf of all waiting threads.
  void lead(time_point until);
  /// Stops the wait.
  void stop();

  /// Returns the argument of tell(). Requires: wait() returned `told`.
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
