#include "headway/sim/laws/told.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace headway::sim {
namespace {

/// How many go in ten seconds, by a sender whose timer wakes `late`.
int sent_in_ten_seconds(told law, duration late) {
  int count = 0;
  for (time_point now{1s}; now < time_point(11s); now = std::max(now, law.ready_at(1)) + late) {
    law.take(now, 1, 0);
    ++count;
  }
  return count;
}

TEST(told, paces_evenly) {
  EXPECT_NEAR(sent_in_ten_seconds(told{4}, 0ns), 40, 1);
  EXPECT_NEAR(sent_in_ten_seconds(told{99.5}, 60us), 995, 1)
      << "late wake-ups do not lower the rate";
  told law{4};
  law.take(time_point(1s), 1, 0);
  EXPECT_EQ(law.ready_at(1), time_point(1249ms)) << "1 ms early";
  EXPECT_EQ(told{99.5}.pace.burst_tolerance, 1ms);
}

TEST(told, zero_is_unbounded) {
  told law;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_LE(law.ready_at(1), time_point(1s));
    law.take(time_point(1s), 1, 0);
  }
  EXPECT_GT(law.allowed(), 1e9);
  EXPECT_EQ((told{0, 50}.allowed()), 50);
}

}  // namespace
}  // namespace headway::sim
