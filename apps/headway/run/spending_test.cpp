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

TEST(spending, what_flies_is_counted_as_the_dearest) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 10}}), "");
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 30}}), "");
  EXPECT_TRUE(s.room_beside(0));
  EXPECT_TRUE(s.room_beside(1));   // 40 + 2 × 30
  EXPECT_FALSE(s.room_beside(2));  // 40 + 3 × 30
}

TEST(spending, stops_where_one_more_would_pass_the_most) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 50}}), "");
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 10}}), "");
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 20}}),
            "--spend-max tokens=100: 80 spent in all runs");
}

TEST(spending, words_count_what_was_lost_too) {
  spending s({});
  EXPECT_EQ(s.words(), "");
  s.charge(units{}, costs{{.quota = "tokens", .units = 200}, {.quota = "usd", .units = 0.0456}});
  EXPECT_EQ(s.words(), "spent in all runs: 200 tokens, 0.0456 usd\n");
  s.lose();
  EXPECT_EQ(s.words(), "spent in all runs: 400 tokens, 0.0912 usd\n");
}

TEST(spending, an_answer_knows_better_than_the_caller) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{{"tokens", 90}}, costs{{.quota = "tokens", .units = 10}}), "");
  EXPECT_EQ(s.charge(units{{"tokens", 90}}, costs{{.quota = "requests", .units = 1}}),
            "--spend-max tokens=100: 100 spent in all runs");
}

TEST(spending, stops_where_no_cost_is_stated) {
  spending s(units{{"tokens", 100}});
  EXPECT_EQ(s.charge(units{{"requests", 1}}, costs{}),
            "no answer says what it costs in tokens, so --spend-max cannot be kept");
}

TEST(spending, goes_on_where_the_last_run_ended) {
  spending first(units{{"tokens", 100}});
  first.charge(units{}, costs{{.quota = "tokens", .units = 10}, {.quota = "a b", .units = 0.1}});
  first.charge(units{}, costs{{.quota = "tokens", .units = 30}});
  first.lose();
  EXPECT_EQ(first.ledger(), "1\n0.1 1 0.1 a b\n40 2 30 tokens\n");
  spending next(units{{"tokens", 100}}, first.ledger(), 1);
  EXPECT_EQ(next.ledger(), first.ledger());
  EXPECT_EQ(next.total(next.all().at("tokens")), 80);  // one lost, one in doubt
  EXPECT_EQ(next.exhausted(), "");
  next.resolve();
  EXPECT_EQ(next.total(next.all().at("tokens")), 80);
  next.resolve();  // there is no other
  EXPECT_EQ(next.ledger(), "2\n0.1 1 0.1 a b\n40 2 30 tokens\n");
  next.lose();
  EXPECT_EQ(next.exhausted(), "--spend-max tokens=100: 100 spent in all runs");
  EXPECT_FALSE(next.room_beside(0));
  EXPECT_EQ(spending(units{}, "").ledger(), "");
}

TEST(spending, every_quota_binds) {
  spending s(units{{"tokens", 100}, {"euros", 3}});
  auto const told = costs{{.quota = "tokens", .units = 1}, {.quota = "euros", .units = 1}};
  EXPECT_EQ(s.charge(units{}, told), "");
  EXPECT_TRUE(s.room_beside(1));
  EXPECT_FALSE(s.room_beside(2));
  EXPECT_EQ(s.charge(units{}, told), "");
  EXPECT_EQ(s.charge(units{}, told), "--spend-max euros=3: 3 spent in all runs");
}

TEST(spending, what_other_hosts_have_out_takes_room) {
  spending s(units{{"tokens", 100}}), other({});
  EXPECT_EQ(other.charge(units{}, costs{{.quota = "tokens", .units = 20}}), "");
  s.share(other.ledger(), 0);
  EXPECT_TRUE(s.room_beside(3));   // 20 + 4 × 20
  EXPECT_FALSE(s.room_beside(4));  // 20 + 5 × 20
  s.share(other.ledger(), 2);
  EXPECT_TRUE(s.room_beside(1));
  EXPECT_FALSE(s.room_beside(2));
}

TEST(spending, a_ledger_has_nothing_of_others) {
  spending s(units{{"tokens", 99}}), other({});
  s.charge(units{}, costs{{.quota = "tokens", .units = 10}});
  auto const own = s.ledger();
  other.charge(units{}, costs{{.quota = "tokens", .units = 40}});
  other.lose();
  s.share(other.ledger(), 0);
  EXPECT_EQ(s.ledger(), own);
  EXPECT_EQ(s.words(), "spent in all runs: 75 tokens\n");  // one was lost: 25
  s.share(other.ledger(), 0);                              // it is told all each time
  EXPECT_EQ(s.charge(units{}, costs{{.quota = "tokens", .units = 10}}),
            "--spend-max tokens=99: 80 spent in all runs");
}

TEST(spending, what_a_lost_run_had_out_is_counted_once_it_is_ours) {
  spending s({});
  s.charge(units{}, costs{{.quota = "tokens", .units = 10}});
  s.doubt(2);
  EXPECT_EQ(s.words(), "spent in all runs: 30 tokens\n");
  s.resolve();
  EXPECT_EQ(s.words(), "spent in all runs: 30 tokens\n");
  EXPECT_EQ(s.ledger(), "1\n10 1 10 tokens\n");
}

}  // namespace
}  // namespace headway::app
