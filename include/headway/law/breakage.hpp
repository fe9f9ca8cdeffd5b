#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "headway/law/likelihood.hpp"
#include "headway/time.hpp"

namespace headway {

/// Tells what failures say. Too many of them may be overload, which a cut cures, or a limit told by
/// closed connections; or a fault of the server's own, which a cut does not cure; or nothing
/// answers any more, and then the rate is as good as it was once the server is back.
///
/// A cut is judged by Wald's ratio of the answers to what is sent at a slower pace, from the first
/// success on: until then it may be shut. Once one has helped, failures are a limit's, and few of
/// them cut; the pace at which they were gone is safe, and a cut below it is judged again. Requests
/// that fail while others pass do not count then, if hardly any of them ever passes.
///
/// Among others a cut cures nothing, since they take what it leaves. So failures that come often
/// are asked by a row of tests, too: a limit that has just refused refuses nearly all that is sent
/// at once, and other failures do not remember. A server that refuses by throttles is not asked.
///
/// Threads: a value. Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; design/003,
/// "Failures".
struct breakage {
  double share = 0;       ///< of answers that are failures, smoothed
  double lately = 0;      ///< … over a third as many, and without those that do not count
  double usual = 0;       ///< the share that a cut did not lower, or left
  double stubborn = 0.5;  ///< of attempts at requests that fail while others pass, those that fail
  double safe = 0;        ///< units per second at which a cut has helped
  double odds = 1;        ///< of a limit, by rows of tests
  int answers = row_after;  ///< since the latest of them
  bool limit = false;       ///< failures are a limit's
  bool told = false;        ///< the server refuses by throttles
  bool asked = false;       ///< a row of tests is out
  int row = 0;              ///< failures since the last success
  time_point back{};        ///< it answered what was sent then, again; the clock's begin: not yet
  duration lasted{};        ///< … after so long without
  time_point gone = never;  ///< nothing answers what was sent from then on; never: it does
  bool alone = false;       ///< nothing ever answered, not even one request at a time
  friend bool operator==(breakage const&, breakage const&) = default;

  static constexpr double smoothing = 96;        ///< answers; 16: 15 % cross a quarter by chance
  static constexpr double suspicious = 0.25;     ///< above the usual share
  static constexpr double smoothing_limit = 32;  ///< of `lately`; 16: 4 % by chance cut
  static constexpr double limit_share = 0.1;  ///< above the usual one, that cuts: two of eight …
  static constexpr double deviations = 2;  ///< … and standard ones; 0: 22 % 17 of told, not 2.6
  static constexpr double smoothing_own = 16;    ///< attempts, of `stubborn`
  static constexpr double hardly_pass = 0.75;    ///< of these fail: it is the requests' fault
  static constexpr int row_max = 16;             ///< failures: in a row the server is gone
  static constexpr int trial = 48;               ///< answers that judge a cut, at most
  static constexpr double cured = 0.25;          ///< of what is above the usual share is left
  static constexpr double cured_min = 0.02;      ///< … or so many failures
  static constexpr double helps_odds = 55;       ///< of a cut that helps
  static constexpr double vain_odds = 1.0 / 20;  ///< … of one that does not
  static constexpr double share_max = 0.99;      ///< more cannot be judged
  static constexpr double often = 0.3;           ///< above the usual share lately: a row asks, …
  static constexpr int row_after = 32;           ///< … so many answers after the one before
  static constexpr double row_passes = 0.2;      ///< of a row, before a limit …
  static constexpr double row_share_max = 0.5;   ///< … and as many fail otherwise, at most
  static constexpr double row_certain = 20;      ///< odds of a limit …
  static constexpr double row_believed = 3;  ///< … where a cut was in vain, which divides them
  static constexpr double trial_pace = 0.8;  ///< of what passes, at a trial; of the pace …
  static constexpr double trial_min = 0.2;   ///< … at least
  static constexpr double trial_max = 0.4;   ///< … at most: half may still be too fast
  static constexpr double forgetting = 16;   ///< times slower than `share` the usual share falls
  static constexpr int unwatched = 4;        ///< times as long as it was asked for
  static constexpr double late = 1;          ///< seconds: sooner, nothing was given up …
  static constexpr double patience = 0.1;  ///< … that is still worked on for this share of its time
  static constexpr double patience_max = 600;       ///< seconds, at most
  static constexpr double probe_share = 0.25;       ///< of the time since it went
  static constexpr double probe_seconds_min = 0.1;  ///< from one probe to the next
  static constexpr double probe_seconds_max = 5;    ///< the longest

  /// The judgement of a cut.
  enum class verdict : std::uint8_t { open, helps, in_vain };

  /// Returns whether so many failed in a row that it is gone or shut: no share of failures.
  bool closed() const noexcept { return row >= row_max; }
  /// Returns whether nothing answers.
  bool away() const noexcept { return gone != never; }

  /// Takes a success, of a request that was sent at `sent`. `own`: it had failed while others
  /// passed. Returns whether the server is back.
  bool succeeded(time_point sent, bool own = false) noexcept {
    row = 0;
    ++answers;
    if (own) stubborn -= stubborn / smoothing_own;
    if (share > 0 || usual > 0) {
      lately -= lately / smoothing_limit;
      share -= share / smoothing;
      usual = std::min(usual, std::max(share, usual - usual / (forgetting * smoothing)));
    }
    if (!away() || sent < gone) return false;
    back = sent;
    lasted = sent - gone;
    gone = never;
    return true;
  }

