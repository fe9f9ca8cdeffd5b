#include "headway/backoff/retry_level.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace headway {
namespace {

// t: a throttle, s: a success.
TEST(retry_level, falls_by_one_after_n_quiet_successes) {
  struct {
    int quiet_successes;
    std::string_view history;
    int expect;
  } const rows[] = {
      {10, "", 0},
      {10, "ssssssssssssssssssss", 0},
      {10, "t", 1},
      {10, "ttt", 3},
      {10, "tttsssssssss", 3},
      {10, "tttssssssssss", 2},
      {10, "tttssssssssssssssssssss", 1},
      {10, "tssssssssssssssssssssssssssssss", 0},
      {3, "ttsssss", 1},
      {3, "ttssss", 1},
      {3, "ttsstss", 3},  // a throttle starts the count again
      {3, "ttsstsss", 2},
      {3, "sst sss", 0},  // successes at level 0 are not saved up
      {3, "sst ss", 1},
      {1, "tttss", 1},
  };
  for (auto const& r : rows) {
    retry_level level{.quiet_successes = r.quiet_successes};
    for (char const c : r.history) {
      if (c == 't') level.on_throttle();
      if (c == 's') level.on_success();
    }
    EXPECT_EQ(level.level, r.expect) << r.history;
  }
}

TEST(retry_level, does_not_overflow) {
  retry_level level;
  for (int i = 0; i < 2'000'000; ++i) level.on_throttle();
  EXPECT_EQ(level.level, 1'000'000);
}

}  // namespace
}  // namespace headway
