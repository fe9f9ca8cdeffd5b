#pragma once

#include <algorithm>

namespace headway {

/// Estimates how many of the requests that were refused once are bad: refused each time, for a
/// reason of their own.
///
/// A limit refuses a share p of what goes, whatever it is. Of first attempts a share F is refused,
/// of second ones R, and of the requests that were refused once b are bad:
///
///     F = b F + (1 - b F) p,   R = b + (1 - b) p
///     p = F (1 - R) / (1 - F),   b = (R - p) / (1 - p)
///
/// By Bayes' rule one that was refused k times is bad at odds b / ((1 - b) p^(k-1)).
///
/// Threads: a value. Source: design/003, "A request refused alone".
class suspicion {
 public:
  /// Takes the answer to a first attempt that went while others passed.
  void first(bool refused) noexcept { firsts_.take(refused, firsts_max); }
  /// Takes the answer to a second one.
  void second(bool refused) noexcept { seconds_.take(refused, seconds_max); }

  /// Returns p.
  double limit() const noexcept {
    auto const f = firsts_.share, r = seconds_.share;
    return f < r ? f * (1 - r) / (1 - f) : r;
  }
  /// Returns b: 0 where first attempts are refused as often as second ones.
  double bad() const noexcept {
    auto const p = limit();
    return p < 1 ? (seconds_.share - p) / (1 - p) : 0;
  }
  /// Returns whether more than half of those that were refused once are bad.
  bool strong() const noexcept { return bad() > 0.5; }
  /// Returns the odds that one is bad that was refused so often. Requires: refusals > 0.
  double odds(int refusals) const noexcept {
    auto good = 1 - bad();
    auto const p = std::max(limit(), unseen / firsts_.answers);
    for (int k = 1; k < std::min(refusals, refusals_max); ++k) good *= p;
    return bad() / std::max(good, unlikely);
  }

  friend bool operator==(suspicion const&, suspicion const&) = default;

 private:
  static constexpr double firsts_max = 128, seconds_max = 16;  // that a share is of
  static constexpr double unseen = 0.5;    // of a refusal that a limit's share is, where none came
  static constexpr int refusals_max = 32;  // more tell nothing more
  static constexpr double unlikely = 1e-9;

  /// The share of the answers that are refusals. The latest count most.
  struct average {
    double share = 0;
    double answers = 1;  // one that passed, before there is any
    void take(bool refused, double most) noexcept {
      answers = std::min(answers + 1, most);
      share += ((refused ? 1 : 0) - share) / answers;
    }
    friend bool operator==(average const&, average const&) = default;
  };
  average firsts_, seconds_;
};

}  // namespace headway
