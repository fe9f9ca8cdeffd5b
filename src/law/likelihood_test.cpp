#include "headway/law/likelihood.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(likelihood_ratio, is_one_of_nothing_heard_and_multiplies_by_each_answer) {
  EXPECT_EQ(likelihood_ratio(0, 0, 0.8, 0.4), 1);
  EXPECT_DOUBLE_EQ(likelihood_ratio(8, 8, 0.8, 0.4), 256);
  EXPECT_DOUBLE_EQ(likelihood_ratio(2, 0, 0.8, 0.4), 1.0 / 9);
  EXPECT_DOUBLE_EQ(likelihood_ratio(2, 1, 0.8, 0.4), 2.0 / 3);
}

}  // namespace
}  // namespace headway
