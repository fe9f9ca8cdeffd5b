#pragma once

#include <algorithm>
#include <cmath>

namespace headway {

/// Tells whether others share a window: for two cycles, from one opening to the next, requests go
/// faster, in the second one faster still.
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
  friend bool operator==(spurt const&, spurt const&) = default;

  static constexpr double first = 1.25;   ///< times the pace
  static constexpr double second = 2;     ///< times the pace
  static constexpr double often = 0.25;   ///< share of the cycles that a spurt may follow
  static constexpr double alike = 0.1;    ///< of a cycle: another that differs less is as long
  static constexpr double requests = 16;  ///< in a cycle, at least, to tell anything
  static constexpr double same = 0.01;    ///< of what was accepted: as many
  static constexpr double more = 0.07;    ///< accepted, and two requests: there are others

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
    bool const regular = seconds > 0 && std::abs(lasted - seconds) < alike * seconds &&
                         closings <= 1 && accepted > requests * unit;
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
