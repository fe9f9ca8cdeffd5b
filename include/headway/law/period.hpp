#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "headway/law/acceptances.hpp"
#include "headway/law/ban.hpp"
#include "headway/time.hpp"

namespace headway {

/// Follows a server from one opening to the next: what it accepted, and how long it was shut.
/// Either it has a period (or a rate far below ours), and accepted ÷ cycle is its rate; or it was
/// away, and is what it was.
///
/// A server that accepts nothing is probed at intervals that grow with the time since it shut,
/// faster the less it has ever accepted, and where windows end as people write them.
///
/// Threads: a value. Source: design/003.
struct period {
  time_point began{};    ///< opened
  double accepted = 0;   ///< units sent since then and not refused
  int cuts = 0;          ///< since then
  bool shut = false;     ///< nothing is accepted
  time_point since{};    ///< the first refusal of the row
  time_point refused{};  ///< the last
  time_point probed{};   ///< the latest send while it was shut
  time_point held{};     ///< until then the server lets nothing go, as it said
  bool told = false;     ///< it said how long it is shut, and was refused nothing since
  double refusal = 0;    ///< the longest time of a refusal lately, seconds; 0: none yet
  double costs = 0;      ///< seconds that the latest refusal told to wait, `ban::brief` at most
  double closed = 0;     ///< seconds that it was shut, last time
  int alike = 0;         ///< closings in a row that were not much longer than the one before
  int lost = 0;          ///< probes, since one was heard, that no answer will come to
  ban banned{};          ///< whether a refusal shuts it
  friend bool operator==(period const&, period const&) = default;

  static constexpr double patience = 10;  ///< of the time since it shut, at the first success; …
  static constexpr double patience_min = 0.2;   ///< … at many: 30 s are missed by < 6
  static constexpr double patience_max = 2;     ///< 4 starves clients that were never served
  static constexpr double probe_seconds = 180;  ///< longer only if it is shut for half an hour, …
  static constexpr double probe_share = 0.1;    ///< … and then this share of that time …
  static constexpr double unserved_seconds = 10;  ///< shut before it served; 0: fleet-100x20 99 s
  static constexpr double unserved_max = 30;  ///< … but before anything was accepted; 15: fleets; …
  static constexpr std::uint64_t served = 3;  ///< … and before so many, or a fifth of the time
  static constexpr double probe_seconds_max = 86400;  ///< … and a day at most, or time ends
  static constexpr int lost_max = 30;                 ///< … and so many lost ones
  static constexpr std::uint64_t many = 20;           ///< accepted before a refusal: no closing
  static constexpr double silence = 4;                ///< times a refusal: no other comes any more
  static constexpr double fades = 0.9;          ///< of the longest refusal is left at the next
  static constexpr double refusal_min = 0.001;  ///< seconds
  static constexpr double much = 4;             ///< times as long, or as fast, is another kind

  /// Returns whether hardly anything was ever accepted.
  static bool hardly(std::uint64_t successes) noexcept { return successes < served; }

  /// Takes a send.
  void sent(time_point now, double units) noexcept {
    if (began == time_point{}) began = now;
    accepted += units;
  }
  /// Takes units back that were sent then: refused, or not sent after all.
  void take_back(double units, time_point sent) noexcept {
    if (sent >= began) accepted -= units;
  }

  /// Takes that no answer will come to the latest probe. Returns in how many turns another may go:
  /// in twice as many each time, so that what is never heard is asked ever more rarely.
  double lose() noexcept {
    probed = refused;
    return std::ldexp(1, lost < lost_max ? lost++ : lost);
  }

  /// Takes the time of a refusal, in seconds.
  void hear_refusal(double took) noexcept {
    refusal = std::max({took, fades * refusal, refusal_min});
  }
  /// Returns whether what is not refused is known to be accepted long before its answer, which
  /// takes `answer` seconds.
  bool silence_tells(double answer) const noexcept {
    return refusal > 0 && answer > acceptances::slow &&
           acceptances::tells(silence * refusal, answer);
  }
  /// Returns whether the latest probe was accepted: it is not refused by now.
  bool let_pass(time_point now) const noexcept {
    return probed > refused && now >= later(probed, from_seconds(silence * refusal));
  }

