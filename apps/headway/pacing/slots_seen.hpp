/// Slots of a server, as its refusals show them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "pacing/in_order.hpp"

namespace headway::app {

/// Knows how many were accepted and not yet answered at each refusal. Attempts come in the order in
/// which they were sent. Threads: a value.
class slots_seen {
 public:
  static constexpr std::size_t most = 512;  ///< slots that are told

  void take(tried const&);

  /// From so many to so many.
  struct range {
    std::size_t least = 0, most = 0;
    bool exact() const noexcept { return least == most; }
  };
  /// Returns what all but a few refusals agree on and no acceptance speaks against, where that
  /// tells something; of few refusals nothing.
  std::optional<range> told() const;
  /// Returns the same of any refusals, where they agree.
  std::optional<range> out() const;
  /// Returns whether it can be slots that refuse.
  bool may_be() const { return refusals_.size() < refusals_min || agreed().has_value(); }
  /// Returns whether answers take so differently long that slots and a rate are not the same.
  bool tells_from_rate() const noexcept;

 private:
  struct flight {
    time_point sent{}, answered{};
  };
  struct refusal {
    time_point sent{};
    duration took{};
    std::size_t least = 0, most = 0;  // out there when it came: surely, perhaps
  };
  static constexpr std::size_t refusals_max = 64, refusals_min = 3;

  std::optional<range> agreed() const;
  /// Returns how many of those out were there all the while from `from` to `to`, `way` is what one
  /// takes at most to get there or back.
  std::size_t surely(time_point from, time_point to, duration way) const;

  std::vector<flight> flying_{};                  // what was accepted, and may be out
  std::deque<refusal> refusals_{};                // the latest; of a row the first
  std::array<std::uint32_t, most + 1> beside_{};  // acceptances by how many were surely out
  std::uint64_t accepted_ = 0;
  duration way_{};                      // of the slowest refusal, there and back
  duration stood_{};                    // the longest time in which it accepted nothing
  time_point last_{};                   // when the last one that was accepted went
  double took_ = 0, took_squares_ = 0;  // seconds of what was accepted
  bool row_ = false;
};

}  // namespace headway::app
