// Every rival: the rules that the shipped laws keep, and which rival is published without one.

#include "headway/sim/laws/any.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace headway::sim {
namespace {

template <class L>
struct rival_conformance : testing::Test {
  // Published so: see aws_rate_limiter.
  static constexpr bool cuts_at_each_throttle = std::is_same_v<L, aws_adaptive>;
  static constexpr bool grows_when_idle =
      cuts_at_each_throttle || std::is_same_v<L, aws_adaptive_one_cut>;
};
using rivals = testing::Types<told, cubic_window_law, aws_adaptive, aws_adaptive_one_cut,
                              netflix_aimd_law, netflix_gradient2_law, rival_law>;
TYPED_TEST_SUITE(rival_conformance, rivals);

/// A law with its own time: sends as soon as it may, each answer takes 50 ms.
template <law L>
struct sender {
  L it{};
  time_point now{100s};

  stamp send() {
    now = std::max(now, it.ready_at(1));
    return it.take(now, 1, 0);
  }
  void answer(outcome what, stamp const& sent, int in_flight = 1, bool app_limited = false) {
    sample const s{sent, in_flight, 50ms, app_limited};
    if (what == outcome::success) it.on_success(now, s, 0);
    if (what == outcome::throttle) it.on_throttle(now, s, resource::unknown, 0);
  }
  void exchange(outcome what, int times, int in_flight = 1, bool app_limited = false) {
    while (times-- > 0) {
      auto const sent = send();
      now += 50ms;
      answer(what, sent, in_flight, app_limited);
    }
  }
  /// How long the pace needs for 200 sends, saved ones included.
  duration for_200() const {
    auto copy = *this;
    for (int i = 0; i < 200; ++i) copy.send();
    return copy.now - now;
  }
};

TYPED_TEST(rival_conformance, one_cut_for_each_flight) {
  sender<TypeParam> s;
  int cuts_max = 0;
  for (int flights = 0; flights < 5; ++flights) {
    s.exchange(outcome::success, 200, 200);
    std::vector<stamp> flight(50);
    for (auto& sent : flight) sent = s.send();
    s.now += 50ms;
    int cuts = 0;
    for (auto const& sent : flight) {
      auto const before = std::pair(s.it.allowed(), s.for_200());
      s.answer(outcome::throttle, sent, 50);
      if (s.it.allowed() < before.first || s.for_200() > before.second) ++cuts;
    }
    cuts_max = std::max(cuts_max, cuts);
  }
  if (TestFixture::cuts_at_each_throttle)
    EXPECT_GT(cuts_max, 5);
  else
    EXPECT_LE(cuts_max, 1);
}

TYPED_TEST(rival_conformance, does_not_grow_while_the_application_is_the_bottleneck) {
  sender<TypeParam> s;
  s.exchange(outcome::success, 100, 100);
  s.exchange(outcome::throttle, 3, 100);
  s.exchange(outcome::success, 50, 1, true);  // Netflix's second with 100 out is over
  auto const allowed = s.it.allowed();
  auto const needed = s.for_200();
  s.exchange(outcome::success, 5'000, 1, true);
  EXPECT_LE(s.it.allowed(), allowed);
  EXPECT_EQ(s.for_200() < needed, TestFixture::grows_when_idle);
}

TYPED_TEST(rival_conformance, works_after_ten_thousand_throttles) {
  sender<TypeParam> s;
  for (int i = 0; i < 10'000; ++i) {
    s.exchange(outcome::throttle, 1);
    ASSERT_LE(s.it.ready_at(1), s.now + 3s) << i;
    ASSERT_GE(s.it.allowed(), 1) << i;
  }
}

TYPED_TEST(rival_conformance, survives_any_latency) {
  for (duration const rtt : {0ns, 1ns, duration(1us), duration(1h), duration(-1s)}) {
    sender<TypeParam> s;
    rng draw(8);
    for (int i = 0; i < 300; ++i) {
      auto const permit = s.send();
      sample const one{permit, 1, rtt, false};
      if (i % 8 == 7)
        s.it.on_throttle(s.now, one, resource::unknown, draw());
      else
        s.it.on_success(s.now, one, draw());
      ASSERT_TRUE(s.it.allowed() >= 1 && s.it.allowed() < 1e12) << s.it.allowed();
      ASSERT_LE(s.it.ready_at(1), s.now + 3s);
      ASSERT_EQ(s.it, s.it) << "not a number";
    }
  }
}

TYPED_TEST(rival_conformance, is_a_value) {
  sender<TypeParam> s;
  auto const original = s.it;
  auto const history = [](sender<TypeParam>& to) {
    to.exchange(outcome::success, 5, 20);
    to.exchange(outcome::throttle, 2);
    to.exchange(outcome::success, 5);
  };
  history(s);
  sender<TypeParam> twin{original};
  EXPECT_EQ(original, TypeParam{});
  history(twin);
  EXPECT_EQ(twin.it, s.it);
  EXPECT_NE(s.it, original);
}

template <law L>
void expect_forwards(L one) {
  rival_law any{one};
  rng draw(7);
  time_point now{100s};
  for (int i = 0; i < 2'000; ++i) {
    auto const cost = static_cast<std::int64_t>(1 + draw() % 3);
    ASSERT_EQ(any.ready_at(cost), one.ready_at(cost));
    ASSERT_EQ(any.allowed(), one.allowed());
    auto const u = draw();
    auto const sent = one.take(now, cost, u);
    ASSERT_EQ(any.take(now, cost, u), sent);
    now += scale(100ms, draw());
    sample const s{sent, static_cast<int>(1 + draw() % 30), 30ms, draw() % 4 == 0};
    switch (draw() % 4) {
      case 0:
        one.on_throttle(now, s, resource::rate, u);
        any.on_throttle(now, s, resource::rate, u);
        break;
      case 1:
        one.on_failure(now, s, u);
        any.on_failure(now, s, u);
        one.on_hint(now, {1s});
        any.on_hint(now, {1s});
        break;
      default:
        one.on_success(now, s, u);
        any.on_success(now, s, u);
    }
    ASSERT_EQ(any, rival_law{one}) << i;
  }
}
template <std::size_t... I>
void expect_each_forwards(std::index_sequence<I...>) {
  (expect_forwards(std::variant_alternative_t<I, decltype(rival_law::choice)>{}), ...);
}
TEST(rival_law, forwards_to_its_choice) {
  expect_each_forwards(
      std::make_index_sequence<std::variant_size_v<decltype(rival_law::choice)>>());
}

}  // namespace
}  // namespace headway::sim
