#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(nearest, forgives_a_slip) {
  std::vector<std::string> const known = {"run", "mock", "replay", "simulate"};
  EXPECT_EQ(nearest("rnu", known), "run");
  EXPECT_EQ(nearest("MOCK", known), "mock");
  EXPECT_EQ(nearest("simluate", known), "simulate");
  EXPECT_EQ(nearest("sim", known), "simulate");
  EXPECT_EQ(nearest("frobnicate", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), known), "");
  EXPECT_EQ(nearest("seed-03", {"seed-010", "seed-003"}), "seed-003");
}

TEST(nearest, in_a_question) {
  EXPECT_EQ(did_you_mean("--hedaer", {"--header", "--header-cmd"}), "; did you mean \"--header\"?");
  EXPECT_EQ(did_you_mean("x", {"--header"}), "");
}

}  // namespace
}  // namespace headway::app
