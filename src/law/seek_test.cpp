#include "headway/law/seek.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

// Answers take 6 s, refusals 100 ms: after a cut fifty go and none is answered before the next
// refusal. The server accepts, and is not shut.
TEST(seek, a_refusal_that_overtakes_successes_does_not_mean_that_nothing_is_accepted) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 50, .latency = 6}, 0s);
  law.warm = false;
  auto const refused = [&] {
    auto const sent = law.take(now, 1, 0);
    now += 100ms;
    law.on_throttle(now, {.sent = sent, .rtt = 100ms}, resource::unknown, 0);
  };
  refused();
  EXPECT_TRUE(law.shut);  // nothing went before it
  law.shut = false;
  for (int i = 0; i < 50; ++i) {
    now += 20ms;
    law.take(now, 1, 0);
  }
  refused();
  EXPECT_FALSE(law.shut);
  refused();
  EXPECT_TRUE(law.shut);
}

}  // namespace
}  // namespace headway
