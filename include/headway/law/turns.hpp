#pragma once

#include <algorithm>

#include "headway/time.hpp"

namespace headway {

/// Knows when the next request may go, and whether the pace was in use lately.
///
/// Threads: a value. Source: scenarios/late-rate.toml; design/003, "Late wake-ups".
struct turns {
  time_point next{};                      ///< not before this
  time_point behind = time_point::min();  ///< the latest send that came later than its pace
  bool ahead = false;                     ///< turns are dealt ahead, and answers are heard late
  friend bool operator==(turns const&, turns const&) = default;

  static constexpr double behind_seconds = 0.01;  ///< so long after a late send pace does not bind

  /// Takes a turn; the next is `interval` later. What came at most `slack` late is made up for.
  /// Returns whether it came later than that.
  bool take(time_point now, duration interval, duration slack) noexcept {
    bool const late = now - next > slack;
    if (late) behind = now;
    next = later(std::max(next, now - slack), interval);
    return late;
  }
  /// Lets none go before `seconds` from now.
  void wait(time_point now, double seconds) noexcept {
    next = std::max(next, later(now, from_seconds(seconds)));
  }
  /// Lets one go at `seconds` from now.
  void hurry(time_point now, double seconds) noexcept {
    next = std::min(next, later(now, from_seconds(seconds)));
  }
  /// Returns whether no send came late since `answer` seconds, an answer's time: the pace binds.
  bool bind(time_point now, double answer) const noexcept {
    return now >= later(behind, from_seconds(std::max(answer, behind_seconds)));
  }
};

}  // namespace headway
