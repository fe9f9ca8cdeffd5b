#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "headway/law/depth.hpp"
#include "headway/law/likelihood.hpp"
#include "headway/law/mixture.hpp"
#include "headway/law/test_row.hpp"

namespace headway {

/// Tells refusals that come by chance (a shared quota, an overloaded replica, a filter) from those
/// of a limit.
///
/// A limit that has just refused refuses again what is sent at once; chance does not remember. So
/// the next sends after a refusal well below the ceiling go back to back, as a row of tests, and
/// Wald's sequential probability ratio weighs how many of them are refused. A row is long enough to
/// empty what a bucket has got back since the refusal. Once the odds say chance, a refusal counts
/// only if tests of its own are refused, too, or if refusals have become more frequent than chance
/// had made them. Before a limit that saves less than a row `depth` tells.
///
/// A refusal at the ceiling that comes sooner than climbs explain is asked by a pair, until two of
/// them tell of a limit, and later where it comes well below that: the first of a pair goes in its
/// turn, and takes what is left; a limit refuses the second. One that passes tells little, since
/// windows open and crowds leave gaps, but then a row follows the next refusal.
///
/// Threads: a value. Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; design/003,
/// "Chance".
struct chance {
  double share = 0;    ///< of answers that are refusals, smoothed
  double answers = 0;  ///< that `share` is a mean of, at most `smoothing`
  double odds = 1;     ///< of a limit against chance
  double usual = 0;    ///< share of refusals when chance was found; 0: it is not
  double ceiling = 0;  ///< where tests last told of a limit, units per second; 0: nowhere yet
  double before = 0;   ///< share of refusals at the latest cut; 0: it has not ended them
  double highest = 0;  ///< units per second accepted between refusals, until a row tells a limit
  int repeats = 0;     ///< rows since the latest cut that followed another at once
  int unheard = 0;     ///< rows that gave way to another, one after the other
  int low = 0;         ///< refusals well below the ceiling since rows have told of a limit
  test_row row{};      ///< the latest tests
  mixture mixed{};     ///< whether others refuse, too
  depth saves{};       ///< what of a limit rows have found the same each time
  friend bool operator==(chance const&, chance const&) = default;

  static constexpr int tests = 8;  ///< after a refusal; 3: a half of a crowd's rows pass unrefused
  static constexpr int pair = 2;   ///< tests that cost a client that is alone one refusal
  static constexpr std::uint64_t pair_successes = 60;  ///< before the first; 200: noise 4 % slower
  static constexpr double early = 1.25;   ///< climbs; 2: random windows refused 4 %, not 3
  static constexpr double lower = 0.9;    ///< of where tests told of a limit: it is asked again
  static constexpr double spread = 0.5;   ///< turns: a pair so far apart tells nothing if it passes
  static constexpr double suspect = 0.9;  ///< odds once a pair has passed
  static constexpr double pair_for = 4.5;     ///< what a refused pair says for a limit, at most …
  static constexpr double pair_again = 0.45;  ///< … and a half of how often a limit refuses one
  static constexpr int repeats_max = 8;       ///< whatever is answered
  static constexpr double fallen = 0.4;     ///< … and so low by a row: noise-80 took 6.8 of told
  static constexpr int seldom = 16;         ///< the next one that is tested once it is known …
  static constexpr int seldom_max = 128;    ///< … one in so many in the end; 16: rate-8 1.27 %
  static constexpr double smoothing = 128;  ///< answers
  static constexpr double smoothing_min = 16;           ///< at first
  static constexpr double certain = 20;                 ///< odds
  static constexpr double odds_max = 55;                ///< what was found can be unlearned
  static constexpr double doubtful = 1 / 7.5;           ///< a refusal needs `few` refused tests …
  static constexpr double incredible = 1.0 / odds_max;  ///< … and `several`
  static constexpr int few = 2;                         ///< of a row: by chance one in fifty at 3 %
  static constexpr int several = 3;                     ///< by chance one in a thousand
  static constexpr double per_share = 14;               ///< more of them, for a share of 1 …
  static constexpr double frequent_max = 0.3;           ///< … or so much, at most
  static constexpr double collapse = 0.25;              ///< of what was accepted: chance, perhaps
  static constexpr double share_min = 0.005;            ///< chance refuses at least so many …
  static constexpr double chance_max = 0.85;            ///< … and fewer than a limit, …
  static constexpr double usual_max = 0.6;              ///< … or nothing could be more than usual
  static constexpr int unheard_max = 4;                 ///< rows; then one must be heard …
  static constexpr int lost = 2;  ///< … before so many times what flies has gone after it, …
  static constexpr int lost_min = 64;            ///< … and so many
  static constexpr double again = 0.5;           ///< a limit refuses at least so many tests …
  static constexpr double again_times = 2;       ///< … and so many times as many as chance …
  static constexpr double again_max = 0.9;       ///< … but not all
  static constexpr double row_for = 24;          ///< what a row says for a limit, at most
  static constexpr double row_against = 8;       ///< … and against it: limits, too, let rows pass
  static constexpr double doubted_faster = 1.5;  ///< tests of a refusal, where `depth` found it
  static constexpr double missed = 6;        ///< refusals that chance owes: one row in 400 of none
  static constexpr double more_times = 1.5;  ///< more than usual: so many times as many …
  static constexpr double more = 0.03;       ///< … and so many more; 0.01: chance alone does it

