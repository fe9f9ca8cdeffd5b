#pragma once

#include <algorithm>

#include "headway/law/likelihood.hpp"

namespace headway {

/// Tells chance from a limit of one's own that saves four to seven requests. A row of tests at once
/// (`chance`) is refused there, whatever refused before.
///
/// It gives each row as many as it saves; what others leave of a limit differs from row to row.
/// Once four rows were alike, requests at four times the pace ask: a limit that has refused refuses
/// most of them, chance no more than before. How many chance refuses is told by these, too. It was
/// others after all if chance ends once more is sent, or the ceiling varies.
///
/// Threads: a value. Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; design/003,
/// "Chance".
struct depth {
  int most = 0;        ///< of a row, accepted since rows have been alike
  double alike = 1;    ///< odds that each gets as many, against what others leave
  double limit = 1;    ///< odds of a limit against chance, by faster rows
  int tests = 0;       ///< of these that are heard …
  int refused = 0;     ///< … and refused
  bool found = false;  ///< it is chance
  double rate = 0;     ///< units per second when that was found; 0: there is nothing to go back to
  friend bool operator==(depth const&, depth const&) = default;

  static constexpr int least = 4;          ///< 1: of clients that share such a limit one takes all
  static constexpr double faster = 4;      ///< times the pace; 2: others' limits allow it as often
  static constexpr int faster_tests = 32;  ///< 8: what others leave after a refusal is enough
  static constexpr double two_alike = 15;  ///< odds of that many rows, from which on …
  static constexpr double four_alike = 250;    ///< … each refusal asks for the next, and for pace
  static constexpr double unlike = 1.0 / 20;   ///< odds at which the next row is the first again
  static constexpr double row_for = 4;         ///< what a row says for it, at most
  static constexpr int more = 2;               ///< tests than were accepted, to count what is
  static constexpr double lost = 0.05;         ///< of the tests that it would give, by chance
  static constexpr double others_least = 0.2;  ///< of rows get one, or none, from what others leave
  static constexpr double others = 0.11;       ///< … and so many each of the other numbers
  static constexpr double by_limit = 0.2;      ///< it refuses so many more of the faster ones
  static constexpr double by_limit_max = 0.95;   ///< … but not all
  static constexpr double certain_limit = 20;    ///< odds
  static constexpr double certain_chance = 400;  ///< … against a limit
  static constexpr double supposed = 1;          ///< refused, before any is heard …
  static constexpr double supposed_of = 8;       ///< … of so many

  /// Returns whether rows were alike so far, and the next one is to tell.
  bool even() const noexcept { return asks(two_alike); }
  /// Returns whether enough were alike, and faster ones are to tell.
  bool known() const noexcept { return asks(four_alike); }
  /// Returns how many tests count what it saves, at most so many.
  int enough(int most_tests) const noexcept { return std::min(most + more, most_tests); }
  /// Returns the share that chance refuses, as faster rows have told.
  double share() const noexcept { return (refused + supposed) / (tests + supposed_of); }

  /// Takes a row at once, of which so many were accepted, and not all.
  void counted(int passed) noexcept {
    if (passed > most) restart(passed);
    if (most == 0) return;  // each limit saves one
    auto row = 1 / (passed > 1 ? others : others_least);
    for (int i = 0; i < most - passed; ++i) row *= (most - i) * lost / (i + 1);
    for (int i = 0; i < passed; ++i) row *= 1 - lost;
    alike = std::min(alike * std::min(row, row_for), row_for * four_alike);
    if (alike < unlike) restart();
  }

  /// Takes faster ones. `by_chance`: the share that it refuses at most. Returns whether it is
  /// chance.
  bool answered(int heard, int fail, double by_chance) noexcept {
    tests += heard;
    refused += fail;
    auto const chance = std::min(by_chance, share());
    limit *= likelihood_ratio(heard, fail, std::min(chance + by_limit, by_limit_max), chance);
    found = limit < 1 / certain_chance;
    if (limit > certain_limit) restart();
    return found;
  }

  /// Begins anew, with a row of which so many were accepted.
  void restart(int passed = 0) noexcept { *this = {.most = passed, .rate = rate}; }

  /// Takes that it was others, if it was taken for chance.
  void deny() noexcept {
    if (found) restart();
  }

 private:
  bool asks(double odds) const noexcept { return !found && most >= least && alike > odds; }
};

}  // namespace headway
