#pragma once

#include <algorithm>

#include "headway/law/ban.hpp"
#include "headway/law/ceiling.hpp"
#include "headway/law/company.hpp"

namespace headway {

/// Tells how fast accepted units make a level grow: how many of them double it, bring it to where
/// climbs begin, make one climb, give back one stride (docs/law.md, equations 1 to 4).
///
/// Units: those of requests, which cost `unit` on the average. Threads: a value. Source:
/// design/003.
struct growth {
  double rate = 0;         ///< that is sent, units per second
  double unit = 1;         ///< cost of a request, its mean
  double answer = 0;       ///< time of an answer, seconds
  std::uint64_t calm = 0;  ///< successes so far, once it is known what nothing queues takes

  static constexpr double ramp_seconds_max = 0.7;   // to double: 0.5 hears a 150 ms reject too late
  static constexpr double ramp_seconds_min = 0.05;  ///< however fast answers come
  static constexpr double ramp_waits = 4;           ///< … nor in less than so many answers' time
  static constexpr double ramp_answers = 20;        // … and not in fewer than tell a small limit
  static constexpr double guess_answers = 16;       ///< as ramp_answers, above a guess, …
  static constexpr double guess_answers_min = 6;  ///< … if they take `guess_seconds`, else these
  static constexpr double guess_seconds = 4;   ///< 16 answers a doubling starve the hardly served
  static constexpr double known_factor = 1.5;  ///< less steep, a ramp above a known ceiling
  static constexpr std::uint64_t anew_calm = 48;     ///< 24: held-out/shared-2-gateway 2.7, not 1.5
  static constexpr double approach_answers = 12;     ///< to where climbs begin …
  static constexpr double approach_seconds = 0.3;    ///< … or so long; a second, after an outage
  static constexpr double climb_units = 8;           ///< requests of one climb, at least …
  static constexpr double climb_units_measured = 3;  ///< … to a measured rate
  static constexpr double climb_guessed = 20;  ///< requests of one, while the ceiling is a guess
  static constexpr double climb_answers = 8;   ///< or their time; 0: steps of slots 1.7, not 1.3
  static constexpr double climb_seconds_max = 20;  ///< … at most; of slots see `ceiling`
  static constexpr double climb_haste = 4;         ///< of a climb that meets no reject

  /// Returns the units in which a ramp doubles. Where a refusal may shut the server for
  /// `ban_seconds`, it is slow; 0: none is known to. So it is where the server was away, and slower
  /// still until `anew_calm` successes have come.
  double doubling(ceiling const& top, double ban_seconds) const noexcept {
    auto seconds = std::max(ramp_waits * answer, ramp_seconds_min);
    auto const anew = !top.begins_anew() ? 0 : calm < anew_calm ? seconds : seconds / 2;
    seconds = std::min(seconds, std::max(anew, ramp_seconds_max));
    seconds = std::max((top.at > 0 ? known_factor : 1) * seconds, ban::doubling * ban_seconds);
    auto const doublings = std::min(answer / seconds, 2.0);
    auto const late = 1 + doublings * (1 + doublings) / 2;  // answers tell of older rates
    auto const answers = top.guess || ban_seconds > 0 ? std::clamp(rate * guess_seconds / unit,
                                                                   guess_answers_min, guess_answers)
                                                      : ramp_answers;
    return std::max(rate * seconds / late, answers * unit);
  }

  /// Returns the units in which all but 1/e of the way to where climbs begin is made.
  double approach(bool resumed) const noexcept {
    return std::max(approach_answers * unit, (resumed ? 1 : approach_seconds) * rate);
  }

  /// Returns the units of one climb, of which the reject that it costs is a share of `waste`, so
  /// that it is heard before the next. `above` is the level ÷ its ceiling, of which `there` units
  /// go a second; a reject there costs `lost` units besides itself.
  double climb(ceiling const& top, double above, double there, double lost,
               double waste) const noexcept {
    auto const measured = top.touched && !top.slots;
    auto const heard = std::min(climb_answers * answer,
                                top.slots ? ceiling::climb_seconds_slow : climb_seconds_max);
    auto const paid =
        top.touched ? (top.touch_rejects * unit + lost) / waste : climb_guessed * unit;
    auto const least =
        std::max((measured ? climb_units_measured : climb_units) * unit, rate * answer);
    auto needed = std::max(paid, there * std::max(top.climb_seconds, heard));
    above -= measured ? 1 : 1 + ceiling::step;
    for (; above > 0 && needed > least; above -= ceiling::step)
      needed /= climb_haste;  // the expected reject did not come
    return std::max(needed, least);
  }

  /// Returns the units in which a stride of others' is given back: those of `stride_seconds()`, and
  /// above the ceiling half for each stride, to a bound.
  double stride(double above, company const& others) const noexcept {
    auto needed = rate * others.stride_seconds();
    auto const least = std::max({rate * answer, unit, needed / company::haste_max});
    for (above -= 1; above > 0 && needed > least; above -= others.stride()) needed /= 2;
    return std::max(needed, least);
  }
};

}  // namespace headway
