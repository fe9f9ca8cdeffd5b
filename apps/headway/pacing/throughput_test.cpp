#include "pacing/throughput.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

constexpr time_point begin{100s};

/// So many units were accepted.
void accept(throughput& t, time_point now, time_point sent, double units) {
  t.accepted(now, t.sent(sent), sent, units);
}

TEST(throughput, of_a_burst_is_that_of_a_second) {
  throughput t;
  EXPECT_EQ(t.most(), 0);
  for (int i = 0; i < 60; ++i) accept(t, begin + i * 1ms, begin, 1);
  EXPECT_EQ(t.most(), 60);
  EXPECT_EQ(t.mean(), 0) << "nothing waited";
}

TEST(throughput, is_the_most_of_its_window) {
  throughput t;
  for (int i = 0; i < 1000; ++i) accept(t, begin + i * 100ms, begin + i * 100ms, 2);
  EXPECT_NEAR(t.most(), 20, 1);
  for (int i = 0; i < 100; ++i) accept(t, begin + 200s + i * 1s, begin, 2);
  EXPECT_NEAR(t.most(), 20, 1) << "the fastest counts";
}

TEST(throughput, has_a_mean_of_the_time_in_which_requests_waited) {
  throughput t;
  t.waits(begin, true);
  accept(t, begin, begin, 30);
  t.waits(begin + 9s, true);
  EXPECT_EQ(t.mean(), 0) << "too short to tell";
  t.waits(begin + 10s, false);
  t.waits(begin + 1h, true);
  t.waits(begin + 1h + 5s, true);
  EXPECT_EQ(t.waited(), 15s);
  EXPECT_EQ(t.mean(), 2);
}

TEST(throughput, looks_at_attempts_in_the_order_of_their_sends) {
  throughput t;
  for (int row = 0; row < 5; ++row) {
    auto const slow = t.sent(begin + row * 1s), quick = t.sent(begin + row * 1s + 1ms),
               gone = t.sent(begin + row * 1s);
    t.refused(begin + row * 1s + 2ms, quick, false);
    t.accepted(begin + row * 1s + 500ms, slow, begin + row * 1s, 3);
    t.forget(gone);
  }
  EXPECT_EQ(t.refusals(), 5);
  ASSERT_TRUE(t.between().kept_up());
  EXPECT_NEAR(t.between().kept_up()->per_second, 3, 0.01);
}

}  // namespace
}  // namespace headway::app
