#include "pacing/quota_book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "headway/random.hpp"

namespace headway::app {
namespace {

time_point at(duration since_start) {
  return time_point(1h + since_start);
}

http::quota told(std::string name, double limit, double remaining, duration reset) {
  return {.name = std::move(name), .limit = limit, .remaining = remaining, .reset = reset};
}

quota_book by_tokens(std::vector<quota_ceiling> const& ceilings = {}) {
  std::vector<quota_units> const per_byte{{"tokens", 0.25}};
  return quota_book(ceilings, per_byte);
}

request_size costing(double tokens) {
  return {.given = {{"tokens", tokens}}};
}

TEST(quota_book, reads_what_the_caller_sets) {
  EXPECT_EQ(parse_quota("tokens=90k/min"), (quota_ceiling{"tokens", 90000, 1min, 0}));
  EXPECT_EQ(parse_quota("input-tokens=1.5M/h:20k"),
            (quota_ceiling{"input-tokens", 1.5e6, 1h, 20000}));
  EXPECT_EQ(parse_quota("tokens=1M/day"), (quota_ceiling{"tokens", 1e6, 24h, 0}));
  for (auto const* const text : {"", "tokens", "tokens=90k", "=90k/min", "90k/min", "To kens=1/s",
                                 "tokens=0/s", "tokens=90q/min", "tokens=-1/s", "tokens=9/week",
                                 "tokens=9/s:10", "tokens=9/s:", "tokens=nan/s", "tokens=1e3/s"})
    EXPECT_THROW(parse_quota(text), std::invalid_argument) << text;
}

TEST(quota_book, nothing_known_holds_nothing) {
  quota_book book;
  EXPECT_LE(book.ready_at(at(0s), {.bytes = 1e6}).until, at(0s));
  EXPECT_LE(by_tokens().ready_at(at(0s), {.bytes = 1e6}).until, at(0s));
}

TEST(quota_book, expects_what_the_caller_says_or_what_it_set_aside) {
  auto book = by_tokens({{"tokens", 1000, 1s, 1000}});
  auto const by_caller = book.take(at(0s), costing(70));
  EXPECT_EQ(book.expected(by_caller, costing(70), "tokens"), 70);
  request_size const by_size{.bytes = 400};
  auto const estimated = book.take(at(0s), by_size);
  EXPECT_EQ(book.expected(estimated, by_size, "tokens"), 100);
  EXPECT_EQ(book.expected(estimated, by_size, "images"), 0);
}

TEST(quota_book, a_ceiling_is_paid_off) {
  auto book = by_tokens({{"tokens", 600, 1min, 0}});
  EXPECT_LE(book.ready_at(at(0s), costing(100)).until, at(0s));
  book.take(at(0s), costing(100));
  auto const held = book.ready_at(at(0s), costing(500));
  EXPECT_EQ(held.quota, "tokens");
  EXPECT_NEAR(to_seconds(held.until - at(0s)), 10, 0.2);
  EXPECT_LE(book.ready_at(held.until, costing(500)).until, held.until);
}

TEST(quota_book, is_busy_until_a_new_one_knows_as_much) {
  auto book = by_tokens({{"tokens", 600, 1min, 50}});
  EXPECT_LE(book.busy_until(), at(0s));
  book.take(at(0s), costing(100));
  EXPECT_NEAR(to_seconds(book.busy_until() - at(0s)), 10, 0.01);

  auto learned = by_tokens();
  auto receipt = learned.take(at(0s), costing(1));
  std::vector<http::quota> const none_left{told("tokens", 100, 0, 30s)};
  learned.settle(at(0s), receipt, costing(1), {.quotas = none_left});
  EXPECT_NEAR(to_seconds(learned.busy_until() - at(0s)), 30, 0.1);
}

http::quota policy(std::string name, double limit, std::optional<duration> window,
                   http::counted counts = http::counted::requests, std::string partition = {}) {
  return {.name = std::move(name),
          .limit = limit,
          .window = window,
          .counts = counts,
          .partition = std::move(partition)};
}
void tell(quota_book& book, duration now, http::quota const& what) {
  auto receipt = book.take(at(now), {});
  std::vector<http::quota> const all{what};
  book.settle(at(now), receipt, {}, {.quotas = all});
}

TEST(quota_book, a_policy_alone_is_a_ceiling_for_any_window) {
  quota_book book;
  tell(book, 0s, policy("default", 10, 10s));
  for (int i = 0; i < 9; ++i) {
    EXPECT_LE(book.ready_at(at(1s), {}).until, at(1s)) << i;
    book.take(at(1s), {});
  }
  auto const held = book.ready_at(at(1s), {});
  EXPECT_EQ(held.quota, "default");
  EXPECT_GE(held.until, at(10s));
  EXPECT_LE(held.until, at(11s));
}

TEST(quota_book, what_remains_takes_the_place_of_a_policy_alone) {
  quota_book book;
  tell(book, 0s, policy("default", 2, 1h));
  book.take(at(0s), {});
  EXPECT_GT(book.ready_at(at(0s), {}).until, at(50min));
  auto state = policy("default", 2, 1h);
  state.remaining = 2;
  state.reset = 10s;
  tell(book, 1s, state);
  EXPECT_LE(book.ready_at(at(1s), {}).until, at(1s));
}

TEST(quota_book, a_policy_of_concurrent_requests_bounds_those_in_flight) {
  quota_book book;
  tell(book, 0s, policy("c", 2, {}, http::counted::concurrent));
  auto first = book.take(at(1s), {});
  EXPECT_LE(book.ready_at(at(1s), {}).until, at(1s));
  book.take(at(1s), {});
  EXPECT_EQ(book.ready_at(at(1s), {}).until, never) << "until an answer";
  book.settle(at(2s), first, {}, {});
  EXPECT_LE(book.ready_at(at(2s), {}).until, at(2s));
}

TEST(quota_book, a_policy_of_bytes_is_not_one_of_requests) {
  quota_book book;
  tell(book, 0s, policy("b", 1000, 10s, http::counted::bytes));
  book.take(at(1s), {.bytes = 900});
  EXPECT_LE(book.ready_at(at(1s), {.bytes = 90}).until, at(1s));
  EXPECT_GT(book.ready_at(at(1s), {.bytes = 200}).until, at(9s));
}

TEST(quota_book, of_several_partitions_the_one_told_last_is_ours) {
  quota_book book;
  auto used_up = policy("q", 5, 1min, http::counted::requests, ":A:");
  used_up.remaining = 0;
  used_up.reset = 1min;
  tell(book, 0s, used_up);
  EXPECT_GE(book.ready_at(at(0s), {}).until, at(1min));
  auto other = used_up;
  other.partition = ":B:";
  other.remaining = 5;
  tell(book, 1s, other);
  EXPECT_LE(book.ready_at(at(1s), {}).until, at(1s));
  tell(book, 2s, used_up);
  EXPECT_GE(book.ready_at(at(2s), {}).until, at(1min));
}

// Else a server that says so with each refusal would never be slowed down for.
TEST(quota_book, what_is_there_again_at_once_excuses_no_refusal) {
  for (auto const reset : {duration(0s), duration(5s)}) {
    quota_book book;
    auto state = policy("q", 1e6, 1s);
    state.remaining = 1e6;
    state.reset = 1s;
    tell(book, 0s, state);
    state.remaining = 0;
    state.reset = reset;
    auto receipt = book.take(at(0s), {});
    std::vector<http::quota> const all{state};
    EXPECT_EQ(book.settle(at(0s), receipt, {}, {.quotas = all, .refused = true}), reset > 0s);
  }
}

TEST(quota_book, the_head_of_an_answer_tells_what_is_left_and_its_end_does_not_again) {
  quota_book book;
  auto receipt = book.take(at(0s), {});
  auto state = policy("q", 5, 10s);
  state.remaining = 0;
  state.reset = 10s;
  std::vector<http::quota> const all{state};
  book.hear(at(1s), receipt, all);
  EXPECT_NEAR(to_seconds(book.ready_at(at(1s), {}).until - at(1s)), 10, 0.01);
  book.settle(at(9s), receipt, {}, {});
  EXPECT_NEAR(to_seconds(book.ready_at(at(9s), {}).until - at(1s)), 10, 0.01);
}

TEST(quota_book, a_ceiling_is_settled_with_what_it_was) {
  auto book = by_tokens({{"tokens", 600, 1min, 0}});
  auto receipt = book.take(at(0s), {.bytes = 800});  // estimated 200
  std::vector<settled_cost> const costs{{"tokens", 50, {}}};
  book.settle(at(1s), receipt, {.bytes = 800}, {.costs = costs});
  EXPECT_NEAR(to_seconds(book.ready_at(at(1s), costing(1)).until - at(0s)), 5, 0.2);
}

TEST(quota_book, what_can_never_fit_is_said) {
  auto book = by_tokens({{"tokens", 600, 1min, 0}});
  EXPECT_FALSE(book.never_fits(costing(600)));
  EXPECT_EQ(book.never_fits(costing(601)), "it needs 601 tokens, but the limit is 600");
  EXPECT_FALSE(book.never_fits({.bytes = 1e6}));  // an estimate
  EXPECT_TRUE(book.never_fits({.reserved = {{"tokens", 601}}}));
}

/// A server with a quota that refills all the time, asked whenever the book allows it.
TEST(quota_book, uses_all_of_a_bucket_and_is_never_refused) {
  for (auto const latency : {duration(20ms), duration(2s)}) {
    rng draw(7);
    auto book = by_tokens();
    double level = 6000, used = 0;
    time_point filled = at(0s), now = at(0s);
    int refused = 0;
    struct flight {
      time_point answer;
      quota_receipt receipt;
      request_size size;
      http::quota told;
      settled_cost cost;
      bool refused;
    };
    std::vector<flight> flying;
    while (now < at(3min)) {
      for (auto& f : flying)
        if (f.answer <= now && f.receipt.open)
          book.settle(now, f.receipt, f.size,
                      {.quotas = {&f.told, 1},
                       .costs = {&f.cost, f.refused ? 0U : 1U},
                       .refused = f.refused});
      request_size const size{.bytes = 400 + unit(draw()) * 3600};
      auto held = book.ready_at(now, size);
      if (flying.size() == 1 && flying[0].receipt.open) held.until = never;  // it flies alone
      if (held.until <= now) {
        auto const cost = size.bytes / 4 + 40;
        level = std::min(6000.0, level + 100 * to_seconds(now - filled));
        filled = now;
        auto const no = cost > level;
        refused += no;
        if (!no) level -= cost, used += cost;
        flying.push_back(
            {now + latency,
             book.take(now, size),
             size,
             told("tokens", 6000, std::floor(level), from_seconds((6000 - level) / 100)),
             {"tokens", cost, {}},
             no});
        now += 50ms;
        continue;
      }
      auto next = held.until;
      for (auto const& f : flying)
        if (f.receipt.open) next = std::min(next, f.answer);
      ASSERT_GT(next, now);
      now = next;
    }
    EXPECT_GE(used, 0.95 * (6000 + 100 * 180)) << to_seconds(latency);
    EXPECT_LE(refused, 1) << to_seconds(latency);
  }
}

TEST(quota_book, a_window_is_back_at_its_reset) {
  auto book = by_tokens();
  for (int i = 0; i < 5; ++i) {
    auto receipt = book.take(at(1s * i), costing(200));
    auto const now = told("tokens", 1000, 1000 - 200 * (i + 1), 60s - 1s * i);
    book.settle(at(1s * i), receipt, costing(200), {.quotas = {&now, 1}});
  }
  EXPECT_EQ(book.ready_at(at(5s), costing(200)).until, at(60s));
  EXPECT_LE(book.ready_at(at(60s), costing(200)).until, at(60s));
}

TEST(quota_book, answers_of_a_window_may_come_in_any_order) {
  constexpr int limit = 50;
  struct flight {
    quota_receipt receipt;
    int remained = -1;  // -1: the server has not counted it
  };
  rng chance(7);
  auto const one_of = [&](std::size_t n) { return static_cast<std::size_t>(chance() % n); };
  for (int window = 0; window < 100; ++window) {
    quota_book book;
    auto first = book.take(at(0s), {});
    int used = 1;
    auto const answer = [&](quota_receipt& r, int remained) {
      auto const says = told("requests", limit, remained, 10s);
      book.settle(at(1s), r, {}, {.quotas = std::span(&says, 1)});
    };
    answer(first, limit - 1);
    std::vector<flight> flying;
    for (;;) {
      auto const ready = book.ready_at(at(1s), {}).until <= at(1s);
      if (ready && flying.size() < 20 && (flying.empty() || one_of(2) == 0)) {
        flying.push_back({book.take(at(1s), {})});
      } else if (flying.empty()) {
        break;
      } else {
        auto const uncounted = std::ranges::find(flying, -1, &flight::remained) - flying.begin();
        auto const nearly = std::min(static_cast<std::size_t>(uncounted) + 4, flying.size());
        auto const i = one_of(nearly);  // counted nearly as they were sent, answered in any order
        if (flying[i].remained < 0) {
          ASSERT_LT(used, limit) << "one too many";
          ++used;
          flying[i].remained = limit - used;
        } else {
          answer(flying[i].receipt, flying[i].remained);
          flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
    }
    ASSERT_EQ(used, limit) << "none refused, none left";
  }
}

TEST(quota_book, what_binds_is_named) {
  auto book = by_tokens();
  auto receipt = book.take(at(0s), costing(10));
  std::vector<http::quota> const both{told("requests", 10, 0, 30s), told("tokens", 1000, 990, 5s)};
  book.settle(at(0s), receipt, costing(10), {.quotas = both});
  auto const held = book.ready_at(at(1s), costing(10));
  EXPECT_EQ(held.quota, "requests");
  EXPECT_EQ(held.until, at(30s));
}

TEST(quota_book, tells_its_own_refusals_from_others) {
  auto book = by_tokens();
  auto const refused = [&](double remaining) {
    auto receipt = book.take(at(0s), costing(100));
    auto const q = told("tokens", 1000, remaining, 5s);
    return book.settle(at(0s), receipt, costing(100),
                       {.quotas = {&q, 1}, .refused = true, .hold = 374ms});
  };
  EXPECT_FALSE(refused(900));
  EXPECT_TRUE(refused(50));
  EXPECT_GE(book.ready_at(at(0s), costing(1)).until, at(374ms));
  EXPECT_FALSE(book.keeps({.name = "tokens", .remaining = 5.0, .reset = 5s}));
  EXPECT_FALSE(book.keeps(told("", 10, 5, 5s)));
  EXPECT_FALSE(book.keeps(told("things", 10, 5, 5s)));
}

/// A limit of 50 a minute that is used up; a refusal tells a wait, and when all is back.
struct used_up : testing::Test {
  quota_book book;
  time_point now = at(0s);
  used_up() { answer(false, {}, 60s); }
  /// Takes an answer to a request that goes now. Returns until when the next one is held.
  time_point answer(bool refused, duration wait, duration reset, double remaining = 0) {
    auto receipt = book.take(now, {});
    auto const q = told("requests", 50, remaining, reset);
    std::optional<duration> const hold = refused ? std::optional(wait) : std::nullopt;
    book.settle(now, receipt, {}, {.quotas = {&q, 1}, .refused = refused, .hold = hold});
    return book.ready_at(now, {}).until;
  }
};

TEST_F(used_up, refills_all_the_time_where_a_refusal_tells_a_wait_that_is_sooner_than_its_reset) {
  EXPECT_EQ(book.ready_at(now, {}).until, at(60s)) << "it went before that was known";
  EXPECT_NEAR(to_seconds(answer(true, 2s, 60s) - at(0s)), 2, .01);
  for (now = at(2s); now < at(12s); now += 1200ms)
    EXPECT_NEAR(to_seconds(answer(false, {}, 60s) - now), 1.2, .01);
}

TEST_F(used_up, is_a_window_where_it_refuses_after_such_waits_too) {
  for (int refusals = 0; refusals < 2; ++refusals, now += 2s)
    EXPECT_LT(answer(true, 1s, at(60s) - now), now + 3s) << refusals;
  EXPECT_EQ(answer(true, 1s, at(60s) - now), at(60s));
  now = at(60s);
  EXPECT_LE(answer(false, {}, 60s, 49), now);
  EXPECT_EQ(answer(true, 1s, 60s), at(120s)) << "for good";
}

TEST_F(used_up, refills_though_several_that_went_together_are_refused) {
  answer(true, 1s, 60s);
  now = at(2s);
  std::vector<quota_receipt> together(5);
  for (auto& one : together) one = book.take(now, {});
  auto const q = told("requests", 50, 0, 60s);
  for (auto& one : together)
    book.settle(now, one, {}, {.quotas = {&q, 1}, .refused = true, .hold = 1s});
  EXPECT_LT(book.ready_at(now, {}).until, at(5s));
  now = at(4s);
  EXPECT_LT(answer(false, {}, 60s), at(6s));
  now = at(6s);
  EXPECT_LT(answer(true, 1s, 60s), at(9s)) << "one was accepted since";
}

TEST_F(used_up, refills_though_what_was_accepted_since_was_heard_by_its_head_only) {
  for (int refusals = 0; refusals < 4; ++refusals, now += 4s) {
    EXPECT_LT(answer(true, 1s, 60s), now + 3s) << refusals;
    auto receipt = book.take(now + 2s, {});
    auto const q = told("requests", 50, 0, 60s);
    book.hear(now + 2s, receipt, {&q, 1});
    book.settle(now + 2s, receipt, {}, {});
  }
}

TEST_F(used_up, refills_as_fast_as_the_reset_tells) {
  answer(true, 1s, 8s);
  now = at(1s);
  int went = 0;
  for (; book.ready_at(now, {}).until <= now; ++went) book.take(now, {});
  EXPECT_EQ(went, 6) << "of 50 in 8 s";
}

TEST_F(used_up, is_a_window_where_a_wait_is_about_its_reset_or_longer_than_for_one_more) {
  EXPECT_EQ(answer(true, 1s, 1900ms), at(1900ms));
  EXPECT_EQ(answer(true, 20s, 60s), at(60s)) << "one of fifty would be there long before";
  EXPECT_EQ(answer(true, 60s, 60s), at(60s));
}

TEST_F(used_up, that_shows_by_its_reset_that_it_refills_does_so_whatever_it_refused) {
  for (int refusals = 0; refusals < 3; ++refusals, now += 2s) answer(true, 1s, at(60s) - now);
  now = at(60s);
  for (auto const left : {40., 30., 20.}) answer(false, {}, from_seconds(1.2 * (50 - left)), left);
  EXPECT_LT(answer(true, 1s, 60s), now + 2s);
}

TEST_F(used_up, that_says_that_it_refills_does_so_whatever_it_refused) {
  auto ready = now;
  for (int refusals = 0; refusals < 4; ++refusals, now += 2s) {
    auto receipt = book.take(now, {});
    auto q = told("requests", 50, 0, 60s);
    q.period = 1min;
    book.settle(now, receipt, {}, {.quotas = {&q, 1}, .refused = true, .hold = 1s});
    ready = book.ready_at(now, {}).until;
  }
  EXPECT_LT(ready, now);
}

TEST(cost_model, stays_above_nine_of_ten) {
  cost_model model(0.25);
  EXPECT_EQ(model.estimate(400), 100);
  rng draw(3);
  int above = 0;
  for (int i = 0; i < 1000; ++i) {
    auto const bytes = 100 + unit(draw()) * 4000;
    auto const units = (bytes / 3 + 50) * (0.8 + 0.4 * unit(draw()));
    if (i >= 500) above += units > model.estimate(bytes);
    model.learn(bytes, units);
  }
  EXPECT_LE(above, 90);
  EXPECT_GE(above, 15);
  EXPECT_NEAR(model.estimate(3000), 1050 * 1.16, 100);
}

TEST(cost_model, one_size_and_junk) {
  cost_model model;
  EXPECT_FALSE(model.known());
  for (int i = 0; i < 20; ++i) model.learn(100, 7);
  EXPECT_NEAR(model.estimate(100), 7, 1e-6);
  model.learn(-1, 5);
  model.learn(5, 1e300);
  EXPECT_NEAR(model.estimate(100), 7, 1e-6);
}

TEST(quota_book, amounts) {
  EXPECT_EQ(parse_amount("tokens=5M"), (quota_units{.quota = "tokens", .units = 5e6}));
  EXPECT_EQ(parse_amount("usd=0.05"), (quota_units{.quota = "usd", .units = 0.05}));
  EXPECT_EQ(parse_amount("requests=10"), (quota_units{.quota = "requests", .units = 10}));
  for (auto const* text : {"", "tokens", "tokens=", "=5", "tokens=-5", "tokens=0", "tokens=5/min"})
    EXPECT_THROW(parse_amount(text), std::invalid_argument) << text;
}

TEST(quota_book, a_limit_with_a_period_refills_all_the_time) {
  auto book = by_tokens();
  auto receipt = book.take(at(0s), costing(2000));
  auto const limit =
      http::quota{.name = "tokens", .limit = 6000, .remaining = 1000, .reset = 50s, .period = 1min};
  std::vector<http::quota> const quotas{limit};
  EXPECT_TRUE(
      book.settle(at(1s), receipt, costing(2000), {.quotas = quotas, .refused = true, .hold = 2s}));
  EXPECT_EQ(book.ready_at(at(1s), costing(500)).until, at(3s));  // the hold
  // 1,000 were left, 100 come back a second.
  EXPECT_NEAR(to_seconds(book.ready_at(at(3s), costing(2000)).until - at(1s)), 10, 0.1);
  EXPECT_EQ(book.findings(), "quotas told: tokens 6000 (100/s)");
}

TEST(quota_book, begins_with_what_it_knew) {
  auto first = by_tokens();
  auto receipt = first.take(at(0s), {.bytes = 400});
  std::vector<http::quota> const quotas{
      {.name = "tokens", .limit = 6000, .remaining = 0, .reset = 1min, .period = 1min}};
  std::vector<settled_cost> const costs{{"tokens", 800, {}}};
  first.settle(at(1s), receipt, {.bytes = 400}, {.quotas = quotas, .costs = costs});
  auto const known = first.knows();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].limit, 6000);
  EXPECT_EQ(known[0].per_second, 100);

  auto second = by_tokens();
  second.remember(at(0s), known, 10s);
  // 1,000 came back since; 400 bytes are estimated at 800 and a quarter.
  EXPECT_LE(second.ready_at(at(0s), {.bytes = 400}).until, at(0s));
  EXPECT_NEAR(to_seconds(second.ready_at(at(0s), {.bytes = 600}).until - at(0s)), 5, 0.1);
  auto const unsaid = second.knows();
  EXPECT_TRUE(unsaid.empty()) << "it was not told again";

  auto again = second.take(at(1s), {.bytes = 400});
  std::vector<http::quota> const more{
      {.name = "tokens", .limit = 90000, .remaining = 80000, .reset = 7s}};
  second.settle(at(2s), again, {.bytes = 400}, {.quotas = more});
  EXPECT_LE(second.ready_at(at(2s), costing(79000)).until, at(2s)) << "what is told holds";
}

// ── others ──────────────────────────────────────────────────────────────────────────────────────

/// Sixteen in ten seconds, of which others take, too.
struct shared_window : testing::Test {
  static constexpr duration asked = 27500ms;  // the third one, whether anything is left
  /// A request that is answered at once.
  void ask(duration now, double remaining, duration reset, request_size const& size = {},
           std::string const& name = "requests") {
    auto receipt = book.take(at(now), size);
    auto const says = told(name, 16, remaining, reset);
    book.settle(at(now), receipt, size, {.quotas = {&says, 1}});
  }
  /// Until when one more waits for others; `now` if for none.
  duration waits(duration now, request_size const& size = {}, duration patience = 1h) {
    auto const held = book.ready_at(at(now), size, patience);
    return held.why == reason::others ? std::max(now, held.until - at(0s)) : now;
  }
  /// Three windows: of the second two go from here, and nothing is left.
  void share() {
    ask(0s, 15, 10s);
    ask(10s, 15, 10s);
    ask(11s, 0, 9s);
    EXPECT_EQ(book.shared(), !with_others);
    ask(20s, 15, 10s);
  }

