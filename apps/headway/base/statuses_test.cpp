#include "base/statuses.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headway::app {
namespace {

TEST(statuses, by_default_2xx) {
  statuses const ok;
  for (int const in : {200, 204, 299}) EXPECT_TRUE(ok.contains(in)) << in;
  for (int const out : {-1, 0, 100, 199, 300, 404, 599, 600}) EXPECT_FALSE(ok.contains(out)) << out;
}

TEST(statuses, are_numbers_and_ranges) {
  auto const ok = statuses::parse("200-202,404,599");
  for (int const in : {200, 201, 202, 404, 599}) EXPECT_TRUE(ok.contains(in)) << in;
  for (int const out : {203, 299, 403, 405, 598}) EXPECT_FALSE(ok.contains(out)) << out;
  EXPECT_FALSE(statuses::parse("404").contains(200));
}

TEST(statuses, anything_else_is_an_error) {
  for (auto const* bad : {"", ",", "200,", ",200", "2xx", "20", "2000", "199", "600", "299-200",
                          "200-", "-299", "200-299-404", "200 ", " 200", "+20", "200;404"})
    EXPECT_THROW(statuses::parse(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace headway::app
