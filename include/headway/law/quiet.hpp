#pragma once

#include <algorithm>
#include <cstdint>

namespace headway {

/// Tells when a low ceiling that has refused nothing for long is to be asked by a ramp: others may
/// have left, and climbs, which are counted in requests, would find that out minutes later.
///
/// Each ramp that is refused where the ceiling was makes the next one rarer, until the ceiling is
/// elsewhere. A limit of one's own is asked once or twice before a touch measures it.
///
/// Units: those of the level. Threads: a value. Source: scenarios/crowds/batch-4.toml; design/003,
/// "Company".
struct quiet {
  bool asks = false;  ///< a ramp does, now
  int ramps = 0;      ///< in a row that were refused about there
  double at = 0;      ///< the level at which the latest was refused; 0: none yet
  friend bool operator==(quiet const&, quiet const&) = default;

  static constexpr double seconds = 8;  ///< that a climb takes: it is slow; 4: 7/s refused 4 %
  static constexpr std::uint64_t first = 32;   ///< accepted since the latest refusal; 6: 8/min 29 %
  static constexpr int ramps_max = 16;         ///< each doubles what the next one needs
  static constexpr double elsewhere = 2;       ///< times as much, or as little
  static constexpr double where_it_was = 1.4;  ///< times it: a ramp doubles in six answers, or more

  /// Returns whether so many accepted since the latest refusal are enough to ask; `known`: tests
  /// have told of a limit, which counts as a ramp.
  bool enough(std::uint64_t accepted, double ceiling, bool known) const noexcept {
    return accepted >> ((known ? 1 : 0) + (is_near(ceiling) ? ramps : 0)) >= first;
  }

  /// Takes a refusal of the ramp. Returns whether the ceiling is where it was.
  bool refused(double level, double ceiling) noexcept {
    asks = false;
    ramps = is_near(level) ? std::min(ramps + 1, ramps_max) : 1;
    at = level;
    return level < where_it_was * ceiling;
  }

 private:
  bool is_near(double level) const noexcept {
    return level < elsewhere * at && at < elsewhere * level;
  }
};

}  // namespace headway