  /// Takes a cut.
  void cut() noexcept {
    before = usual;
    repeats = 0;
  }

  /// Takes that so many were accepted since a cut and none refused: where chance would have refused
  /// some, it was a limit.
  void spared(double accepted) noexcept {
    if (accepted * before < missed) return;
    before = 0;
    odds = std::min(odds * row_for, odds_max);
    if (odds > doubtful) forget();
  }

  /// Takes that it was others, or a ban, where chance was found beside a limit that saves little.
  void shared() noexcept {
    if (!saves.found) return;
    forget();
    before = 0;
    odds = certain;
  }

  /// Returns whether refusals are known to be a limit's.
  bool limit() const noexcept { return odds >= certain; }

  /// Returns whether chance is known to refuse.
  bool known() const noexcept { return usual > 0; }

  /// Returns how many of a refusal's tests must be refused before it counts.
  int doubts() const noexcept {
    if (mixed.found) return row.length() == tests ? unlikely(share) : 1;
    if (odds > doubtful || share > more_times * usual + more) return 0;
    return unlikely(usual) + (odds > incredible ? 0 : several - few);
  }

  /// Takes that so much a second was accepted between two refusals.
  void accepted(double rate) noexcept {
    if (!limit()) highest = std::max(highest, rate);
  }
  /// Returns whether so little is left of what was accepted that chance may have taken the rest.
  bool collapsed(double rate) const noexcept { return rate < collapse * highest && doubts() == 0; }

  /// Takes a refusal at that rate, well below the ceiling. Returns whether tests are to follow it:
  /// the more seldom the longer they have told of a limit, unless that was far above.
  bool wants_tests(double rate) noexcept {
    ++low;
    return !limit() || mixed.suspected() || rate < fallen * ceiling || low % seldom_max == 0 ||
           (low >= seldom && std::has_single_bit(static_cast<unsigned>(low)));
  }

  /// Returns whether a refusal at that rate, of which no tests are known to tell, is to be asked by
  /// a pair, or by a row after one that passed.
  bool wants_pair(double rate, bool alone) const noexcept {
    return !known() && (!limit() || (alone && rate < lower * ceiling));
  }

  /// Returns whether a refusal of that send, while so many fly, may begin tests. Those that are out
  /// give way to it a few times in a row; then they tell first, unless they are lost: where answers
  /// overtake each other, refusals that come before them would else begin tests without end.
  bool may_test(std::uint64_t stamp, int flying) noexcept {
    auto const late = static_cast<std::uint64_t>(std::max(lost * flying, lost_min));
    bool const out = row.unsent > 0 || (row.out() > 0 && stamp < row.beyond + late);
    if (out && unheard >= unheard_max) return false;
    unheard = out ? unheard + 1 : 0;
    return true;
  }
  /// Begins so many tests with the next send. `below`: they follow a refusal that they tell of.
  void test(std::uint64_t next_stamp, bool below, int length = tests) noexcept {
    using asks = test_row::asks;
    row.begin(next_stamp, below ? asks::limit : asks::nothing, length, 0);
  }
  /// Begins the tests of a refusal at `rate` requests a second that may have come by chance.
  /// `below`: it is one to tell of.
  void test_refusal(std::uint64_t next_stamp, bool below, double rate) noexcept {
    if (mixed.found)
      test(next_stamp, true, mixed.next(tests, rate, share));
    else
      test(next_stamp, below);
  }
  /// Begins tests that count what a limit saves.
  void count(std::uint64_t next_stamp) noexcept {
    row.begin(next_stamp, test_row::asks::depth, saves.enough(tests), 0);
  }
  /// Begins tests that go faster than one each `seconds`: of a refusal, where chance is known, or
  /// whether there is a limit.
  void test_pace(std::uint64_t next_stamp, double seconds) noexcept {
    row.begin(next_stamp, test_row::asks::pace, saves.found ? tests : depth::faster_tests,
              seconds / (saves.found ? doubted_faster : depth::faster));
  }
  /// Returns whether the latest tests are to be paid for once they are heard.
  bool paid_later(double rate) const noexcept {
    return collapsed(rate) || (row.what == test_row::asks::pace && !saves.found);
  }

