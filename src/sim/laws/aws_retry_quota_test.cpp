#include "headway/sim/laws/aws_retry_quota.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headway/backoff/exponential.hpp"

namespace headway::sim {
namespace {

/// What the SEP prints of each response: the tokens left, and the delay before the retry (zero:
/// none).
struct row {
  int tokens;
  duration delay{};
  friend bool operator==(row const&, row const&) = default;
};

/// One request: `x` is an answer that may be retried, `o` a success. The jitter is pinned to 1.
std::vector<row> play(std::string const& answers, int attempts_max, aws_retry_quota quota = {},
                      duration cap = 20s) {
  exponential_backoff const backoff{.initial = 1s, .cap = cap};
  std::vector<row> rows;
  int last_cost = quota.clean_success;
  for (int attempt = 0; attempt < static_cast<int>(answers.size()); ++attempt) {
    auto const success = answers[static_cast<std::size_t>(attempt)] == 'o';
    if (success) quota.deposit(last_cost);
    if (success || attempt + 1 == attempts_max || !quota.withdraw()) {
      rows.push_back({quota.tokens});
      break;
    }
    last_cost = quota.retry_cost;
    rows.push_back({quota.tokens, backoff.delay(attempt, {}, 0)});
  }
  return rows;
}

// Smithy-swift RetryIntegrationTests and aws-sdk-ruby handler_spec have the same rows.
TEST(aws_retry_quota, sep_2_0) {
  using rows = std::vector<row>;
  EXPECT_EQ(play("xxo", 3), (rows{{495, 1s}, {490, 2s}, {495}})) << "succeeds in the end";
  EXPECT_EQ(play("xxx", 3), (rows{{495, 1s}, {490, 2s}, {490}})) << "as often as it may";
  EXPECT_EQ(play("xxxxx", 5), (rows{{495, 1s}, {490, 2s}, {485, 4s}, {480, 8s}, {480}}));
  EXPECT_EQ(play("xxxxx", 5, {}, 3s), (rows{{495, 1s}, {490, 2s}, {485, 3s}, {480, 3s}, {480}}));
  EXPECT_EQ(play("xx", 3, {.tokens = 5}), (rows{{0, 1s}, {0}})) << "as long as the quota lasts";
  EXPECT_EQ(play("x", 3, {.tokens = 0}), (rows{{0}}));
  EXPECT_EQ(play("o", 3, {.tokens = 100}), (rows{{101}})) << "a clean success";
  EXPECT_EQ(play("o", 3), (rows{{500}})) << "never above the quota";
}

TEST(aws_retry_quota, a_timeout_costs_twice) {
  aws_retry_quota quota{.tokens = 15};
  EXPECT_TRUE(quota.withdraw(quota.timeout_retry_cost));
  EXPECT_FALSE(quota.withdraw(quota.timeout_retry_cost));
  EXPECT_EQ(quota.tokens, 5) << "a refusal takes nothing";
}

}  // namespace
}  // namespace headway::sim
