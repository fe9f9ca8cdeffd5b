#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "headway/heap.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// The pending events of a simulation, earliest first; those of one instant in the order of push().
///
/// A heap of 16-byte entries: the instant, and a sequence number with the event's slot in its
/// low bits, so that one comparison of integers decides ties. The fastest queue that we measured
/// (`./dev bench`). Bounds: 2^24 pending events, 2^40 in all.
template <class Event>
class event_queue {
 public:
  /// Returns whether nothing is pending.
  bool empty() const noexcept { return size() == 0; }
  /// Returns the number of pending events.
  std::size_t size() const noexcept { return heap_.size() - (hole_ ? 1 : 0); }

  /// Adds an event. O(log n).
  void push(time_point at, Event event) {
    std::uint64_t slot = slots_.size();
    if (free_.empty()) {
      slots_.push_back(std::move(event));
    } else {
      slot = free_.back();
      free_.pop_back();
      slots_[slot] = std::move(event);
    }
    entry const e{at.time_since_epoch().count(), sequence_++ << slot_bits | slot};
    if (std::exchange(hole_, false))
      heap_.replace_top(e);
    else
      heap_.push(e);
  }

  /// Requires: not empty.
  std::pair<time_point, Event> pop() {
    if (std::exchange(hole_, true)) heap_.pop();
    auto const top = heap_.top();
    auto const slot = static_cast<std::size_t>(top.order & ((1U << slot_bits) - 1));
    free_.push_back(static_cast<std::uint32_t>(slot));
    return {time_point(duration(top.at)), std::move(slots_[slot])};
  }

 private:
  static constexpr unsigned slot_bits = 24;

  struct entry {
    std::int64_t at;
    std::uint64_t order;
    friend bool operator<(entry const& a, entry const& b) noexcept {
      return a.at != b.at ? a.at < b.at : a.order < b.order;
    }
  };

  heap<entry> heap_;
  std::vector<Event> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t sequence_ = 0;
  bool hole_ = false;  // what was on top is gone; mostly the next push takes its place
};

}  // namespace headway::sim
