#include "headway/backoff/exponential.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace headway {
namespace {

TEST(exponential_backoff, table) {
  struct {
    char const* what;
    exponential_backoff policy;
    int attempt;
    duration expect;
  } const rows[] = {
      {"seed 000: 1, 2, 4, 8, 16 s", {1s, 2, 1min}, 0, 1s},
      {"", {1s, 2, 1min}, 1, 2s},
      {"", {1s, 2, 1min}, 4, 16s},
      {"the last below the cap", {1s, 2, 1min}, 5, 32s},
      {"", {1s, 2, 1min}, 6, 60s},
      {"SEP 2.1: 50 ms to 12.8 s, then 20 s", {50ms, 2, 20s}, 8, 12800ms},
      {"", {50ms, 2, 20s}, 9, 20s},
      {"SEP 2.1: attempt 100,000", {50ms, 2, 20s}, 100'000, 20s},
      {"no overflow", {1s, 2, 1min}, 1'000'000, 60s},
      {"", {1s, 2, 1min}, std::numeric_limits<int>::max(), 60s},
      {"", {1s, 1e300, duration::max()}, 1'000'000, duration::max()},
      {"no underflow", {1s, 2, 1min}, -1, 1s},
      {"", {1s, 2, 1min}, std::numeric_limits<int>::min(), 1s},
      {"whole nanoseconds, truncated", {1ms, 1.5, 15min}, 7, 17085937ns},
      {"multiplier 1 stays", {1s, 1, 1min}, 1'000'000, 1s},
      {"a cap below the first", {1s, 2, 500ms}, 0, 500ms},
      {"zero stays zero", {0s, 2, 1min}, 3, 0s},
      {"zero stays zero, however often", {0s, 2, 1min}, 1'000'000, 0s},
      {"uncapped", {1ns, 2, duration::max()}, 62, duration(std::int64_t{1} << 62)},
      {"uncapped", {1ns, 2, duration::max()}, 63, duration::max()},
  };
  for (auto const& r : rows)
    EXPECT_EQ(r.policy.delay(r.attempt, {}, 0), r.expect) << r.what << ", attempt " << r.attempt;
}

}  // namespace
}  // namespace headway
