#include "run/forbidden.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(forbidden, between_successes_may_be_a_throttle) {
  forbidden f;
  for (int n = 0; n < 100; ++n) f.refused("https://a.example:443", 403);
  EXPECT_EQ(f.words(), "") << "before any success";
  for (int n = 0; n < 19; ++n) {
    f.succeeded("https://a.example:443");
    f.refused("https://a.example:443", 403);
    f.refused("https://a.example:443", 403);
    f.refused("https://a.example:443", 404);
  }
  EXPECT_EQ(f.words(), "") << "too few successes";
  f.succeeded("https://a.example:443");
  EXPECT_TRUE(f.words().starts_with("a.example: 38 times 403 came between successes; "))
      << f.words();
}

TEST(forbidden, after_all_successes_is_a_refusal) {
  forbidden f;
  for (int n = 0; n < 100; ++n) f.succeeded("https://a.example:443");
  for (int n = 0; n < 100; ++n) f.refused("https://a.example:443", 403);
  EXPECT_EQ(f.words(), "");
}

}  // namespace
}  // namespace headway::app
