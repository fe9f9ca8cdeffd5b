#include "headway/sim/histogram.hpp"

#include <gtest/gtest.h>

namespace headway::sim {
namespace {

TEST(histogram, quantiles_are_within_1_6_percent_below) {
  histogram h;
  EXPECT_EQ(h.quantile(0.5), 0ns);
  for (int i = 1; i <= 1000; ++i) h.add(i * 1ms);
  for (auto const& [share, exact] :
       {std::pair(0.5, duration(500ms)), {0.99, 990ms}, {1.0, 1000ms}, {0.001, 1ms}}) {
    EXPECT_LE(h.quantile(share), exact);
    EXPECT_GE(h.quantile(share), exact - exact / 60);
  }
}

TEST(histogram, takes_any_duration) {
  histogram h;
  h.add(-1ns);
  EXPECT_EQ(h.quantile(1), 0ns);
  h.add(duration::max());
  EXPECT_GT(h.quantile(1), duration::max() - duration::max() / 60);
  h.add(1ns);
  EXPECT_EQ(h.quantile(0.5), 1ns);
}

}  // namespace
}  // namespace headway::sim
