#include "headway/driver/waiter.hpp"

#include "headway/driver/clock.hpp"

namespace headway::blocking {

waiter::news waiter::wait() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (told_) return news::told;
    if (stopped_) {
      stopped_ = false;
      return news::stopped;
    }
    if (until_ == never) {
      changed_.wait(lock);
    } else if (until_ > steady_now()) {
      changed_.wait_until(lock, std::chrono::steady_clock::time_point(until_.time_since_epoch()));
    } else {
      until_ = never;
      return news::due;
    }
  }
}

// Each notifies under its mutex: once told, the waiter may be gone.
void waiter::tell(refused const& answer) {
  std::lock_guard const lock(mutex_);
  told_ = true;
  answer_ = answer;
  changed_.notify_one();
}
void waiter::lead(time_point until) {
  std::lock_guard const lock(mutex_);
  until_ = until;
  changed_.notify_one();
}
void waiter::stop() {
  std::lock_guard const lock(mutex_);
  stopped_ = true;
  changed_.notify_one();
}

}  // namespace headway::blocking
