#include "pacing/scope.hpp"

#include <gtest/gtest.h>

#include <array>

#include "headway/law/shipped.hpp"

namespace headway::app {
namespace {

/// A scope that only its book holds back: ten tokens a minute, six at once.
struct scope_test : testing::Test {
  /// The index of a request that costs so much and waits.
  std::uint32_t submit(double tokens) {
    request r;
    r.where = &s;
    r.id = std::get<ticket>(s.governor.submit(now, {}));
    r.size.given = {{"tokens", tokens}};
    auto const id = r.id;
    auto const index = all.add(std::move(r));
    s.queue(now, id, index);
    return index;
  }
  /// It goes, and is answered.
  void go(std::uint32_t index) {
    auto const turn = s.next(now, all, chance);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->request, index);
    EXPECT_EQ(turn->never, "");
    s.governor.finish(now, all[index].id, {.what = outcome::success}, chance());
    s.book.settle(now, all[index].receipt, all[index].size, {});
  }

  time_point now{1h};
  rng chance{1};
  requests all;
  std::array<quota_ceiling, 1> quotas{
      {{.name = "tokens", .units = 10, .period = 1min, .burst = 6}}};
  scope s{.account = {},
          .name = {},
          .machine = {},
          .governor =
              traced_governor(nullptr, 0, "", *shipped_law_named("fixed"), {.first_alone = 0ns}),
          .book = quota_book(quotas),
          .speaks = &profile::of_host("api.example")};
};

TEST_F(scope_test, requests_go_in_their_order_as_far_as_the_book_allows) {
  auto const first = submit(3), second = submit(3), third = submit(1);
  go(first);
  go(second);
  EXPECT_EQ(s.held.why, reason::none);
  EXPECT_FALSE(s.next(now, all, chance));
  EXPECT_EQ(s.held.why, reason::quota);
  EXPECT_TRUE(all[third].held);
  EXPECT_FALSE(all[second].held);
  s.rest(now, 15min);
  EXPECT_FALSE(s.parked());
  EXPECT_NEAR(to_seconds(s.wake - now), 6, 1e-3);
  now = s.wake;
  s.held = {};
  go(third);
}

TEST_F(scope_test, is_parked_where_the_book_asks_for_more_patience_than_we_have) {
  go(submit(6));
  submit(5);
  EXPECT_FALSE(s.next(now, all, chance));
  s.rest(now, 29s);
  EXPECT_TRUE(s.parked());
  EXPECT_NEAR(to_seconds(s.parked_until - now), 30, 1e-3);
}

TEST_F(scope_test, what_can_never_go_does_not_wait) {
  auto const too_much = submit(11), after_it = submit(1);
  auto const turn = s.next(now, all, chance);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->request, too_much);
  EXPECT_EQ(turn->never, "it needs 11 tokens, but the limit is 10");
  EXPECT_EQ(s.waiting(), 1U);
  EXPECT_EQ(s.in_flight(), 0);
  go(after_it);
}

TEST_F(scope_test, what_did_not_go_costs_nothing) {
  auto const first = submit(6), second = submit(6);
  ASSERT_EQ(s.next(now, all, chance)->request, first);
  EXPECT_EQ(s.in_flight(), 1);
  s.cancel(now, all[first]);
  EXPECT_EQ(s.in_flight(), 0);
  go(second);
}

TEST_F(scope_test, rests_until_something_happens) {
  s.rest(now, 15min);
  EXPECT_EQ(s.wake, never);
  submit(1);
  EXPECT_EQ(s.wake, now);
}

}  // namespace
}  // namespace headway::app
