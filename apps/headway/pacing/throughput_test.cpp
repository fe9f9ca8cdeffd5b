#include "pacing/throughput.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

constexpr time_point begin{100s};

TEST(throughput, of_a_burst_is_that_of_a_second) {
  throughput t;
  EXPECT_EQ(t.most(), 0);
  for (int i = 0; i < 60; ++i) t.accepted(begin + i * 1ms, begin, 1);
  EXPECT_EQ(t.most(), 60);
  EXPECT_EQ(t.mean(), 0) << "nothing waited";
}

TEST(throughput, is_the_most_of_its_window) {
  throughput t;
  for (int i = 0; i < 1000; ++i) t.accepted(begin + i * 100ms, begin + i * 100ms, 2);
  EXPECT_NEAR(t.most(), 20, 1);
  for (int i = 0; i < 100; ++i) t.accepted(begin + 200s + i * 1s, begin, 2);
  EXPECT_NEAR(t.most(), 20, 1) << "the fastest counts";
}

TEST(throughput, has_a_mean_of_the_time_in_which_requests_waited) {
  throughput t;
  t.waits(begin, true);
  t.accepted(begin, begin, 30);
  t.waits(begin + 9s, true);
  EXPECT_EQ(t.mean(), 0) << "too short to tell";
  t.waits(begin + 10s, false);
  t.waits(begin + 1h, true);
  t.waits(begin + 1h + 5s, true);
  EXPECT_EQ(t.waited(), 15s);
  EXPECT_EQ(t.mean(), 2);
}

}  // namespace
}  // namespace headway::app
