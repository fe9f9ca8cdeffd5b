#include "status/halt.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

TEST(halt, a_run_that_came_to_its_end_has_none) {
  halt h;
  EXPECT_FALSE(h.draining());
  EXPECT_EQ(h.exit_code(true, true), std::nullopt);
  h.drain();
  EXPECT_TRUE(h.draining());
  EXPECT_FALSE(h.hurried());
  EXPECT_EQ(h.exit_code(true, true), std::nullopt);
}

TEST(halt, the_second_signal_hurries) {
  halt h;
  h.interrupt(SIGINT);
  EXPECT_TRUE(h.draining());
  EXPECT_FALSE(h.hurried());
  EXPECT_EQ(h.exit_code(true, false), 130);
  h.interrupt(SIGTERM);
  EXPECT_TRUE(h.hurried());
  EXPECT_EQ(h.exit_code(true, true), 143);
}

TEST(halt, says_what_is_waited_for_until_when_and_what_a_second_signal_does) {
  halt h;
  h.time_out();
  EXPECT_EQ(h.still_out(20, 5100ms, false), "20 still out, 5.1 s at most");
  h.interrupt(SIGTERM);
  EXPECT_EQ(h.still_out(1, 42s, true),
            "1 still out, 42 s at most if silent; a second signal stops at once");
}

TEST(halt, what_came_when_all_was_done_does_not_count) {
  halt h;
  h.time_out();
  EXPECT_EQ(h.exit_code(true, true), exit_parked);
  EXPECT_EQ(h.exit_code(false, true), std::nullopt);
  h.interrupt(SIGINT);
  EXPECT_EQ(h.exit_code(false, true), std::nullopt);
}

TEST(halt, the_gravest_reason_is_told) {
  halt h;
  h.time_out();
  h.interrupt(SIGINT);
  EXPECT_EQ(h.exit_code(true, true), 130);
  h.fail(std::make_exception_ptr(fatal(exit_usage, "JOBS:3: bad")));
  EXPECT_THROW(h.exit_code(false, true), fatal);
  h.stop_in_part();
  EXPECT_EQ(h.exit_code(false, true), exit_stopped);
}

TEST(halt, lines_that_are_left_are_for_a_later_run) {
  halt h;
  h.leave_in_part();
  EXPECT_FALSE(h.draining());
  EXPECT_EQ(h.exit_code(false, true), exit_parked);
  h.stop("first");
  EXPECT_EQ(h.exit_code(false, true), exit_stopped);
}

TEST(halt, the_first_sentence_is_told) {
  halt h;
  h.stop("first");
  h.stop("second");
  EXPECT_TRUE(h.draining());
  testing::internal::CaptureStderr();
  EXPECT_EQ(h.exit_code(false, true), exit_stopped);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "headway: stopped: first\n");
}

TEST(halt, one_account_does_not_stop_the_others) {
  halt h;
  h.stop_in_part();
  EXPECT_FALSE(h.draining());
  EXPECT_EQ(h.exit_code(false, true), exit_stopped);
}

}  // namespace
}  // namespace headway::app
