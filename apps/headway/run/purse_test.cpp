#include "run/purse.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headway::app {
namespace {

constexpr time_point now{1s};
constexpr fraction least{0};

struct purse_test : testing::Test {
  purse open() {
    purse p(options, nullptr);
    p.open([this](note n) { notes.push_back(n.value); });
    return p;
  }

  run_options options;
  std::vector<std::string> notes{};
  request r{};
};

TEST_F(purse_test, without_a_limit_all_may_go) {
  auto p = open();
  EXPECT_TRUE(p.unlimited());
  EXPECT_TRUE(p.has_room(1000));
  EXPECT_EQ(p.pay({}, {}), "");
  EXPECT_TRUE(notes.empty());
}

TEST_F(purse_test, the_first_flies_alone_and_what_was_paid_is_noted) {
  options.spend_max = {{"tokens", 100}};
  auto p = open();
  EXPECT_TRUE(p.has_room(0));
  EXPECT_FALSE(p.has_room(1));
  EXPECT_EQ(p.pay({}, {.costs = {{"tokens", 10}}}), "");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(p.has_room(1));
  EXPECT_NE(p.pay({}, {.costs = {{"tokens", 90}}}), "");
  EXPECT_FALSE(p.has_room(0));
}

TEST_F(purse_test, prices_count_as_costs) {
  options.spend_max = {{"usd", 1}};
  options.prices = {{"usd", {{"tokens", 0.5}}}};
  auto p = open();
  EXPECT_EQ(p.pay({}, {.costs = {{"tokens", 1}}}), "");
  EXPECT_NE(p.pay({}, {.costs = {{"tokens", 1}}}), "");
}

TEST_F(purse_test, an_attempt_without_an_answer_is_spent_once) {
  options.spend_max = {{"tokens", 100}};
  auto p = open();
  p.pay({}, {.costs = {{"tokens", 40}}});
  r.owes = true;
  p.settle(r, false);
  p.settle(r, false);
  EXPECT_EQ(p.spent().total(p.spent().all().at("tokens")), 80);
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(purse_test, gives_way_for_longer_each_time_until_it_went) {
  auto p = open();
  auto const wait = [&] {
    p.yield(now, least);
    auto const until = p.wakeup();
    EXPECT_FALSE(p.has_room(0));
    EXPECT_FALSE(p.rested(until - 1ns));
    EXPECT_TRUE(p.rested(until));
    EXPECT_FALSE(p.rested(until));
    EXPECT_TRUE(p.has_room(0));
    return until - now;
  };
  auto const first = wait();
  EXPECT_GT(wait(), first);
  p.went();
  EXPECT_EQ(wait(), first);
}

TEST_F(purse_test, leaves_room_for_what_other_hosts_announce) {
  options.spend_max = {{"tokens", 100}};
  auto p = open();
  p.pay({}, {.costs = {{"tokens", 10}}});
  EXPECT_TRUE(p.has_room(2));
  p.hear({.spent = spent_by_others{.ledger = "0\n70 7 10 tokens\n", .flying = 1}});
  EXPECT_FALSE(p.has_room(1));
  EXPECT_TRUE(p.crowded(2));
  EXPECT_FALSE(p.crowded(1));
}

}  // namespace
}  // namespace headway::app
