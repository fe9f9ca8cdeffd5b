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

struct rules {
  int retry_cost = aws_retry_quota::retry_cost, throttle_cost = aws_retry_quota::retry_cost;
  duration base = 1s, throttle_base = 1s, cap = 20s;
};
constexpr rules sep_2_1{.retry_cost = 14, .base = 50ms};

/// One request: `x` is an answer that may be retried, `t` a throttle, `o` a success. The jitter is
/// pinned to 1.
std::vector<row> play(std::string const& answers, int attempts_max, aws_retry_quota quota = {},
                      rules const& by = {}) {
  std::vector<row> rows;
  int last_cost = quota.clean_success;
  for (int attempt = 0; attempt < static_cast<int>(answers.size()); ++attempt) {
    auto const answer = answers[static_cast<std::size_t>(attempt)];
    auto const cost = answer == 't' ? by.throttle_cost : by.retry_cost;
    if (answer == 'o') quota.deposit(last_cost);
    if (answer == 'o' || attempt + 1 == attempts_max || !quota.withdraw(cost)) {
      rows.push_back({quota.tokens});
      break;
    }
    last_cost = cost;
    exponential_backoff const backoff{.initial = answer == 't' ? by.throttle_base : by.base,
                                      .cap = by.cap};
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
  EXPECT_EQ(play("xxxxx", 5, {}, {.cap = 3s}),
            (rows{{495, 1s}, {490, 2s}, {485, 3s}, {480, 3s}, {480}}));
  EXPECT_EQ(play("xx", 3, {.tokens = 5}), (rows{{0, 1s}, {0}})) << "as long as the quota lasts";
  EXPECT_EQ(play("x", 3, {.tokens = 0}), (rows{{0}}));
  EXPECT_EQ(play("o", 3, {.tokens = 100}), (rows{{101}})) << "a clean success";
  EXPECT_EQ(play("o", 3), (rows{{500}})) << "never above the quota";
}

// By the numbers of aws-sdk-cpp RetryBehaviorTest; aws-sdk-go-v2 retry2026_test and smithy-rs have
// the same rows. Not ours: 12 to 16, of long polls, and 17 to 20, which cut a Retry-After short.
TEST(aws_retry_quota, sep_2_1) {
  using rows = std::vector<row>;
  auto const by = [](int attempts_max, std::string const& answers, aws_retry_quota quota = {},
                     rules const& rule = sep_2_1) {
    return play(answers, attempts_max, quota, rule);
  };
  EXPECT_EQ(by(3, "xxo"), (rows{{486, 50ms}, {472, 100ms}, {486}})) << 1;
  EXPECT_EQ(by(3, "xxx"), (rows{{486, 50ms}, {472, 100ms}, {472}})) << 2;
  EXPECT_EQ(by(3, "xx", {.tokens = 14}), (rows{{0, 50ms}, {0}})) << 3;
  EXPECT_EQ(by(3, "x", {.tokens = 0}), (rows{{0}})) << 4;
  EXPECT_EQ(by(5, "xxxxx"), (rows{{486, 50ms}, {472, 100ms}, {458, 200ms}, {444, 400ms}, {444}}))
      << 5;
  auto capped = sep_2_1;
  capped.cap = 200ms;
  EXPECT_EQ(by(5, "xxxxx", {}, capped),
            (rows{{486, 50ms}, {472, 100ms}, {458, 200ms}, {444, 200ms}, {444}}))
      << 6;
  EXPECT_EQ(by(5, "xx", {.tokens = 20}), (rows{{6, 50ms}, {6}})) << 7;
  EXPECT_EQ(by(5, "xxo", {.tokens_max = 30}), (rows{{16, 50ms}, {2, 100ms}, {16}})) << 8;
  EXPECT_EQ(by(5, "xo", {.tokens_max = 30, .tokens = 16}), (rows{{2, 50ms}, {16}})) << 8;
  aws_retry_quota shared;  // by A, after a failure, B, after a throttle, and A again
  EXPECT_TRUE(shared.withdraw(14) && shared.tokens == 486) << 9;
  EXPECT_TRUE(shared.withdraw(5) && shared.tokens == 481) << 9;
  EXPECT_TRUE(shared.withdraw(14) && shared.tokens == 467) << 9;
  EXPECT_EQ(by(3, "to"), (rows{{495, 1s}, {500}})) << 10;
  auto tuned = sep_2_1;
  tuned.base = 25ms;
  EXPECT_EQ(by(4, "xxxx", {}, tuned), (rows{{486, 25ms}, {472, 50ms}, {458, 100ms}, {458}})) << 11;
}

TEST(aws_retry_quota, a_timeout_costs_twice) {
  aws_retry_quota quota{.tokens = 15};
  EXPECT_TRUE(quota.withdraw(quota.timeout_retry_cost));
  EXPECT_FALSE(quota.withdraw(quota.timeout_retry_cost));
  EXPECT_EQ(quota.tokens, 5) << "a refusal takes nothing";
}

}  // namespace
}  // namespace headway::sim
