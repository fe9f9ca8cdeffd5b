#pragma once

#include <algorithm>
#include <cmath>

namespace headway {

/// Knows a window by its openings: its length, whether it is one's own, or whether others share it.
/// To tell that, requests go faster for two cycles, from one opening to the next, in the second one
/// faster still.
///
/// A window that is one's own accepts as many whatever the pace, so that this costs nothing. Of one
/// that is shared it takes more: a client with the share s of it gets 2 (1 + s/4) / (5/4 (1 + s))
/// of what it got in the cycle before. Without that a client that has most of a window meets its
/// end at the same ceiling each time, as if it were alone.
///
/// Threads: a value. Source: scenarios/crowds/window-8.toml; design/003, "Shared windows".
struct spurt {
  double seconds = 0;  ///< of the last cycle; 0: none yet
  double units = 0;    ///< accepted in it
  int step = 0;        ///< of the spurt in this cycle; 0: there is none
  double length = 0;   ///< of a window, seconds, if cycles are as long, or longer by whole windows
  int even = 0;        ///< cycles in a row that are
  int equal = 0;       ///< cycles in a row that gave just as many as the one before
  friend bool operator==(spurt const&, spurt const&) = default;

  static constexpr double first = 1.25;   ///< times the pace
  static constexpr double second = 2;     ///< times the pace
  static constexpr double often = 0.25;   ///< share of the cycles that a spurt may follow
  static constexpr double alike = 0.1;    ///< of a cycle: another that differs less is as long
  static constexpr double requests = 16;  ///< in a cycle, at least, to tell anything
  static constexpr double same = 0.01;    ///< of what was accepted: as many
  static constexpr double more = 0.07;    ///< accepted, and two requests: there are others
  static constexpr double about = 0.2;    ///< of a window: a cycle that differs less is one …
  static constexpr double several = 1.6;  ///< … and so many times as long and more, several
  static constexpr double few = 3;        ///< requests, which are as many by chance
  static constexpr int proof = 2;         ///< cycles in a row that show a window …
  static constexpr int own_proof = 3;     ///< … and that it is one's own
  static constexpr int most = 8;          ///< cycles that are counted

  /// Returns the seconds of a window; 0: none is known.
  double window() const noexcept { return even < proof ? 0 : length; }
  /// Returns whether it is one's own: none that is shared gives as many so often.
  bool own() const noexcept { return equal >= own_proof; }

  /// Returns how many times the pace requests go in this cycle.
  double factor() const noexcept { return step == 0 ? 1 : step == 1 ? first : second; }

  /// Returns whether so many units of `unit` each are as many as in the cycle before: a window of
  /// one's own gives as many, and one's share of another seldom is.
  bool gives_as_many(double accepted, double unit) const noexcept {
    return accepted > requests * unit && std::abs(accepted - units) <= std::max(unit, same * units);
  }

  /// Takes an opening, `lasted` seconds and `accepted` units of so many each after the one before,
  /// in which the window closed `closings` times. `u` in [0, 1) decides whether a spurt may follow:
  /// clients that ask in step learn nothing. Returns whether the spurt that ends has shown others.
  bool opened(double lasted, double accepted, double unit, int closings, double u) noexcept {
    bool const one = std::abs(lasted - length) < about * length;
    bool const fits = closings <= 1 && length > 0 && (one || lasted > several * length);
    even = fits ? std::min(even + 1, most) : even / 2;
    if (one || even == 0) length = lasted;
    bool const as_many = accepted > few * unit && std::abs(accepted - units) < unit / 2;
    equal = as_many ? std::min(equal + 1, most) : 0;
    bool const regular =
        std::abs(lasted - seconds) < alike * seconds && closings <= 1 && accepted > requests * unit;
    auto const enough = (1 + more) * units + 2 * unit;
    bool const shows =
        regular && step == 2 && accepted > enough && accepted * seconds > enough * lasted;
    if (step == 1)
      step = closings <= 1 ? 2 : 0;
    else
      step = regular && step == 0 && u < often ? 1 : 0;
    seconds = lasted;
    units = accepted;
    return shows;
  }
};

}  // namespace headway
