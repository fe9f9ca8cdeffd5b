#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/policy.hpp"

namespace headway {

/// The default law: looks for the ceiling, stays just below it, and touches it ever more rarely.
///
///        a reject: ceiling = rate, halve
///   ramp ────────────────────► approach ──► creep ─┐ a reject at the ceiling: it is measured, and
///   the
///    ▲                            ▲           │ ▲  │ next climb takes twice as long while it
///    proves true │                            └───────────┘ └──┘ │                   a reject
///    below it: it fell └── 25 % above the ceiling without a reject: it has moved
///
/// A bucket is empty at each reject, so what it accepted between two of them is its rate; slots
/// show theirs as the rate at the reject. The larger of the two is the new ceiling. A server that
/// stays shut (it counts rejects, or its period is used up) is probed half as often each time, and
/// the ceiling is remembered.
///
/// The state is a rate, paced evenly, so that it works far below one request in flight. The window
/// only keeps latency from running away: it holds what the rate needs at 2.5 times the base
/// latency, and nothing grows while the smoothed latency is above twice the base.
///
/// Units: rates in units per second.
/// Source: seed text 002 (adapt the rate to rejects, return with successes), seed text 003 (one cut
/// for each flight, no growth beyond what flies); the constants are measured in
/// tests/sim/law_test.cpp.
struct seek {
  double rate = 20;          ///< now
  double ceiling = 0;        ///< where rejects begin; 0: not met yet
  bool touched = false;      ///< the ceiling was met from just below, hence measured, not guessed
  double creep_seconds = 1;  ///< time to climb 3 %
  time_point next{};
  time_point behind =
      time_point::min();  ///< a send came later than its pace: something else is the limit

  double srtt = 0;  ///< smoothed latency, seconds
  double base = 0;  ///< the lowest that it has been
  int answers = 0;  ///< of those that base starts from, up to base_answers

  std::uint64_t epoch = 0;
  std::uint64_t successes = 0;
  std::uint64_t cut_successes = 0;   ///< successes at the last cut
  std::uint64_t mark_successes = 0;  ///< successes and time when the ceiling was met last
  time_point mark{};
  time_point last_cut{};
  bool was_shut = false;  ///< nothing was accepted for a while since then
  int shut_in_a_row = 0;  ///< cuts with a success or two between them

  static constexpr double rate_min = 1.0 / 600;    // one probe in ten minutes
  static constexpr double ramp_seconds_max = 0.7;  // to double: 0.5 hears a 150 ms reject too late
  static constexpr double ramp_seconds_min = 0.05;
  static constexpr double ramp_answers = 20;  // … and not in fewer answers than tell a small limit
  static constexpr double known_factor = 2;   // the second ramp is half as steep
  static constexpr double below = 0.97;  // of the ceiling: refills a bucket, costs 3 % for a second
  static constexpr double step = 0.03;   // of the ceiling: one climb
  static constexpr double creep_answers = 40;  // a climb: one reject in 2 × 40 answers is 1.2 %
  static constexpr double creep_seconds_max = 30;
  static constexpr double moved = 1.25;  // above the ceiling without a reject
  static constexpr std::uint64_t few =
      100;  // successes that may have been a burst, and tell no rate
  static constexpr double behind_seconds =
      0.01;                                     // so long after a late send the pace does not bind
  static constexpr double latency_min = 0.002;  // shorter queues are not worth avoiding
  static constexpr int base_answers = 12;

  time_point ready_at(std::int64_t) const noexcept { return next; }

  double allowed() const noexcept {
    if (answers == 0) return 64;
    return std::max(4.0, 2.5 * rate * usual() + 1);
  }

  stamp take(time_point now, std::int64_t cost, fraction) noexcept {
    auto const interval = from_seconds(static_cast<double>(cost) / rate);
    auto const slack =
        std::max(interval / 2, duration(1ms));  // a late wake-up must not lower the rate
    if (now - next > slack) behind = now;
    next = later(std::max(next, now - slack), interval);
    return {.sent = now, .epoch = epoch, .successes = successes};
  }

