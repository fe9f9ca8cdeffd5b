#include "headway/driver/timer_slack.hpp"

#include <gtest/gtest.h>

#include <thread>

#ifdef __linux__
#include <sys/prctl.h>

namespace headway::blocking {
namespace {

TEST(timer_slack, is_of_this_thread_while_it_lives) {
  auto const before = prctl(PR_GET_TIMERSLACK);
  {
    timer_slack const outer(20us);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 20'000);
    {
      timer_slack const inner;
      EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1'000);
    }
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 20'000);
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before);
}

}  // namespace
}  // namespace headway::blocking
#endif
