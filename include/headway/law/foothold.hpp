#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headway/law/company.hpp"
#include "headway/law/likelihood.hpp"

namespace headway {

/// Finds a level that is kept though refusals come, where no slower pace makes them rarer: bad
/// requests of which no second attempt has told yet, an overloaded replica, chance.
///
/// Where a quarter of the answers or more are refusals, and some are accepted all the same, a trial
/// begins. The law cuts as ever, but to no less than a quarter of its level, until Wald's
/// ratio decides among three shares: a limit of one's own refuses fewer there, a server that is
/// shut refuses all, and others as many as before. If it is as many, the level is held, and doubled
/// as long as twice the pace is not refused more often. Once it is, a quarter of the level is
/// tried, since a limit far below refuses about as many at either. A held level is given up once
/// fewer are refused, or more unless a quarter of it is refused as often; the next trial waits for
/// twice as many answers.
///
/// A client among others cannot cure its refusals either. In a crowd that has settled a client that
/// sends x a second is refused 1 / (12 x) of that (docs/law.md, (4) and (11)). So a trial needs
/// three times as many.
///
/// Threads: a value. Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; Page,
/// Continuous Inspection Schemes, 1954 (of a held level); design/003, "Refusals that no cut makes
/// rarer".
struct foothold {
  /// The levels that are sent at: any; those of a trial; the one that is held, twice it, a quarter
  /// of it.
  enum class at : std::uint8_t { any, trial, held, raised, lowered };

  at now = at::any;    ///< what is sent at
  double share = 0;    ///< of answers that are refusals, smoothed
  double answers = 0;  ///< that `share` is a mean of, at most `smoothing`
  double lately = 0;   ///< as `share`, of fewer answers, rows of refusals included
  double usual = 0;    ///< the share that a slower pace is not expected to lower
  double level = 0;    ///< that is held, or was when the trial began
  double fewer = 1;    ///< odds that fewer are refused than `usual`
  double more = 1;     ///< odds that more are
  int heard = 0;       ///< answers that the odds are of
  int row = 0;         ///< refusals since the latest success
  int passed = 0;      ///< accepted since the first refusal, or since the latest trial
  int due = first;     ///< answers until a trial may begin, or the held level is doubled …
  int pause = first;   ///< … from one to the next
  friend bool operator==(foothold const&, foothold const&) = default;

  static constexpr double smoothing = 64;         ///< answers
  static constexpr double smoothing_lately = 16;  ///< answers
  static constexpr int passed_min = 3;  ///< 0: 15 a minute, burst 5: some runs refused 88 %, not 20
  static constexpr int row_max = 3;  ///< refusals of a row that count; all: ban-1min 5.7, not 2.4
  static constexpr double often = 0.25;  ///< refused: a trial; 0.12: ban-1min 3.5, not 2.4
  static constexpr double most = 0.65;   ///< refused: too many; 1: minute-3 refused 93, not 25 %
  static constexpr double crowded = 3;   ///< times a crowd's share; 0: crowd-40 176 s, not 121
  static constexpr int first = 5;        ///< answers; 8: 20 % of 200 lines 6.6, not 3.7
  static constexpr int later = 32;       ///< answers
  static constexpr int later_max = 1 << 20;   ///< answers
  static constexpr double slower = 0.25;      ///< of the level
  static constexpr double faster = 2;         ///< times the level
  static constexpr double usual_min = 0.05;   ///< less is judged as this
  static constexpr double cured = 0.25;       ///< of the usual share is left below a limit
  static constexpr double shut = 0.95;        ///< of what goes is refused by a server that is shut
  static constexpr double certain = 20;       ///< odds …
  static constexpr double certain_held = 55;  ///< … while a level is held, and asked for long
  static constexpr int heard_max = 64;        ///< answers that judge a pace

  /// Returns whether it asks a pace: nothing else may change it.
  bool asks() const noexcept { return now == at::raised || now == at::lowered; }
  /// Returns whether a refusal at this level is no cut.
  bool stands(double level_now) const noexcept {
    return asks() || (now == at::held && level_now <= level);
  }
  /// Returns the least level that a cut leads to, in a trial or while one is held.
  double least() const noexcept { return now == at::trial ? slower * level : level; }
  /// Returns the level to send at from now on: that which it asks, or holds.
  double begins() const noexcept {
    return now == at::raised ? faster * level : now == at::lowered ? slower * level : level;
  }

  /// Takes an answer.
  void answered(bool refused) noexcept {
    row = refused ? row + 1 : 0;
    due = std::max(due - 1, 0);
    if (!refused && lately > 0) passed = std::min(passed + 1, passed_min);
    auto const is = refused ? 1 : 0;
    if (refused || lately > 0) lately += (is - lately) / std::clamp(answers, 2.0, smoothing_lately);
    if (row > row_max) return;
    answers = std::min(answers + 1, smoothing);
    if (refused || share > 0) share += (is - share) / std::max(answers, 2.0);
  }
  /// Takes a refusal at a level, which is so many requests a second. A trial begins, if it is due.
  void refused(double level_now, double rate) noexcept {
    bool const suspicious =
        share >= often && share <= most && company::seconds * share * rate >= crowded;
    if (now != at::any || due > 0 || row > 1 || passed < passed_min || !suspicious) return;
    usual = share;
    level = level_now;
    ask(at::trial);
  }
  /// Takes the latest answer for what it says of the pace. Returns whether the level is now that
  /// which `begins()` returns.
  bool judge(bool refused, double level_now) noexcept {
    if (now == at::any) return false;
    if (now == at::trial && level_now > level) return give_up();  // it was raised for other reasons
    if (now == at::held && due == 0) return ask(at::raised);
    auto const was = std::clamp(usual, usual_min, most);
    fewer *= likelihood_ratio(1, refused, cured * was, was);
    more *= likelihood_ratio(1, refused, now == at::trial ? shut : (1 + was) / 2, was);
    if (now == at::held) return judge_held();
    bool const enough = ++heard >= heard_max;
    if (fewer > certain || (enough && fewer > 1)) return give_up();
    if (more > certain || (enough && more > 1)) return now == at::raised ? lower() : give_up();
    if (!enough && (fewer > 1 / certain || more > (now == at::trial ? 1 : 1 / certain)))
      return false;
    if (now == at::trial && lately > most) return give_up();
    return now == at::lowered ? ask(at::held) : raise(level_now);
  }
  /// Takes that another part of the law knows why requests are refused.
  void rest() noexcept {
    if (now != at::any) due = pause;
    now = at::any;
  }

 private:
  bool judge_held() noexcept {
    fewer = std::max(fewer, 1.0);
    more = std::max(more, 1.0);
    if (fewer > certain_held || (more > certain_held && lately > most)) return give_up();
    if (more <= certain_held) return false;
    usual = lately;
    return lower();
  }
  bool ask(at what) noexcept {
    now = what;
    heard = 0;
    fewer = more = 1;
    return true;
  }
  bool raise(double level_now) noexcept {
    if (now == at::trial) usual = lately;
    level = level_now;
    pause = std::max(pause, later);
    return ask(at::raised);
  }
  bool lower() noexcept {
    put_off();
    return ask(at::lowered);
  }
  bool give_up() noexcept {
    put_off();
    fewer = more = 1;
    passed = 0;
    now = at::any;
    return false;
  }
  void put_off() noexcept { due = std::exchange(pause, std::min(2 * pause, later_max)); }
};

}  // namespace headway
