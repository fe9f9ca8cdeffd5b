#pragma once

#include <algorithm>

namespace headway::sim {

/// The retry quota of the AWS SDKs: tokens that a client's retries share and successes give back;
/// time does not.
///
/// It is no retry_budget: what a success gives back depends on its own last retry, so the caller
/// keeps that.
/// Source: botocore 1.43, retries/quota.py and standard.py; SEP 2.0.
struct aws_retry_quota {
  int tokens_max = 500;
  int tokens = tokens_max;

  static constexpr int retry_cost = 5;
  static constexpr int timeout_retry_cost = 10;
  static constexpr int clean_success = 1;

  /// Pays for a retry, if there are tokens for it.
  bool withdraw(int cost = retry_cost) noexcept {
    if (cost > tokens) return false;
    tokens -= cost;
    return true;
  }
  /// Gives back, for a success, the cost of its last retry, or `clean_success` if there was none.
  void deposit(int amount = clean_success) noexcept {
    tokens = std::min(tokens_max, tokens + amount);
  }
  friend bool operator==(aws_retry_quota const&, aws_retry_quota const&) = default;
};

}  // namespace headway::sim
