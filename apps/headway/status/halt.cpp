#include "status/halt.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/fatal.hpp"
#include "base/words.hpp"

namespace headway::app {

void halt::stop(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  drain();
}

void halt::fail(std::exception_ptr failure) noexcept {
  failure_ = std::move(failure);
  drain();
}

void halt::interrupt(int signal) noexcept {
  hurried_ = signal_ != 0;
  signal_ = signal;
  drain();
}

void halt::time_out() noexcept {
  out_of_time_ = true;
  drain();
}

void halt::leave_off(std::string by) {
  left_off_ = std::move(by);
  drain();
}

std::string halt::still_out(std::int64_t many, duration most, bool if_silent) const {
  return fmt::format("{} still out, {} at most{}{}", many, in_words(most),
                     if_silent ? " if silent" : "",
                     signal_ != 0 ? "; a second signal stops at once" : "");
}

std::optional<int> halt::exit_code(bool unfinished, bool resumable) const {
  if (!why_.empty()) {
    say(fmt::format("stopped: {}", why_));
    return exit_stopped;
  }
  if (in_part_) return exit_stopped;
  if (failure_) std::rethrow_exception(failure_);
  if (signal_ != 0 && unfinished) {
    say(resumable ? "interrupted: run the same command again to go on" : "interrupted");
    return 128 + signal_;
  }
  if (out_of_time_ && unfinished) {
    say("out of time (--time-max): run the same command again to go on");
    return exit_parked;
  }
  if (!left_off_.empty() && unfinished) {
    say("stopped by " + left_off_);
    return exit_parked;
  }
  if (left_in_part_) {
    say("parked: the lines of servers that could not be reached, only failed or refuse the caller "
        "are left; run the same command again later");
    return exit_parked;
  }
  return std::nullopt;
}

}  // namespace headway::app
