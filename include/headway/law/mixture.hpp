#pragma once

#include <algorithm>

#include "headway/law/company.hpp"

namespace headway {

/// Tells whether a client of a crowd is refused by chance, too.
///
/// In a crowd a client that takes chance for its limit is held where one refusal comes in a
/// stride's time, however much is free, and one that knows of chance takes the rest. Rows of tests
/// tell: where only a limit refuses hardly one of them passes, of eight clients one in twenty, of a
/// hundred one in six; where most refusals come by chance most of them do. Then each refusal is
/// asked by a few tests, and cuts if one of these is refused. Now and then, and where chance would
/// refuse one of them too often, a whole row does, which tells whether it is still so.
///
/// Threads: a value. Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; design/003,
/// "Chance".
struct mixture {
  int passed = 0;      ///< rows that passed, less those that were refused, from 0 to `proof`
  bool found = false;  ///< chance refuses, too
  int asked = 0;       ///< refusals, counted to `whole`
  friend bool operator==(mixture const&, mixture const&) = default;

  static constexpr int proof = 3;  ///< rows: 64 to 1 for four that pass of five, against one
  static constexpr int whole = 8;  ///< one refusal in so many is asked by a whole row
  static constexpr int tests = 4;  ///< that ask the others; a whole row costs twice the refusals
  static constexpr double wrong_max = 3;  ///< cuts by chance in a stride's time

  /// Takes a whole row of tests that was heard.
  void judge(bool passes) noexcept {
    passed = std::clamp(passed + (passes ? 1 : -1), 0, proof);
    found = passed == proof || (found && passed > 0);
  }
  /// Returns whether it is found, or rows are to tell.
  bool suspected() const noexcept { return passed > 0; }

  /// Returns how many tests are to ask the next refusal at `rate` requests a second, of which that
  /// share is refused: few, or `all` of a whole row where chance would refuse one of few too often.
  int next(int all, double rate, double share) noexcept {
    asked = (asked + 1) % whole;
    auto const wrong = company::seconds * rate * share * tests * share;
    return asked == 0 || wrong > wrong_max ? all : tests;
  }
};

}  // namespace headway
