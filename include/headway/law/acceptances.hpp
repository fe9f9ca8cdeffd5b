#pragma once

#include <algorithm>
#include <cstdint>

namespace headway {

/// Counts the requests that were sent since a cut and that the server accepted, as far as one can
/// know when the next refusal comes.
///
/// Successes were accepted. Where refusals come at once and answers take seconds, so was what was
/// sent before the refused request and is not refused by now: refusals come in the order of their
/// requests there, and overtake successes.
///
/// Threads: a value. Source: scenarios/rate-50-6s.toml, design/003.
struct acceptances {
  std::uint64_t sends = 0;      ///< so far; the next send's stamp
  std::uint64_t begin = 0;      ///< sends at the cut
  std::uint64_t successes = 0;  ///< of what was sent since
  std::uint64_t failures = 0;   ///< of what was sent since
  std::uint64_t refusals = 0;   ///< of what was sent since
  friend bool operator==(acceptances const&, acceptances const&) = default;

  /// A refusal is early if it takes less than this share of an answer's time.
  static constexpr double early = 0.25;
  static constexpr double slow = 1;  ///< seconds: shorter answers are worth waiting for

  /// Returns whether a refusal that took so long tells of all that went before its request, where
  /// an answer takes `answer`, both in seconds.
  static bool tells(double took, double answer) noexcept { return took < early * answer; }

  /// Returns the answers to what was sent since the cut, but its refusals.
  std::uint64_t answers() const noexcept { return successes + failures; }

  /// Returns how many were accepted of what was sent since the last cut, and begins to count anew.
  /// `sends_before` is the refused request's stamp, `took` the time of its refusal and `answer` the
  /// mean time of an answer, both in seconds.
  std::uint64_t cut(std::uint64_t sends_before, double took, double answer) noexcept {
    auto const sent = sends_before + 1 - std::min(begin, sends_before + 1);
    auto const silent = tells(took, answer) ? sent - std::min(failures + refusals, sent) : 0;
    auto const accepted = std::max(successes, silent);
    restart();
    return accepted;
  }

  /// Begins to count anew.
  void restart() noexcept { *this = {.sends = sends, .begin = sends}; }
};

}  // namespace headway
