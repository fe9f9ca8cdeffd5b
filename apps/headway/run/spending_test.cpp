#include "run/spending.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headway::app {
namespace {

using units = std::vector<quota_units>;
using costs = std::vector<settled_cost>;

TEST(spending, without_a_limit_all_may_go) {
  spending s({});
  EXPECT_TRUE(s.empty());
  EXPECT_TRUE(s.room_beside(1000));
  EXPECT_EQ(s.charge(units{}, costs{}), "");
}

TEST(spending, the_first_flies_alone) {
  spending s(units{{"tokens", 100}});
  EXPECT_FALSE(s.empty());
  EXPECT_TRUE(s.room_beside(0));
  EXPECT_FALSE(s.room_beside(1));
}

TEST(spending, what_flies_is_counted_as_what_was_answered) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 10}}), "");
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 30}}), "");
  EXPECT_TRUE(s.room_beside(2));   // 40 + 3 × 20
  EXPECT_FALSE(s.room_beside(3));  // 40 + 4 × 20
}

TEST(spending, stops_where_one_more_would_pass_the_most) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 50}}), "");
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 10}}), "");
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 20}}),
            "--spend-max tokens=100: 80 spent");
}

TEST(spending, an_answer_knows_better_than_the_caller) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{{"tokens", 90}}, costs{{.quota = "tokens", .units = 10}}), "");
  EXPECT_EQ(s.charge(units{{"tokens", 90}}, costs{{.quota = "requests", .units = 1}}),
            "--spend-max tokens=100: 100 spent");
}

TEST(spending, stops_where_nobody_says_what_it_costs) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{{"requests", 1}}, costs{}),
            "no answer says what it costs in tokens, so --spend-max cannot be kept");
}

TEST(spending, every_quota_binds) {
  spending s(units{{"tokens", 100}, {"euros", 3}});
  auto const told = costs{{.quota = "tokens", .units = 1}, {.quota = "euros", .units = 1}};
  EXPECT_EQ(s.charge(units{}, told), "");
  EXPECT_TRUE(s.room_beside(1));
  EXPECT_FALSE(s.room_beside(2));
  EXPECT_EQ(s.charge(units{}, told), "");
  EXPECT_EQ(s.charge(units{}, told), "--spend-max euros=3: 3 spent");
}

}  // namespace
}  // namespace headway::app
