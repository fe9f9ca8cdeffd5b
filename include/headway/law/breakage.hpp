#pragma once

#include <algorithm>

#include "headway/time.hpp"

namespace headway {

/// Tells what failures say. Too many of them may be overload, which a cut cures; or a fault of the
/// server's own, which it does not; or nothing answers any more, and then the rate is as good as it
/// was once the server is back.
///
/// Threads: a value. Source: design/003, "Failures".
struct breakage {
  double share = 0;         ///< of answers that are failures, smoothed
  double usual = 0;         ///< the share that a cut did not lower
  int row = 0;              ///< failures since the last success
  int trust = 0;            ///< cuts that pass unjudged after the next that helps
  int sure = 0;             ///< cuts that pass unjudged from now on
  time_point gone = never;  ///< nothing answers what was sent from then on; never: it does
  friend bool operator==(breakage const&, breakage const&) = default;

  static constexpr double smoothing = 96;      ///< answers; 16: 15 % cross a quarter by chance
  static constexpr double suspicious = 0.25;   ///< above the usual share
  static constexpr int row_max = 16;           ///< failures: in a row the server is gone
  static constexpr int trial = 48;             ///< answers that judge a cut
  static constexpr double cured = 1.0 / 3;     ///< of the share before: the cut has helped
  static constexpr int trust_max = 63;         ///< a judgement costs 48 answers at 2/5 of the pace
  static constexpr double forgetting = 16;     ///< times slower than `share` the usual share falls
  static constexpr double probe_share = 0.25;  ///< of the time since it went
  static constexpr double probe_seconds_min = 0.1;  ///< from one probe to the next
  static constexpr double probe_seconds_max = 5;    ///< the longest

  /// Returns whether nothing answers.
  bool away() const noexcept { return gone != never; }

  /// Takes a success, of a request that was sent at `sent`. Returns whether the server is back.
  bool succeeded(time_point sent) noexcept {
    row = 0;
    if (share > 0 || usual > 0) {
      share -= share / smoothing;
      usual = std::min(usual, std::max(share, usual - usual / (forgetting * smoothing)));
    }
    if (!away() || sent < gone) return false;
    gone = never;
    return true;
  }

  /// Takes a failure. Returns whether so many fail that a cut may help. `answered_once`: a server
  /// that never answered tells nothing of a rate. `own`: the request fails while others pass, which
  /// does not tell that the server is gone.
  bool failed(time_point now, bool answered_once, bool own = false) noexcept {
    if (away()) return false;
    if (!own) ++row;
    share += (1 - share) / smoothing;
    if (!answered_once) return false;
    if (row < row_max) return share > usual + suspicious;
    gone = now;
    return false;
  }

  /// Judges a cut by the answers to what was sent after it. Returns whether it was in vain: then so
  /// many failures are usual. `before` is the share at the cut.
  bool in_vain(double answers, double failures, double before) noexcept {
    share = failures / answers;
    if (share < cured * before) {
      trust = std::min(2 * trust + 1, trust_max);
      sure = trust;
      return false;
    }
    trust = sure = 0;
    usual = share;
    return true;
  }

  /// Returns whether a cut that comes now is to be judged: the more seldom, the more of them have
  /// helped.
  bool doubts() noexcept {
    if (sure == 0) return true;
    --sure;
    return false;
  }

  /// Seconds from one probe to the next, while nothing answers.
  double probe_interval(time_point now) const noexcept {
    return std::clamp(probe_share * to_seconds(now - gone), probe_seconds_min, probe_seconds_max);
  }
};

}  // namespace headway
