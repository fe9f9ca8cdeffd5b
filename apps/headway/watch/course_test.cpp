#include "watch/course.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "base/clock.hpp"
#include "base/fatal.hpp"

namespace headway::app {
namespace {

using enum final_outcome;

struct course_test : testing::Test {
  static pacing_settings settings() {
    pacing_settings s;
    s.alone = true;
    return s;
  }
  void open(course& c) {
    c.open(paces, {.surface = "run",
                   .jobs = "jobs",
                   .explain = [](std::int64_t) { return ""; },
                   .act = [](time_point, command const&) {}});
  }

  lanes paces{settings()};
  course::terms terms{.wait_max = 15min, .style = progress_style::none};
};

TEST_F(course_test, goes_on_unless_something_halts_it) {
  course c(terms);
  open(c);
  c.tick(clock_now(), 0);
  EXPECT_FALSE(c.halts().draining());
  EXPECT_FALSE(c.take_signal());
  EXPECT_EQ(c.conclude({}, false), exit_ok);
  EXPECT_EQ(c.conclude({.failed = true}, false), exit_failed);
}

TEST_F(course_test, ends_when_its_time_is_over) {
  terms.time_max = 1h;
  course c(terms);
  open(c);
  EXPECT_LE(c.wakeup(), c.began() + 1h);
  c.tick(c.began() + 1h - 1ns, 1);
  EXPECT_FALSE(c.halts().draining());
  c.tick(c.began() + 1h, 1);
  EXPECT_TRUE(c.halts().draining());
  EXPECT_EQ(c.halts().exit_code(true, true), exit_parked);
}

TEST_F(course_test, a_bound_that_is_crossed_stops_it_or_makes_it_fail) {
  terms.may.stop_if = {threshold::parse("failed>2")};
  terms.may.fail_if = {threshold::parse("failed>0")};
  course c(terms);
  open(c);
  for (int n = 0; n < 2; ++n) c.ended("api.example", failed);
  c.tick(clock_now(), 1);
  EXPECT_FALSE(c.halts().refused());
  c.ended("api.example", failed);
  c.tick(clock_now(), 1);
  EXPECT_TRUE(c.halts().refused());
  EXPECT_EQ(c.conclude({.failed = true}, false), exit_threshold);
}

TEST_F(course_test, a_signal_ends_it_and_a_second_one_hurries) {
  course c(terms);
  open(c);
  raise(SIGTERM);
  ASSERT_TRUE(c.take_signal());
  EXPECT_TRUE(c.halts().draining());
  EXPECT_FALSE(c.halts().hurried());
  raise(SIGTERM);
  ASSERT_TRUE(c.take_signal());
  EXPECT_TRUE(c.halts().hurried());
}

TEST_F(course_test, the_canary_dies_once_unless_it_must_not) {
  for (bool const watched : {true, false}) {
    terms.may.canary = watched;
    course c(terms);
    int died = 0;
    for (int n = 0; n < 2 * canary::watched; ++n) died += c.canary_dies(401) ? 1 : 0;
    EXPECT_EQ(died, watched ? 1 : 0);
  }
}

TEST_F(course_test, counts_what_flies_and_what_came_of_it) {
  course c(terms);
  open(c);
  c.begin();
  c.begin();
  c.back();
  c.ended("api.example", success);
  EXPECT_EQ(c.stands().attempts, 2);
  EXPECT_EQ(c.stands().in_flight, 1);
  EXPECT_EQ(c.stands().in_flight_peak, 2);
  EXPECT_EQ(c.stands().success, 1);
}

}  // namespace
}  // namespace headway::app
