#include "report/figures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "whatif/test_recording.hpp"

namespace headway::app {
namespace {

/// A rate that is halved after 3 s, with answers that take 20 to 60 ms: two in flight would do.
sim::behaviour halved() {
  sim::behaviour b{.latency = {20ms, 60ms}, .error_latency = 1ms};
  b.schedule = {{time_point{}, sim::token_bucket{.interval = 10ms, .burst = 10}},
                {time_point{3s}, sim::token_bucket{.interval = 20ms, .burst = 10}}};
  return b;
}

/// In how many of 20 runs the limit is found within 5 %.
int near(sim::behaviour const& serves, int requests, double limit) {
  temporary file;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    record(serves, "seek", requests, file.path, seed);
    auto f = figures_of_trace(file.path);
    find_limit(f, read_recording(file.path));
    auto const& found = f.scopes.at(0);
    EXPECT_EQ(found.slots, 0) << seed;
    count += std::abs(found.limit / limit - 1) <= 0.05;
  }
  return count;
}

sim::behaviour serves(sim::limit l) {
  return {.limits = {std::move(l)}, .latency = {20ms, 60ms}, .error_latency = 1ms};
}

TEST(figures, say_the_limit_that_was_met_last) {
  EXPECT_GE(near(halved(), 750, 50), 19);  // by the law's belief alone 15
  EXPECT_GE(near(serves(sim::token_bucket{.interval = 20ms, .burst = 10}), 750, 50), 19);
  EXPECT_GE(near(serves(sim::fixed_window{.count = 50, .period = 1s}), 750, 50), 18);  // 12
  for (int const count : {20, 50})                                                     // 14, 19
    EXPECT_GE(
        near(serves(sim::sliding_window{.count = count, .period = 1s, .counts_rejects = true}), 750,
             count),
        19);
}

}  // namespace
}  // namespace headway::app