  quota_book book;
  bool with_others = false;
};

TEST_F(shared_window, is_left_to_others_in_part_until_its_last_eighth) {
  share();
  EXPECT_FALSE(book.shared());
  ask(20s, 14, 10s);
  EXPECT_EQ(waits(20s), 20s);
  ask(20s, 13, 10s);
  EXPECT_EQ(waits(21s), asked);
  EXPECT_EQ(book.busy_until(), at(asked));
  ask(asked, 12, 2500ms);
  auto const last_eighth = 28750ms + duration(625ms) / 16 * 3;  // of a part of three
  EXPECT_EQ(waits(asked), last_eighth);
  EXPECT_LE(book.ready_at(at(last_eighth), {}).until, at(last_eighth));
}

TEST_F(shared_window, shows_no_others_where_all_of_it_went_from_here) {
  for (auto window = 0s; window < 50s; window += 10s)
    for (int i = 1; i <= 16; ++i) {
      EXPECT_EQ(waits(window + 1s), window + 1s);
      ask(window + 1s, 16 - i, 9s);
      EXPECT_FALSE(book.shared());
    }
}

// What went before it was told of was of it, perhaps.
TEST_F(shared_window, shows_no_others_before_the_second_one) {
  std::vector<quota_ceiling> const ours{{"requests", 1000, 1s, 1000}};
  book = quota_book(ours);
  for (int i = 0; i < 10; ++i) {
    auto receipt = book.take(at(0s), {});
    book.settle(at(0s), receipt, {}, {});
  }
  for (int i = 11; i <= 16; ++i) ask(1s, 16 - i, 9s);
  EXPECT_FALSE(book.shared());
  for (int i = 1; i <= 16; ++i) {
    EXPECT_EQ(waits(10s), 10s);
    ask(10s, 16 - i, 10s);
  }
}

TEST_F(shared_window, is_not_left_to_those_that_share_the_pace) {
  book.share_pace(with_others = true);
  share();
  ask(20s, 14, 10s);
  ask(20s, 13, 10s);
  EXPECT_EQ(waits(20s), 20s);
  EXPECT_LT(book.busy_until(), at(20s));
  book.share_pace(false);
  EXPECT_EQ(waits(20s), asked);
}

TEST_F(shared_window, is_not_left_to_others_for_longer_than_our_patience) {
  share();
  ask(20s, 14, 10s);
  ask(20s, 13, 10s);
  EXPECT_EQ(waits(20s, {}, asked - 20s), asked);
  EXPECT_EQ(waits(20s, {}, asked - 20s - 1ns), 20s);
}

TEST_F(shared_window, counts_units) {
  share();
  book = by_tokens();
  ask(0s, 13, 10s, costing(3), "tokens");
  ask(10s, 13, 10s, costing(3), "tokens");
  ask(11s, 0, 9s, costing(3), "tokens");
  EXPECT_TRUE(book.shared());
  ask(20s, 13, 10s, costing(3), "tokens");  // of six: a quarter less, and one more
  EXPECT_EQ(waits(20s, costing(4)), asked);
  EXPECT_EQ(waits(20s, costing(3)), 20s);
}

TEST_F(shared_window, begins_with_its_first_answer_only) {
  share();
  ask(25s, 14, 5s);
  ask(26s, 13, 4s);
  EXPECT_EQ(waits(26s), asked);
}

// Seconds are rounded up: what is told last is told as too late.
TEST_F(shared_window, is_asked_by_one_request_at_the_soonest_end_that_was_told) {
  ask(0s, 15, 10s);
  ask(10s, 15, 10s);
  ask(19100ms, 0, 1s);
  EXPECT_TRUE(book.shared());
  EXPECT_EQ(book.ready_at(at(19200ms), {}).until, at(20s));
  auto receipt = book.take(at(20s), {});
  EXPECT_EQ(book.ready_at(at(20s), {}).until, at(20100ms)) << "one asks";
  auto const says = told("requests", 16, 0, 1s);
  book.settle(at(20s), receipt, {}, {.quotas = {&says, 1}, .refused = true});
  EXPECT_EQ(book.ready_at(at(20s), {}).until, at(21s)) << "it was too soon";
}

TEST_F(shared_window, that_is_made_longer_is_not_asked_before_it_may_end) {
  for (auto const& [reset, at_least] : {std::pair(duration(5s), duration(23100ms)),
                                        std::pair(duration(1500ms), duration(20600ms))}) {
    book = quota_book();
    ask(0s, 15, 10s);
    ask(10s, 15, 10s);
    ask(19100ms, 0, reset);
    EXPECT_TRUE(book.shared());
    EXPECT_EQ(book.ready_at(at(19200ms), {}).until, at(at_least)) << to_seconds(reset);
  }
}

TEST_F(shared_window, is_waited_for_until_the_latest_end_where_there_are_no_others) {
  for (auto window : {0s, 10s}) {
    for (int i = 1; i < 16; ++i) ask(window, 16 - i, 10s);
    ask(window + 9100ms, 0, 1s);
    EXPECT_EQ(book.ready_at(at(window + 9200ms), {}).until, at(window + 10100ms));
  }
}

/// An answer that is as old as what it tells of is perhaps of the window before.
TEST_F(shared_window, hears_nothing_from_slow_answers) {
  share();
  auto receipt = book.take(at(20s), {});
  auto const says = told("requests", 16, 0, 4s);
  book.settle(at(24s), receipt, {}, {.quotas = {&says, 1}});
  EXPECT_FALSE(book.shared());
}

TEST_F(shared_window, is_none_where_it_refills) {
  share();
  ask(20s, 14, 10s);
  ask(20s, 13, 10s);
  auto receipt = book.take(at(21s), {});
  auto says = told("requests", 16, 12, 9s);
  says.period = 10s;
  book.settle(at(21s), receipt, {}, {.quotas = {&says, 1}});
  EXPECT_EQ(waits(21s), 21s);
}

TEST_F(shared_window, of_a_second_or_more_than_ten_minutes_has_no_parts) {
  // A window of one second may end at once, as far as whole seconds tell.
  for (auto const length :
       {duration(999ms), duration(1s), duration(1001ms), duration(10min), duration(601s)}) {
    book = quota_book();
    for (int window = 0; window < 4; ++window) {
      ask(window * length, 15, length);
      ask(window * length, window == 3 ? 14 : 0, length);
    }
    ask(3 * length, 13, length);
    EXPECT_EQ(waits(3 * length) > 3 * length, length == 1001ms || length == 10min)
        << length.count();
  }
}

// What we sent to another partition is not counted of this one.
TEST_F(shared_window, is_judged_by_answers_to_what_was_counted_of_it) {
  auto const tell_of = [&](duration now, std::string partition, double remaining) {
    auto state = told("requests", 16, remaining, 10s - now % 10s);
    state.partition = std::move(partition);
    tell(book, now, state);
  };
  for (auto window = 0s; window < 50s; window += 10s)
    for (int i = 1; i <= 4; ++i) {
      tell_of(window + 1s, ":A:", 16 - i);
      tell_of(window + 1s, ":B:", 16 - 4 * i);
      EXPECT_FALSE(book.shared()) << i;
    }
}

TEST_F(shared_window, holds_nothing_for_long_whatever_it_says) {
  rng chance(11);
  auto const one_of = [&](auto const& all) { return all[chance() % std::size(all)]; };
  double const limits[] = {1, 2, 50, 1e12}, remain[] = {0, 0, 0, 1, 5, 1e12, -7};
  duration const resets[] = {0s, -5s, 1ns, 1s, 2s, 10s, 10min, 1h, duration::max(), -1h};
  time_point now = at(0s);
  int held_back = 0;
  for (int i = 0; i < 200'000; ++i) {
    auto const held = book.ready_at(now, {});
    if (held.why == reason::others && held.until > now) {
      ++held_back;
      ASSERT_LE(held.until, now + duration(10min) * 15 / 16);
      auto const then = book.ready_at(held.until, {});
      ASSERT_TRUE(then.until <= held.until || then.why == reason::quota);
    }
    if (held.until != never) now = std::max(now, held.until);
    if (i % 100 == 0) book = quota_book(), now = at(0s);
    auto receipt = book.take(now, {});
    now += one_of(std::array<duration, 4>{0s, 1ms, 100ms, 3s});
    auto const says = told("requests", one_of(limits), one_of(remain), one_of(resets));
    book.settle(now, receipt, {}, {.quotas = {&says, 1}, .refused = chance() % 4 == 0});
  }
  EXPECT_GT(held_back, 0) << "it tries nothing";
}

}  // namespace
}  // namespace headway::app
