#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headway/law/likelihood.hpp"
#include "headway/time.hpp"

namespace headway {

/// Tells whether a caller that seems to want little is refused because it wants more than its
/// limit, as a loop does that works for a while between two requests, or because of others.
///
/// A limit of one's own accepts evenly: from one row of refusals to the next, each request that it
/// accepts takes as long as before. What others leave varies. Where it is even, two paces are tried
/// in turn: a little slower than what was accepted, and the caller's own. A limit of one's own
/// refuses fewer at the first, and as many as before at the second. Wald's ratio decides, and three
/// rounds must agree. Others refuse alike at both, unless they keep time with the caller. After
/// each trial the next waits for twice as many rows.
///
/// Threads: a value. Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; design/003,
/// "Loops that want more than their limit".
struct excess {
  /// The steps: measure how evenly requests are accepted, then try a slower pace and its own.
  enum class at : std::uint8_t { measured, slowed, own };

  at now = at::measured;  ///< the step
  time_point since{};     ///< the first success after the latest row of refusals
  int accepted = 0;       ///< since then
  int rows = 0;           ///< that the next three are means of, at most `rows_max`
  double seconds = 0;     ///< from one row to the next, for each request accepted
  double variance = 0;    ///< of that
  double share = 0;       ///< refused of the answers after a success, by the rows
  int rounds = 0;         ///< so often both paces said that the limit is its own
  double odds = 1;        ///< that the limit is its own, by the answers to the pace that is tried
  int heard = 0;          ///< answers to the pace that is tried
  int due = 0;            ///< rows until a trial may begin …
  int pause = rows_min;   ///< … from one to the next
  friend bool operator==(excess const&, excess const&) = default;

  static constexpr int accepted_max = 1 << 20;  ///< of a row that are counted
  static constexpr int rows_min = 5;            ///< that tell; 8: loops refused 13 %, not 11
  static constexpr int rows_max = 16;           ///< that are remembered
  static constexpr double even = 0.35;       ///< deviation by mean; it is 1 of arrivals by chance
  static constexpr double slower = 1.05;     ///< times `seconds`; 1.1: sparse-5 5 s, not 0.07
  static constexpr double share_min = 0.05;  ///< less is judged as this
  static constexpr double share_max = 0.25;  ///< more is judged as this
  static constexpr double cured = 0.25;      ///< of the share is left below a limit
  static constexpr double certain = 30;      ///< odds, slowed …
  static constexpr double certain_own = 10;  ///< … and at the caller's own pace …
  static constexpr int rounds_max = 3;       ///< … so often; once: sparse-1 350 s, not 0.06
  static constexpr double doubtful = 0.1;    ///< odds, slowed …
  static constexpr double doubtful_own = 0.001;  ///< … and at its own pace: a bucket has saved
  static constexpr int heard_max = 256;          ///< answers that judge a pace
  static constexpr int pause_max = 1 << 20;      ///< rows

  /// Returns the seconds from one request to the next, at least.
  double interval() const noexcept { return now == at::slowed ? slower * seconds : 0; }

  /// Takes a success of what was sent at `sent`, the first after a row of refusals or not.
  void succeeded(time_point sent, bool first) noexcept {
    if (now == at::measured) {
      if (first) end_row(sent);
      accepted = std::min(accepted + 1, accepted_max);
    } else if (!first) {
      judge(false);
    }
  }
  /// Takes the first refusal of a row. Returns whether it is certain now that the caller wants more
  /// than its limit, which accepts one in `seconds`.
  bool refused() noexcept { return now != at::measured && judge(true); }

 private:
  void end_row(time_point sent) noexcept {
    auto const n = std::exchange(accepted, 0);
    auto const began = std::exchange(since, sent);
    due = std::max(due - 1, 0);
    if (n == 0 || began == time_point{} || sent <= began) return;
    auto const each = to_seconds(sent - began) / n;
    if (rows == 0) seconds = each;
    rows = std::min(rows + 1, rows_max);
    auto const off = each - seconds;
    seconds += off / rows;
    variance = std::max(variance + (off * (each - seconds) - variance) / rows, 0.0);
    share += (1.0 / n - share) / rows;
    // A mean of more arrivals by chance deviates less.
    bool const is_even = variance <= even * even * seconds * seconds * share;
    if (rows >= rows_min && due == 0 && is_even) ask(at::slowed);
  }
  void ask(at pace) noexcept {
    now = pace;
    odds = 1;
    heard = 0;
  }
  bool judge(bool is_refused) noexcept {
    bool const slow = now == at::slowed;
    auto const usual = std::clamp(share, share_min, share_max);
    auto const fewer = likelihood_ratio(1, is_refused, cured * usual, usual);
    odds *= slow ? fewer : 1 / fewer;
    ++heard;
    bool const told = odds >= (slow ? certain : certain_own);
    bool const in_vain = !told && (heard == heard_max || odds <= (slow ? doubtful : doubtful_own));
    if (told && !slow) ++rounds;
    bool const own = rounds == rounds_max;
    if (own || in_vain)
      *this = {.seconds = seconds, .due = pause, .pause = std::min(2 * pause, pause_max)};
    else if (told)
      ask(slow ? at::own : at::slowed);
    return own;
  }
};

}  // namespace headway
