#pragma once

#include <cstdint>
#include <cstdlib>

#include "headway/law/acceptances.hpp"
#include "headway/law/foothold.hpp"
#include "headway/law/vacancy.hpp"
#include "headway/time.hpp"

namespace headway {

/// Knows the latest cut, and what the cuts before it have in common with it: slots refuse at the
/// same number out, whatever the rate.
///
/// Threads: a value. Source: scenarios/slots-3.toml; design/003, "Few slots".
struct cuts {
  time_point at{};              ///< the latest
  double units = 0;             ///< accepted until then
  std::uint64_t successes = 0;  ///< until then
  double rate = 0;              ///< at which the refused request went, units per second
  int out = 0;                  ///< permits out when the refused request went, it included
  int alike = 0;                ///< in a row before it with as many out
  double first_rate = 0;        ///< that of the first of these
  int served = 0;               ///< accepted since then of those sent with as many out
  int in_vain = 0;              ///< in a row with hardly a success between them
  acceptances since{};          ///< of what was sent since the latest
  vacancy vacant{};             ///< asks whether it was slots
  foothold hold{};              ///< whether they cure anything
  friend bool operator==(cuts const&, cuts const&) = default;

  static constexpr int few = 8;          ///< a rate, too, has so many out now and then
  static constexpr double about = 0.05;  ///< of a number: nearly as many
  static constexpr double other = 1.22;  ///< times a rate is another
  static constexpr double turned = 0.1;  ///< of those out came back: as many are out by no chance
  static constexpr int sure = 3;         ///< cuts in a row with as few out: whatever the rate
  static constexpr int hardly = 3;       ///< fewer successes than this

  /// Takes a cut, with the units and successes so far.
  void next(time_point now, double units_now, std::uint64_t successes_now, double rate_now,
            int out_now) noexcept {
    alike = out_now == out ? alike + 1 : 0;
    if (alike == 0) {
      first_rate = rate_now;
      served = 0;
    }
    restart(now, units_now, successes_now);
    rate = rate_now;
    out = out_now;
  }
  /// Counts from now on, though nothing was cut.
  void restart(time_point now, double units_now, std::uint64_t successes_now) noexcept {
    at = now;
    units = units_now;
    successes = successes_now;
    since.restart();
  }

  /// The harvest of the time since a cut.
  struct harvest {
    double seconds = 0;          ///< of it
    std::uint64_t accepted = 0;  ///< of the requests that were sent in it
    double mean = 0;             ///< units per second that came back, until the rate is told better
    double told = 0;             ///< units per second accepted between the two refused sends
    bool many = false;           ///< enough were accepted to tell a rate
  };
  /// Returns the harvest since the latest, when a request of `sent` is refused after so many units
  /// of `unit` each came back, and `accepted` were accepted of what was sent. `tells`: the refusal
  /// tells of all that went before it.
  harvest harvested(time_point now, time_point sent, double units_now, double unit,
                    std::uint64_t accepted, bool tells) const noexcept {
    auto const lasted = std::max(to_seconds(now - at), 1e-6);
    auto const between = to_seconds(sent - at);
    auto const mean = (units_now - units + unit) / lasted;
    auto const told = tells && between > 0 ? static_cast<double>(accepted) * unit / between : mean;
    return {lasted, accepted, mean, told, accepted >= few};
  }

  /// Returns whether as many were out at the latest two cuts, and more than one.
  bool perhaps_slots() const noexcept { return alike > 0 && out > 1; }

  /// Returns whether a refusal at `rate_now` with so many out would speak for slots: as many were
  /// out at the latest cut, at another rate. Few must have been as many at three cuts, or at five
  /// at any rate, and less often accepted at as many meanwhile.
  bool speak_for_slots(double rate_now, int out_now) const noexcept {
    auto const differs = [&](double r) { return rate_now > other * r || r > other * rate_now; };
    if (out_now >= few) return std::abs(out_now - out) <= about * out_now && differs(rate);
    return out_now >= 2 && out_now == out && served <= alike &&
           (alike >= sure || (alike >= 1 && differs(first_rate)));
  }
};

}  // namespace headway
