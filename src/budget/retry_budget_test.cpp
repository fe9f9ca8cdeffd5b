#include "headway/budget/retry_budget.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr time_point at(duration since_start) {
  return time_point(since_start);
}

TEST(retry_budget, time_alone_pays_what_successes_have_not) {
  struct {
    char const* what;
    retry_budget budget;
    duration now;
    time_point expect;
    double balance;
  } const rows[] = {
      {"covered", {}, 0s, at(0s), 99},
      {"the last whole one", {.balance = 1}, 0s, at(0s), 0},
      {"half a retry is half its time", {.balance = 0.5}, 0s, at(50ms), -0.5},
      {"empty", {.balance = 0}, 0s, at(100ms), -1},
      {"in debt", {.balance = -3}, 0s, at(400ms), -4},
      {"time has paid in", {.balance = 0}, 1s, at(1s), 9},
      {"time pays at most the maximum", {.balance = 0}, 1h, at(1h), 99},
      {"time that runs backwards takes nothing", {.balance = 5, .since = at(2s)}, 1s, at(1s), 4},
      {"no income: covered", {.per_second = 0, .balance = 1}, 1h, at(1h), 0},
      {"no income: never, and nothing is withdrawn",
       {.per_second = 0, .balance = 0.9},
       1h,
       never,
       0.9},
      {"a trickle saturates", {.per_second = 1e-12, .balance = 0}, 0s, never, -1},
  };
  for (auto r : rows) {
    EXPECT_EQ(r.budget.withdraw(at(r.now)), r.expect) << r.what;
    EXPECT_EQ(r.budget.balance, r.balance) << r.what;
  }
}

TEST(retry_budget, a_success_deposits_the_ratio) {
  retry_budget budget{.ratio = 0.25, .per_second = 0, .balance_max = 2, .balance = 0};
  for (int i = 0; i < 3; ++i) budget.deposit();
  EXPECT_EQ(budget.withdraw(at(0s)), never);
  budget.deposit();
  EXPECT_EQ(budget.withdraw(at(0s)), at(0s));
  for (int i = 0; i < 100; ++i) budget.deposit();
  EXPECT_EQ(budget.balance, 2);
}

TEST(retry_budget, a_storm_is_paced_at_its_income) {
  retry_budget budget;  // 100 at once, then 10 a second
  time_point last;
  for (int i = 0; i < 200; ++i) last = budget.withdraw(at(0s));
  EXPECT_EQ(last, at(10s));
}

}  // namespace
}  // namespace headway
