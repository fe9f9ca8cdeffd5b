#include "status/threshold.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "status/progress.hpp"

namespace headway::app {
namespace {

TEST(threshold, counts) {
  auto const t = threshold::parse("failed>50");
  EXPECT_EQ(t.what, threshold::counted::failed);
  EXPECT_EQ(t.text, "failed>50");
  EXPECT_FALSE(t.crossed(50, 50));
  EXPECT_TRUE(t.crossed(51, 1000));
  EXPECT_TRUE(threshold::parse("unknown>0").crossed(1, 1000));
}

TEST(threshold, shares) {
  auto const t = threshold::parse("throttled>1.5%");
  EXPECT_EQ(t.what, threshold::counted::throttled);
  EXPECT_FALSE(t.crossed(15, 1000));
  EXPECT_TRUE(t.crossed(16, 1000));
  EXPECT_FALSE(t.crossed(0, 0));
  EXPECT_FALSE(threshold::parse("failed>0%").crossed(0, 10));
  EXPECT_FALSE(threshold::parse("failed>100%").crossed(10, 10));
}

TEST(threshold, anything_else_is_an_error) {
  for (auto const* bad :
       {"",           "failed",     ">",          "failed>",     ">5",
        "lost>5",     "failed<5",   "failed>=5",  "failed>%",    "failed>-1",
        "failed>-0",  "failed>1.5", "failed>1e3", "failed>101%", "failed>5%%",
        "failed>5 %", "failed >5",  "failed>nan", "failed>inf%", "failed>9999999999999"})
    EXPECT_THROW(threshold::parse(bad), std::invalid_argument) << bad;
}

TEST(threshold, of_a_run) {
  standing const s{
      .success = 60, .failed = 15, .unknown = 5, .attempts = 110, .throttled = 11, .in_flight = 10};
  auto const words = [&](char const* text) {
    return threshold::parse(text).crossed_by(s, 1).value_or("no");
  };
  EXPECT_EQ(words("failed>14"), "15 of 80 requests failed");
  EXPECT_EQ(words("failed>15"), "no");
  EXPECT_EQ(words("unknown>4"), "5 of 80 requests are unknown");
  EXPECT_EQ(words("unknown>5"), "no");
  EXPECT_EQ(words("throttled>10%"), "11 of 100 attempts were throttled");
  EXPECT_EQ(words("throttled>11%"), "no");
}

TEST(threshold, a_share_of_few_says_nothing_a_count_does) {
  standing const s{.failed = 19};
  EXPECT_FALSE(threshold::parse("failed>1%").crossed_by(s, 20));
  EXPECT_TRUE(threshold::parse("failed>1%").crossed_by(s, 19));
  EXPECT_TRUE(threshold::parse("failed>1").crossed_by(s, 20));
}

}  // namespace
}  // namespace headway::app