  /// Returns whether a failure after so many seconds tells of a server that never answered: a
  /// gateway may have given up what waited behind too much else.
  bool waited(double seconds) const noexcept { return seconds >= late && !alone; }
  /// Takes a failure of one that never answered, which took so long, though one request goes at a
  /// time. What was given up may still be worked on, and the more the longer; but not for ever:
  /// then it is broken.
  void ask_alone(time_point now, duration took) noexcept {
    auto const work = patience * ++row * to_seconds(took);
    if (to_seconds(now - gone) < std::min(work, patience_max)) return;
    alone = true;
    gone = never;
  }

  /// Takes that nothing was asked in that time: no outage lasted for one that is much longer than
  /// it had been asked for.
  void idle(time_point from, time_point now) noexcept {
    if (away() && now - from > unwatched * (from - gone)) gone += now - from;
  }

  /// Takes a failure. Returns whether so many fail that a cut may help. `answered_once`: a server
  /// that never answered tells nothing of a rate. `own`: the request fails while others pass, which
  /// does not tell that the server is gone. One that is gone again sooner than it was gone before
  /// has a limit.
  bool failed(time_point now, bool answered_once, bool own = false) noexcept {
    if (away()) return false;
    if (own) stubborn += (1 - stubborn) / smoothing_own;
    if (!own) ++row;
    ++answers;
    share += (1 - share) / smoothing;
    if (!ignores(own)) lately += (1 - lately) / smoothing_limit;
    if (!answered_once) return false;
    if (limit) return !ignores(own) && lately > usual + rise();
    if (!closed()) return share > usual + suspicious;
    limit = back != time_point{} && now - back < lasted;
    asked = false;
    if (!limit) gone = now;
    return limit;
  }

  /// Takes a throttle, and not a request's own.
  void refused() noexcept {
    told = true;
    asked = false;
  }
  /// Returns whether a row of tests is to ask whether failures are a limit's.
  bool wants_row() const noexcept {
    return !limit && !told && lately > usual + often && answers >= row_after;
  }
  /// Takes that it goes.
  void ask() noexcept {
    asked = true;
    answers = 0;
  }
  /// Takes a row of tests of which so many failed, unless nothing else has passed since: then the
  /// server may be gone. Returns whether a limit is certain.
  bool judge_row(int tests, int failures) noexcept {
    if (!asked || row >= tests) return false;
    asked = false;
    auto const otherwise = std::min(std::max({share, lately, limit_share}), row_share_max);
    odds = std::clamp(odds * likelihood_ratio(tests, failures, 1 - row_passes, otherwise),
                      1 / helps_odds, helps_odds);
    limit = limit || odds > row_certain;
    return odds > row_certain;
  }
  /// Takes a cut of a limit's: what failed before it tells nothing of what comes.
  void cut() noexcept { lately = limit ? std::min(lately, usual) : lately; }

  /// Returns whether a failure is the request's own, and no limit's.
  bool ignores(bool own) const noexcept { return limit && own && stubborn > hardly_pass; }

  /// Returns how far above the usual share failures cut, once they are a limit's.
  double rise() const noexcept {
    return limit_share + deviations * std::sqrt(usual * (1 - usual) / (2 * smoothing_limit));
  }
  /// Returns the share of failures that a cut is to lower.
  double above() const noexcept { return limit ? lately : share; }
  /// Returns the units per second at which a cut from `rate` is judged.
  double slow(double rate) const noexcept {
    return rate * std::clamp(trial_pace * (1 - lately), trial_min, trial_max);
  }

  /// Returns whether a cut to `rate` is to be judged, where `before` was the share.
  bool doubts(double before, double rate) const noexcept {
    return !limit || before > usual + suspicious || rate < safe;
  }

  /// Judges a cut by the answers to what was sent after it, at most `pace` units per second.
  /// `before` is the share at the cut. If it was in vain, so many failures are usual, unless rows
  /// of tests have told of a limit.
  verdict judge(int heard, int failures, double before, double pace) noexcept {
    before = std::min(std::max(before, usual + limit_share), share_max);
    auto const left = std::max(usual + cured * (before - usual), cured_min);
    auto const ratio = likelihood_ratio(heard, failures, left, before);
    if (ratio < helps_odds && ratio > vain_odds && heard < trial) return verdict::open;
    auto const unheard = std::max(trial - heard, 0);
    bool const helped = ratio > 1;
    asked = false;  // of this cut, not of what chance asks next
    if (!helped) odds /= row_believed;
    limit = helped || odds > row_believed;
    if (helped || !limit) usual = (failures + (limit ? 0 : before) * unheard) / (heard + unheard);
    share = usual;
    if (!limit) return verdict::in_vain;
    lately = usual;
    if (helped) safe = pace;
    return verdict::helps;
  }

  /// Seconds from one probe to the next, while nothing answers.
  double probe_interval(time_point now) const noexcept {
    return std::clamp(probe_share * to_seconds(now - gone), probe_seconds_min, probe_seconds_max);
  }
};

}  // namespace headway
