#include "exec/task.hpp"

#include <fmt/format.h>

#include "base/words.hpp"

namespace headway::app {

std::string task::words(time_point now) const {
  if (out) return fmt::format("runs for {}, attempt {}", in_words(now - sent), attempts);
  auto const held = where->why(now);
  return fmt::format("waits in the queue of {} for {}, for attempt {}{}", where->title(),
                     in_words(now - read), attempts + 1,
                     held.why == reason::none ? std::string()
                                              : fmt::format("; what holds the first there: {}",
                                                            where->name_of(held.why)));
}

std::uint32_t task_table::add() {
  ++live_;
  if (free_.empty()) {
    all_.emplace_back();
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  auto const index = free_.back();
  free_.pop_back();
  return index;
}

void task_table::forget(std::uint32_t index) {
  all_[index] = {};
  free_.push_back(index);
  --live_;
}

}  // namespace headway::app