  void on_success(time_point now, sample const& s, fraction) noexcept {
    ++successes;
    learn_latency(to_seconds(s.rtt));
    if (s.app_limited || now < later(behind, from_seconds(std::max(srtt, behind_seconds))) ||
        srtt > 2 * usual())
      return;
    if (ramping()) {
      auto seconds = std::clamp(4 * srtt, ramp_seconds_min, ramp_seconds_max);
      if (ceiling > 0) seconds *= known_factor;
      rate *= 1 + ln2 / std::max(rate * seconds, ramp_answers);
    } else if (rate < below * ceiling) {
      rate += (below * ceiling - rate) / std::max(12.0, 0.3 * rate) + 1e-4 * ceiling;
    } else {
      auto needed = std::max(creep_answers, ceiling * creep_seconds);
      auto const needed_min = std::max(8.0, rate * srtt);
      for (auto above = rate / ceiling - 1; above > step && needed > needed_min; above -= step)
        needed /= 2;  // the expected reject did not come
      rate += step * ceiling / std::max(needed, needed_min);
    }
  }

  void on_throttle(time_point now, sample const& s, resource, fraction) noexcept {
    if (s.sent.epoch != epoch) return;
    ++epoch;
    auto const accepted = successes - std::exchange(cut_successes, successes);
    if (accepted < 3 && ceiling > 0) {
      // Soon after a cut, what was sent too fast still fills the server: that tells no ceiling.
      auto const settled = now > later(last_cut, from_seconds(2 * srtt));
      if (!touched && accepted > 0 && (++shut_in_a_row > 2 || settled))
        ceiling = (rate + ceiling) / 2;
      rate /= 2;  // shut: probe ever more slowly, but remember the ceiling
      was_shut = true;
    } else {
      auto const mean = static_cast<double>(successes - std::exchange(mark_successes, successes)) /
                        std::max(to_seconds(now - std::exchange(mark, now)), 1e-9);
      met(mean);
      shut_in_a_row = 0;
    }
    last_cut = now;
    rate = std::max(rate, rate_min);
    next = std::max(next, later(now, from_seconds(1 / rate)));
  }

  void on_failure(time_point, sample const&, fraction) noexcept {}
  void on_hint(time_point, hint const&) noexcept {}
  friend bool operator==(seek const&, seek const&) = default;

 private:
  static constexpr double ln2 = 0.6931471805599453;

  /// A ceiling, `mean` being what was accepted per second since the last one.
  void met(double mean) noexcept {
    if (std::exchange(was_shut, false) && mean < rate) {  // the truth lies between the two
      ceiling = std::min(std::sqrt(mean * rate), 0.95 * rate);
      touched = false;
      rate = below * ceiling;
    } else if (ramping()) {
      auto const proven = below * ceiling;
      ceiling = rate;
      rate = successes < few ? std::min(rate / 2, seek{}.rate) : std::max(rate / 2, proven);
      touched = false;
    } else if (rate >= 0.9 * ceiling) {
      auto const found = std::clamp(mean, 0.95 * rate, rate);
      creep_seconds = found > 0.9 * ceiling ? std::min(creep_seconds_max, creep_seconds * 2) : 1;
      ceiling = found;
      touched = true;
      rate = below * ceiling;
    } else {
      ceiling = rate;
      creep_seconds = 1;
      touched = false;
      rate *= 0.7;
    }
  }

  double usual() const noexcept { return std::max(base, latency_min); }
  bool ramping() const noexcept { return rate > moved * ceiling; }

  void learn_latency(double rtt) noexcept {
    if (answers < base_answers) {
      if (++answers == 1 && ceiling == 0)
        rate = std::max(rate, 0.25 / std::max(rtt, 1e-6));  // a near server
      srtt += (rtt - srtt) / answers;
      base = srtt;
    } else {
      srtt += (rtt - srtt) / std::max(20.0, rate * srtt);
      base = std::min(base, srtt);
    }
  }
};
static_assert(law<seek>);

}  // namespace headway
