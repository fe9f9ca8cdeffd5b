#include "base/quantity.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headway::app {
namespace {

TEST(quantity, times_have_a_unit) {
  EXPECT_EQ(parse_time("250us"), 250us);
  EXPECT_EQ(parse_time("50ms"), 50ms);
  EXPECT_EQ(parse_time("1.5min"), 90s);
  EXPECT_EQ(parse_time("0s"), 0s);
  EXPECT_EQ(parse_patience("2d"), 48h);
  for (auto const* bad :
       {"", "5", "ms", "-1s", "1 s", "1s ", "nan", "inf s", "1e3s", "61min", "2h"})
    EXPECT_THROW(parse_time(bad), std::invalid_argument) << bad;
}

TEST(quantity, rates_are_a_count_per_time) {
  EXPECT_EQ(parse_rate("50/s").units, 50);
  EXPECT_EQ(parse_rate("15/min").period, 1min);
  EXPECT_EQ(parse_rate("0.5/s").units, 0.5);
  EXPECT_EQ(parse_rate("10/250ms").period, 250ms);
  EXPECT_EQ(parse_rate("50/day").period, 24h);
  EXPECT_EQ(parse_rate("5/2h").period, 2h);
  for (auto const* bad :
       {"", "50", "50/", "/s", "x/s", "0/s", "-1/s", "1000001/s", "5/100us", "5/25h", "50/s/s"})
    EXPECT_THROW(parse_rate(bad), std::invalid_argument) << bad;
}

TEST(quantity, shares_are_percentages) {
  EXPECT_EQ(parse_share("1%"), 0.01);
  EXPECT_EQ(parse_share("100%"), 1);
  for (auto const* bad : {"", "1", "%", "101%", "-1%", "1%%"})
    EXPECT_THROW(parse_share(bad), std::invalid_argument) << bad;
}

TEST(quantity, takes_the_words_for_units_and_thousands) {
  EXPECT_EQ(parse_time("5minutes"), 5min);
  EXPECT_EQ(parse_patience("2hours"), 2h);
  EXPECT_EQ(parse_rate("50/sec").period, 1s);
  EXPECT_EQ(parse_rate("3M/min").units, 3e6);
  EXPECT_EQ(parse_rate("1.5k/s").units, 1500);
  EXPECT_THROW(parse_rate("3m/min"), std::invalid_argument);
  EXPECT_THROW(parse_bound("0s"), std::invalid_argument);
  EXPECT_EQ(parse_bound("1ms"), 1ms);
}

}  // namespace
}  // namespace headway::app
