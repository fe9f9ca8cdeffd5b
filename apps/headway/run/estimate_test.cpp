#include "run/estimate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headway::app {
namespace {

TEST(estimate, is_at_the_average_and_the_tempo_so_far) {
  spending spent({});
  EXPECT_EQ(estimate_of(7, spent, {}),
            "7 left; --only 10 tells what they cost and how long they take");
  tempo so_far;
  so_far.add(1, 5s);  // the first answer alone says nothing
  EXPECT_EQ(so_far.requests, 0);
  so_far.add(11, 20s);
  EXPECT_EQ(estimate_of(30, spent, tempo::parse(so_far.note())),
            "30 left: about 1 min 0 s, as those before them; so few say little of the time");
  so_far.add(101, 200s);
  spent.charge({}, std::vector<settled_cost>{{"tokens", 200, {}}, {"usd", 0.0001, {}}});
  spent.charge({}, std::vector<settled_cost>{{"tokens", 240, {}}, {"usd", 0.0001, {}}});
  EXPECT_EQ(estimate_of(3000, spent, so_far),
            "3000 left: about 660k tokens, 0.3 usd, 1 h 40 min, as those before them");
  EXPECT_EQ(tempo::parse("").requests, 0);
}

}  // namespace
}  // namespace headway::app
