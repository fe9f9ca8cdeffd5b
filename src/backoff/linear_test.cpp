#include "headway/backoff/linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace headway {
namespace {

TEST(linear_backoff, is_the_texts_sum) {
  struct {
    linear_backoff policy;
    int attempt;
    duration expect;
  } const rows[] = {
      {{}, 0, 1s},
      {{}, 1, 2s},
      {{}, 4, 5s},
      {{}, 58, 59s},
      {{}, 59, 60s},
      {{}, 60, 60s},
      {{}, 1'000'000, 60s},
      {{}, std::numeric_limits<int>::max(), 60s},
      {{}, -1, 1s},
      {{.interval = 7s, .cap = 20s}, 1, 14s},
      {{.interval = 7s, .cap = 20s}, 2, 20s},
      {{.interval = 7s, .cap = 5s}, 0, 5s},
      {{.interval = 0s}, 1'000'000, 0s},
      {{.interval = 1s, .cap = duration::max()}, 1'000'000, 1'000'001s},
      {{.interval = duration::max(), .cap = duration::max()}, 1'000'000, duration::max()},
  };
  for (auto const& r : rows) EXPECT_EQ(r.policy.delay(r.attempt, {}, 0), r.expect) << r.attempt;
}

TEST(linear_backoff, counts_as_seed_000_adds) {
  linear_backoff const policy{.interval = 7ms, .cap = 1s};
  duration added{};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    added = std::min(added + policy.interval, policy.cap);
    ASSERT_EQ(policy.delay(attempt, {}, 0), added) << attempt;
  }
}

}  // namespace
}  // namespace headway