  /// Takes that the server lets nothing go for so long, a day at most.
  void hold(time_point now, duration lasts) noexcept {
    held = std::max(held, later(now, std::min(lasts, from_seconds(probe_seconds_max))));
  }
  /// Takes a send of so many units that the caller did not want before, though it could have gone
  /// at `from`. What was accepted before a pause longer than the cycle so far tells no rate; and
  /// where it was shut for much less, nothing tells whether it was meanwhile.
  void idle(time_point from, time_point now, double units) noexcept {
    auto const pause = now - from;
    if (shut && to_seconds(pause) > much * to_seconds(from - since)) {
      began += pause;
      since += pause;
      refused += pause;
    } else if (!shut && pause > from - began) {
      began = now;
      accepted = units;
      cuts = 0;
    }
  }
  /// Takes a cut after some were accepted.
  void cut() noexcept {
    ++cuts;
    banned.cut();
  }
  /// Takes a refusal that cuts, of what was sent at `sent`.
  void refuse(time_point sent) noexcept {
    if (!shut) since = refused = sent;
  }
  /// Takes a refusal that says that nothing is accepted. Returns whether that is new.
  bool close(time_point sent) noexcept {
    told = told && sent <= refused;
    lost = 0;
    refused = std::max(refused, sent);  // a hint may have told it before
    return !std::exchange(shut, true);
  }
  /// Takes that the server said now for how long it is shut.
  void announce(time_point now) noexcept {
    refuse(now);
    close(now);
    told = true;
  }

  /// Returns whether it is shut for so long, and has accepted so little, that others may use all of
  /// it.
  bool unserved(time_point now, std::uint64_t successes) const noexcept {
    return hardly(successes) && to_seconds(now - since) > unserved_seconds;
  }

  /// Lengths of windows as people write them, seconds: a probe goes when one of them has just
  /// ended.
  static constexpr double written[] = {1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 3600};
  static constexpr double written_late = 1.01;  ///< times as long after the opening
  static constexpr double written_near = 1.33;  ///< times the usual interval: worth waiting for

  /// Returns the seconds until the next window that began with the opening has ended, if it is one
  /// of those; 0: none.
  double written_end(time_point now) const noexcept {
    auto const open = to_seconds(now - began);
    for (auto const length : written)
      if (open < length) return written_late * length - open;
    return 0;
  }

  /// Returns seconds from one probe to the next.
  double probe_interval(time_point now, std::uint64_t successes) const noexcept {
    auto const share = patience / std::sqrt(static_cast<double>(successes + 1));
    auto const lasts = to_seconds(now - since);
    bool const is_new = hardly(successes);
    auto const usual = std::min({lasts * std::clamp(share, patience_min, patience_max),
                                 std::max(is_new ? unserved_max : probe_seconds,
                                          lasts * (is_new ? patience_min : probe_share)),
                                 successes == 0 ? unserved_max : probe_seconds_max});
    auto const end = is_new ? 0 : written_end(now);
    return end > 0 && end < written_near * usual ? end : usual;
  }

  /// The time from an opening to the next.
  struct cycle {
    double accepted = 0;  ///< units
    double least = 0;     ///< units per second of all of it
    double most = 0;      ///< … of the time that it was open
    double closed = 0;    ///< seconds that it was shut, …
    double certain = 0;   ///< … of which so many went by until its last refusal
    double seconds = 0;   ///< of all of it
    int cuts = 0;         ///< while it was open
    bool again = false;   ///< it was shut about as long as before
    bool told = false;    ///< it said how long it would be shut
    /// Returns the units that it accepted, while it was open, in a time as long as it was shut.
    double missed() const noexcept { return accepted * closed / std::max(seconds - closed, 1e-6); }
  };
  /// Takes the first success after a row of refusals, of what was sent at `sent` for `unit`, and
  /// begins the next cycle with it and the other requests that went since, `sends` in all.
  cycle open(time_point sent, double unit, double sends = 1) noexcept {
    auto const units = std::max(accepted - sends * unit, unit);
    auto const lasted = to_seconds(sent - since);
    auto const certain = to_seconds(refused - since);
    auto const seconds = std::max(to_seconds(sent - began), 1e-6);
    auto const least = units / seconds;
    auto const most = std::min(units / std::max(to_seconds(refused - began), 1e-6), much * least);
    auto const times = lasted > much * closed ? 1 : alike + 1;
    cycle const c{.accepted = units,
                  .least = least,
                  .most = most,
                  .closed = lasted,
                  .certain = certain,
                  .seconds = seconds,
                  .cuts = cuts,
                  .again = times >= 2,
                  .told = told};
    *this = {.began = sent,
             .accepted = sends * unit,
             .refusal = refusal,
             .costs = costs,
             .closed = lasted,
             .alike = times,
             .banned = banned};
    return c;
  }
};

}  // namespace headway
