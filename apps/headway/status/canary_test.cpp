#include "status/canary.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

bool dies(canary& c, int results, int status) {
  bool died = false;
  for (int i = 0; i < results; ++i) died = c.dies(status) || died;
  return died;
}

TEST(canary, dies_when_the_first_results_are_all_refused_alike) {
  canary c;
  EXPECT_FALSE(dies(c, canary::watched - 1, 401));
  EXPECT_TRUE(c.dies(401));
  EXPECT_FALSE(dies(c, 100, 401));
}

TEST(canary, lives_on_after_any_other_result) {
  for (int const other : {0, 404}) {
    for (int const before : {0, 1, canary::watched - 1}) {
      canary c;
      EXPECT_FALSE(dies(c, before, 401));
      EXPECT_FALSE(c.dies(other));
      EXPECT_FALSE(dies(c, before == 0 && other != 0 ? canary::watched - 1 : 100, 401))
          << other << " after " << before;
    }
  }
}

}  // namespace
}  // namespace headway::app
