// Every rival: the rules that the shipped laws keep, and which rival is published without one.

#include "headway/sim/laws/any.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/law.hpp"

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

/// How long the pace needs for 200 sends, saved ones included.
template <law L>
duration for_200(sender<L> s) {
  auto const begin = s.now;
  for (int i = 0; i < 200; ++i) s.send();
  return s.now - begin;
}

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
      auto const before = std::pair(s.it.allowed(), for_200(s));
      s.answer(outcome::throttle, sent, 50);
      if (s.it.allowed() < before.first || for_200(s) > before.second) ++cuts;
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
  auto const needed = for_200(s);
  s.exchange(outcome::success, 5'000, 1, true);
  EXPECT_LE(s.it.allowed(), allowed);
  EXPECT_EQ(for_200(s) < needed, TestFixture::grows_when_idle);
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
  expect_survives_any_latency<TypeParam>(1, 3s);
}

TYPED_TEST(rival_conformance, is_a_value) {
  expect_a_value<TypeParam>();
}

TEST(rival_law, forwards_to_its_choice) {
  expect_forwards_to_its_choice<rival_law>();
}

}  // namespace
}  // namespace headway::sim
