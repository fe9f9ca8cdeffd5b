#pragma once

#include <algorithm>

#include "headway/time.hpp"

namespace headway {

/// Retries as a share of successes: whether, and from when, a failed request may be sent again.
///
/// A success deposits `ratio` of a retry, time deposits `per_second`; a retry withdraws one. When
/// the balance does not cover it, the retry waits until time alone will have paid for it; without
/// `per_second` it is refused (`never`). Throttled requests withdraw nothing: the law paces those.
/// Source: SRE book ch. 21 ("per-client retry budget", 10 %); Finagle and tower use 20 % + 10/s,
/// with a balance of at most 10 s of it, which are the defaults here.
struct retry_budget {
  double ratio = 0.2;        ///< of a retry, for each success
  double per_second = 10;    ///< retries that time alone pays for
  double balance_max = 100;  ///< retries saved up at most
  double balance = 100;      ///< retries; below zero: promised to who waits
  time_point since{};        ///< when time last paid in

  /// A success pays in.
  void deposit() noexcept { balance = std::min(balance_max, balance + ratio); }

  /// The instant from which one retry is covered, and withdraws it; `never` withdraws nothing.
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
