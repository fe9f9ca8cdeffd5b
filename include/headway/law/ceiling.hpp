#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headway/law/quiet.hpp"

namespace headway {

/// Knows where refusals begin, how well that is known, and how soon it is asked again.
///
/// A ceiling that proves true is climbed to ever more slowly; one that moved, fast.
///
/// Units: those of the level, units per second or permits. Threads: a value. Source: design/003.
struct ceiling {
  double at = 0;         ///< 0: not met yet
  bool slots = false;    ///< the level is permits, not units per second
  bool touched = false;  ///< it was met from just below, hence measured, not guessed
  bool guess = false;    ///< it is one acceptance after a long search, hardly known
  bool resumed = false;  ///< the server was away, and a ceiling is from before: with care
  bool settled = false;  ///< it was met or nearly reached: the share that leave allows begins
  bool warm = false;     ///< it is remembered, and not met in this life yet
  double climb_seconds = climb_seconds_first;  ///< that a climb by one step takes at least
  double touch_rejects = 1;                    ///< that touching it costs
  int flight_rejects = 0;                      ///< since the last cut
  double ease = 1;    ///< of the share that leave allows: others were yielded to
  double answer = 0;  ///< seconds that an answer took when it was found
  double alone = 0;   ///< where it was before others were yielded to; 0: they were not
  quiet calm{};       ///< whether a ramp asks it, since it refuses nothing
  friend bool operator==(ceiling const&, ceiling const&) = default;

  static constexpr double below = 0.985;      ///< of it: where climbs begin
  static constexpr double dip = 0.95;         ///< after a touch: the server has too much already
  static constexpr double fallen_min = 0.6;   ///< of where it fell to, at least, …
  static constexpr double fallen_max = 0.95;  ///< … and at most, is sent then
  static constexpr double fallen = 0.9;       ///< of it: refused below that, it fell
  static constexpr double costly = 0.87;      ///< of it, if that refusal cost more than it gave
  static constexpr double eased = 0.9;        ///< of that share is back: the others may have gone
  static constexpr double yielded = 0.99;     ///< of it, once others were yielded to
  static constexpr double touch_min = 0.93;  ///< a bucket's rate is what it accepted, ± one request
  static constexpr double touch_max = 0.99;           ///< … of where it was touched
  static constexpr double proven_min = 0.98;          ///< as touch_min, after a long climb, …
  static constexpr double proven_max = 1.02;          ///< … of what it was before, at most
  static constexpr double step = 0.03;                ///< of it: one climb
  static constexpr double climb_seconds_first = 1.5;  ///< 4: a limit that rose is found 2 s later
  static constexpr double climb_seconds_fell = 1;     ///< once it fell
  static constexpr double climb_seconds_max = 12;     ///< of a rate; 6: stationary 0.23, not 0.14 %
  static constexpr double climb_seconds_slow = 6;     ///< slots, queues, what is remembered
  static constexpr double confirmed = 1.15;           ///< times longer, when it proves true
  static constexpr double touch_smoothing = 4;        ///< touches
  static constexpr double faster = 3;                 ///< answers: slots give that much more
  static constexpr std::uint64_t rare = 40;  ///< accepted between two rejects: no descent any more

  /// Returns where climbs begin.
  double rest() const noexcept { return slots ? std::max(below * at, at - 1) : below * at; }

  /// Returns whether the server was away before any was met: what is sent then may jam it.
  bool begins_anew() const noexcept { return resumed && at == 0; }

  /// Returns whether it was found, and not measured, while answers took far longer than now. It may
  /// have been slots, which were few a second.
  bool was_slow(double answer_now) const noexcept {
    return !touched && answer > faster * answer_now;
  }

  /// Ends a ramp that asks it, if there is one: it is found, while an answer takes that long.
  void end_ramp(double answer_now) noexcept {
    answer = answer_now;
    if (std::exchange(calm.asks, false) && touched) guess = false;
  }

  /// Takes that others, which come first, are there.
  void yield(double ease_min) noexcept {
    ease = std::max(ease / 2, ease_min);
    alone = std::max(alone, at);
    at *= yielded;
  }
  /// Returns whether it may be higher again: others were yielded to, and have not come since.
  bool recovers() const noexcept { return at < alone && ease >= eased; }

  /// Takes a refusal far below it.
  void fall(double to) noexcept {
    at = to;
    climb_seconds = climb_seconds_fell;
    touched = false;
  }

  /// Takes a refusal at `level`, about where one was expected; `mean` is what was accepted per
  /// second since the cut before, `accepted` how many of these were sent since. `trusts`: climbs
  /// become slower while it proves true.
  void touch(double level, double mean, std::uint64_t accepted, bool trusts) noexcept {
    auto const most = slots ? climb_seconds_slow : climb_seconds_max;
    if (trusts && level < at)
      climb_seconds = std::max(climb_seconds_first, climb_seconds / confirmed);
    else if (trusts)
      climb_seconds = std::max(climb_seconds, std::min(climb_seconds * confirmed, most));
    // A full bucket lets a climb pass the rate; without a burst the mean is below it.
    auto const low =
        accepted < rare ? touch_min * level : proven_min * std::min(level, proven_max * at);
    at = slots ? level : std::clamp(mean, low, touch_max * level);
    touched = true;
    if (accepted >= rare) settled = true;
  }

  /// Believes what was believed before a cut.
  void take_back(ceiling const& before) noexcept {
    at = before.at;
    slots = before.slots;
    touched = before.touched;
    guess = before.guess;
    climb_seconds = before.climb_seconds;
  }

  /// Takes a cut: what the touch has cost.
  void count_rejects() noexcept {
    if (touched) touch_rejects += (flight_rejects - touch_rejects) / touch_smoothing;
    flight_rejects = 0;
  }
};

}  // namespace headway
