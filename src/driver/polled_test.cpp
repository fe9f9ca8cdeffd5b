#include "headway/driver/polled.hpp"

#include <gtest/gtest.h>

#include "broken_governor.hpp"
#include "headway/backoff/constant.hpp"

namespace headway {
namespace {

using plain = governor<constant_backoff, paced<unpaced, fixed_window>>;

basic_polled<plain> one_by_one() {
  return basic_polled<plain>(plain({.wait = 1h}, {.win = {1}}, {.first_alone = 0ns}), 1);
}

TEST(polled, says_whose_turn_it_is_and_when_to_ask_again) {
  auto api = one_by_one();
  EXPECT_EQ(api.timeout(), duration::max());
  auto const a = std::get<ticket>(api.submit());
  auto const b = std::get<ticket>(api.submit());
  EXPECT_EQ(api.next(), a);
  EXPECT_EQ(api.next(), std::nullopt);
  EXPECT_EQ(api.why().why, reason::window);
  EXPECT_EQ(api.timeout(), duration::max()) << "only an answer helps";
  EXPECT_EQ(api.done(a).what, verdict::done);
  EXPECT_EQ(api.next(), b);
  EXPECT_EQ(api.done(b, {.what = outcome::failure}).what, verdict::retry);
  EXPECT_EQ(api.next(), std::nullopt);
  EXPECT_GT(api.timeout(), 59min);
  EXPECT_LE(api.timeout(), 1h);
  api.cancel(b);
  EXPECT_EQ(api.timeout(), duration::max());
}

TEST(polled, a_head_teaches_and_the_end_frees) {
  polled api;
  auto const a = std::get<ticket>(api.submit());
  EXPECT_EQ(api.next(), a);
  EXPECT_TRUE(api.learn(a));
  EXPECT_FALSE(api.learn(a));
  EXPECT_EQ(api.state().in_flight(), 1);
  EXPECT_EQ(api.done(a).what, verdict::done);
  EXPECT_EQ(api.state().in_flight(), 0);
  EXPECT_EQ(api.state().law_state().so_far.successes, 1U);
}

TEST(polled, gives_back_what_comes_too_late) {
  auto api = one_by_one();
  auto const a = std::get<ticket>(api.submit());
  api.next();
  auto const late = std::get<ticket>(api.submit({.deadline = steady_now() + 1ms}));
  EXPECT_LE(api.timeout(), 1ms + 1ns);
  std::optional<ticket> told;
  while (!told) told = api.expired();
  EXPECT_EQ(told, late);
  EXPECT_EQ(api.expired(), std::nullopt);
  EXPECT_EQ(api.done(a).what, verdict::done);
  EXPECT_EQ(api.next(), std::nullopt);
}

TEST(polled, gives_back_what_would_wait_for_too_long) {
  for (auto const& advice :
       {hint{.retry_after = duration(50min)}, hint{.remaining = 0, .reset = duration(50min)}}) {
    auto api = one_by_one();
    auto const a = std::get<ticket>(api.submit());
    api.next();
    auto const b = std::get<ticket>(api.submit());
    auto const told_at = steady_now();
    EXPECT_EQ(api.done(a, {.advice = advice}).what, verdict::done);
    auto const parked = api.parked();
    ASSERT_TRUE(parked);
    EXPECT_EQ(parked->id, b);
    EXPECT_GE(parked->until, told_at + 50min);
    EXPECT_EQ(api.parked(), std::nullopt);
    EXPECT_EQ(std::get<refused>(api.submit()), (refused{reason::server_hint, parked->until}));
    EXPECT_EQ(api.state().waiting(), 0U);
  }
}

TEST(polled, says_that_the_server_is_broken_where_it_has_been_for_too_long) {
  basic_polled<seeking> api(broken_until_now(), 1);
  auto const answer = std::get<refused>(api.submit());
  EXPECT_EQ(answer.why, reason::server_broken);
  EXPECT_GT(answer.until, steady_now());
  EXPECT_EQ(api.state().waiting(), 0U);
}

}  // namespace
}  // namespace headway
