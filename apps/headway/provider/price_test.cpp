#include "provider/price.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headway::app {
namespace {

TEST(price, is_read) {
  auto const p = parse_price("input=0.15/M,output=2/k,request=0.01");
  EXPECT_EQ(p.name, "usd");
  ASSERT_EQ(p.parts.size(), 3U);
  EXPECT_EQ(p.parts[0].first, "input");
  EXPECT_DOUBLE_EQ(p.parts[0].second, 0.15e-6);
  EXPECT_DOUBLE_EQ(p.parts[1].second, 0.002);
  EXPECT_DOUBLE_EQ(p.parts[2].second, 0.01);
  EXPECT_EQ(parse_price("eur:input=1").name, "eur");
  for (auto const* bad :
       {"", "input", "input=", "=1", "input=1/s", "input=-1", "input=1,", "Input=1", ":a=1",
        "E:a=1", "input=1/M/M", "input=x", "input=nan", "input=inf"})
    EXPECT_THROW(parse_price(bad), std::invalid_argument) << bad;
}

TEST(price, is_a_sum_over_what_is_there) {
  std::vector<settled_cost> told = {{"input", 1e6, {}}, {"tokens", 7, {}}};
  auto const p = parse_price("input=0.15/M,output=0.60/M");
  add_price(told, p);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[2].quota, "usd");
  EXPECT_DOUBLE_EQ(told[2].units, 0.15);
  told = {{"output", 500'000, {}}, {"input", 1e6, {}}};
  add_price(told, p);
  EXPECT_DOUBLE_EQ(told[2].units, 0.45);
  told = {{"tokens", 7, {}}};
  add_price(told, p);
  EXPECT_EQ(told.size(), 1U);
}

}  // namespace
}  // namespace headway::app
