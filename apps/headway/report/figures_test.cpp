#include "report/figures.hpp"

#include <gtest/gtest.h>

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

TEST(figures, call_a_rate_that_moves_no_slots) {
  temporary file;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    record(halved(), "seek", 750, file.path, seed);
    auto const f = figures_of_trace(file.path);
    EXPECT_EQ(f.scopes.at(0).slots, 0) << seed;
    EXPECT_NEAR(f.scopes.at(0).limit, 50, 5) << seed;
  }
}

}  // namespace
}  // namespace headway::app
