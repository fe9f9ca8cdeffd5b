#pragma once

#include <algorithm>

#include "headway/time.hpp"

namespace headway {

/// Limits retries to a share of successes: decides whether, and from when, a failed request may be
/// sent again.
///
/// A success deposits `ratio` of a retry, time deposits `per_second`; a retry withdraws one. If the
/// balance does not cover it, the retry waits until time alone has paid for it; without
/// `per_second` it is refused (`never`). Throttled requests withdraw nothing: the law paces those.
/// Source: SRE book ch. 21 ("per-client retry budget", 10 %); the defaults are those of Finagle and
/// tower, 20 % + 10/s with a balance of at most 10 s.
struct retry_budget {
  double ratio = 0.2;        ///< of a retry, for each success
  double per_second = 10;    ///< retries that time alone pays for
  double balance_max = 100;  ///< retries saved up at most
  double balance = 100;      ///< retries; below zero: promised to waiting requests
  time_point since{};        ///< when time last paid in

  /// Deposits `ratio` for one success.
  void deposit() noexcept { balance = std::min(balance_max, balance + ratio); }

  /// Withdraws one retry and returns the instant from which it is covered; `never` withdraws
  /// nothing.
  time_point withdraw(time_point now) noexcept {
    if (now > since) {
      balance = std::min(balance_max, balance + per_second * to_seconds(now - since));
      since = now;
    }
    if (balance < 1 && per_second <= 0) return never;
    balance -= 1;
    return balance >= 0 ? now : later(now, from_seconds(-balance / per_second));
  }
  friend bool operator==(retry_budget const&, retry_budget const&) = default;
};

}  // namespace headway
