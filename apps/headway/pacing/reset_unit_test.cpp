#include "pacing/reset_unit.hpp"

#include <gtest/gtest.h>

#include <array>

namespace headway::app {
namespace {

using namespace std::chrono_literals;

class reset_unit_test : public testing::Test {
 protected:
  /// A window of 20 s ends, as an answer after `passed` tells: by a number of that unit.
  void tell(duration passed, duration unit) {
    now_ += passed;
    auto const left = 20s - (now_ - began_) % duration(20s);
    last_ = {.name = "", .reset = std::chrono::seconds(left / unit)};
    unit_.look(now_, {&last_, 1});
  }
  bool in_ms() const { return unit_.in_ms(last_); }

  time_point const began_{1000s};
  time_point now_ = began_;
  http::quota last_{.name = ""};
  reset_unit unit_{};
};

TEST_F(reset_unit_test, is_seconds_until_three_falls_show_otherwise) {
  for (int n = 0; n < 3; ++n) tell(41ms, 1ms);
  EXPECT_FALSE(in_ms());
  EXPECT_EQ(unit_.reset_of(last_), *last_.reset);
  tell(41ms, 1ms);
  EXPECT_TRUE(in_ms());
  auto const left = 20s - (now_ - began_);
  EXPECT_GE(unit_.reset_of(last_), left) << "never sooner";
  EXPECT_LE(unit_.reset_of(last_), left + 1ms);
  for (int n = 0; n < 1000; ++n) tell(41ms, 1ms);
  EXPECT_TRUE(in_ms()) << "over the ends of windows";
}

TEST_F(reset_unit_test, of_answers_that_crowd_is_told_by_those_that_are_apart) {
  for (int n = 0; n < 40; ++n) tell(5ms, 1ms);
  EXPECT_TRUE(in_ms());
}

TEST_F(reset_unit_test, of_what_falls_as_seconds_do_is_seconds) {
  for (auto const passed : {41ms, 300ms, 1000ms, 4000ms}) {
    for (int n = 0; n < 500; ++n) tell(passed, 1s);
    EXPECT_FALSE(in_ms()) << passed.count();
  }
}

TEST_F(reset_unit_test, of_what_jumps_or_stays_is_seconds) {
  for (int n = 0; n < 100; ++n) {  // a minute's and a day's limit by turns, or a constant
    unit_.look(now_ += 50ms,
               std::array{http::quota{.name = "", .reset = n % 2 == 0 ? 86'000s : 40s},
                          http::quota{.name = "c", .reset = 60s}});
    EXPECT_FALSE(unit_.any_in_ms());
  }
}

TEST_F(reset_unit_test, is_in_doubt_again_once_it_falls_otherwise) {
  for (int n = 0; n < 5; ++n) tell(41ms, 1ms);
  EXPECT_TRUE(in_ms());
  now_ += 50ms;
  unit_.look(now_, {&last_, 1});  // it did not fall
  EXPECT_FALSE(in_ms());
}

TEST_F(reset_unit_test, is_seconds_for_good_after_three_waits_in_a_row_that_were_too_short) {
  auto const wait = [&](reset_unit& unit, bool refused) {
    for (int n = 0; n < 5; ++n) {
      now_ += 41ms;
      last_.reset = *last_.reset - 41s;
      unit.look(now_, {&last_, 1});
    }
    auto const back = now_ + unit.reset_of(last_);
    unit.ended(back - 1ms, true);  // it went before
    unit.ended(back, refused);
    unit.ended(back, true);  // the same wait
  };
  for (int n = 0; n < 5; ++n) tell(41ms, 1ms);
  auto once = unit_;
  for (bool const refused : {true, true, false, true, true}) {
    wait(once, refused);
    EXPECT_TRUE(once.in_ms(last_));
  }
  for (int n = 0; n < 3; ++n) {
    EXPECT_TRUE(unit_.in_ms(last_)) << n;
    wait(unit_, true);
  }
  EXPECT_FALSE(in_ms());
  for (int n = 0; n < 100; ++n) tell(41ms, 1ms);
  EXPECT_FALSE(in_ms());
}

}  // namespace
}  // namespace headway::app