  /// Returns whether the latest tests are all heard, and tell of a limit.
  bool met_limit() const noexcept {
    return row.what == test_row::asks::limit && row.over() &&
           row.refused >= (row.heard < tests ? 1 : unlikely(share));
  }

  /// Returns whether a row of tests has been heard that leaves a rate that has collapsed
  /// unexplained, so that another is to follow at once.
  bool wants_another(double rate) noexcept {
    return row.heard == tests && collapsed(rate) && ++repeats <= repeats_max;
  }

  /// Returns whether a pair that is heard tells: a limit has saved for one so many turns apart.
  bool pair_tells(double apart) const noexcept { return row.refused > 0 || apart < spread; }

  /// Takes an answer to the send of this stamp. Returns whether it was a test. It went `apart`
  /// turns later than the test before it allowed: a limit has saved for it meanwhile. `crowd`: the
  /// ceiling varies as among others.
  bool answered(bool is_refused, std::uint64_t stamp, double apart = 0,
                bool crowd = false) noexcept {
    bool const test = row.hear(is_refused, stamp);
    if (!test || row.usual()) {
      answers = std::min(answers + 1, smoothing);
      if (is_refused || share > 0)
        share += ((is_refused ? 1 : 0) - share) / std::max(answers, smoothing_min);
    }
    if (test && row.over()) judge(apart, crowd);
    return test;
  }

 private:
  /// Returns how many of a row it is unlikely that chance refuses, if it refuses that share of all.
  static int unlikely(double by_chance) noexcept {
    return few + static_cast<int>(per_share * std::min(by_chance, frequent_max));
  }

  /// Takes that it is not known whether chance refuses.
  void forget() noexcept {
    usual = 0;
    saves.deny();
  }

  /// Takes tests that are all heard.
  void judge(double apart, bool crowd) noexcept {
    auto const by_chance = std::min(share + share_min, chance_max);
    switch (row.what) {
      case test_row::asks::nothing:
        break;
      case test_row::asks::depth:
        if (row.passed() < tests)
          saves.counted(row.passed());
        else
          saves.restart();
        break;
      case test_row::asks::pace:
        if (saves.found || !saves.answered(row.heard, row.refused, by_chance)) break;
        odds = incredible;
        ceiling = 0;
        share = usual = std::min(share, saves.share());
        break;
      case test_row::asks::limit:
        if (row.length() == tests)
          judge_row(by_chance, apart, crowd);
        else if (pair_tells(apart) && !mixed.found)
          judge_pair(by_chance);
    }
  }

  /// Takes a pair that is heard. `by_chance`: the share of it that chance refuses.
  void judge_pair(double by_chance) noexcept {
    odds = row.refused > 0 ? std::max(odds, 1.0) * std::min(pair_again / by_chance, pair_for)
                           : std::min(odds, 1.0) * suspect;
    odds = std::min(odds, odds_max);
  }

  /// Takes a row that is heard, as `judge_pair` does. A limit may have saved for tests that go
  /// `apart` turns, and serves that share more of them.
  void judge_row(double by_chance, double apart, bool crowd) noexcept {
    bool const was_mixed = mixed.found;
    if (was_mixed || (crowd && (limit() || mixed.suspected())))
      mixed.judge(row.refused < unlikely(share));
    if (was_mixed || mixed.found) {  // then others refuse as well
      odds = odds_max;
      low = 0;
      return;
    }
    auto const by_limit = std::max(again, std::min(again_times * by_chance, again_max));
    auto const by_one_that_saves = std::max(by_limit * (1 - apart), std::min(by_limit, by_chance));
    auto const says = std::max(likelihood_ratio(tests, row.refused, by_limit, by_chance),
                               likelihood_ratio(tests, row.refused, by_one_that_saves, by_chance));
    if (says < 1 || !limit()) low = 0;
    odds *= std::clamp(says, 1 / row_against, row_for);
    odds = std::clamp(odds, 1 / odds_max, odds_max);
    if (limit()) highest = 0;
    if (odds > doubtful) {
      forget();
    } else {
      usual = std::max(usual, std::min(share, usual_max));  // the rest was chance, too
      mixed = {};
    }
    if (row.refused == 0)
      saves.restart();
    else if (!saves.found)
      saves.counted(row.passed());
  }
};

}  // namespace headway
