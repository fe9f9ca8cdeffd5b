#include "pacing/told_window.hpp"

#include <gtest/gtest.h>

#include <array>

namespace headway::app {
namespace {

using namespace std::chrono_literals;

class told_window_test : public testing::Test {
 protected:
  void tell(double remaining, duration reset) {
    window_.look(
        std::array{http::quota{.name = "", .limit = 100, .remaining = remaining, .reset = reset}});
  }
  told_window window_{};
};

TEST_F(told_window_test, is_known_once_another_followed_one_that_was_spent) {
  tell(40, 9s);
  EXPECT_FALSE(window_.spent());
  tell(0, 7s);
  EXPECT_TRUE(window_.spent());
  EXPECT_EQ(window_.words(), "") << "it may have begun before";
  tell(1, 7s);  // overtaken
  tell(99, 20s);
  tell(0, 3s);
  tell(98, 19s);
  EXPECT_EQ(window_.words(), "100 in 20 s");
}

TEST_F(told_window_test, that_only_refusals_tell_of_has_no_length) {
  for (int n = 0; n < 5; ++n) tell(0, 19s), tell(0, 1s);
  EXPECT_TRUE(window_.spent());
  EXPECT_EQ(window_.words(), "");
}

TEST_F(told_window_test, is_one_of_requests) {
  for (double const remaining : {0, 9})
    window_.look(
        std::array{http::quota{.name = "tokens", .limit = 9, .remaining = remaining, .reset = 60s},
                   http::quota{.name = "", .limit = 9, .remaining = remaining}});
  EXPECT_FALSE(window_.spent());
}

}  // namespace
}  // namespace headway::app
