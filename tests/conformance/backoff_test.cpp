// Every shipped backoff: inside its envelope for all u, the same for the same question, and an
// envelope that never falls with the attempt.

#include <gtest/gtest.h>

#include <limits>
#include <variant>
#include <vector>

#include "headway/backoff/any.hpp"

namespace headway {
namespace {

duration most_of(constant_backoff const& b) {
  return b.wait;
}
template <backoff B>
duration most_of(B const& b) {
  return b.cap;
}
template <backoff B>
duration most_of(proportional_jitter<B> const& b) {
  auto const exact = most_of(b.inner);
  auto const share = from_nanoseconds(static_cast<double>(exact.count()) * b.randomization_factor);
  return exact + std::min(share, b.max_randomization);
}
duration most_of(any_backoff const& b) {
  return std::visit([](auto const& choice) { return most_of(choice); }, b.choice);
}

template <class B>
struct backoff_conformance : testing::Test {};
using shipped =
    testing::Types<constant_backoff, linear_backoff, exponential_backoff, full_jitter, equal_jitter,
                   decorrelated_jitter, proportional_jitter<exponential_backoff>,
                   proportional_jitter<linear_backoff>, any_backoff>;
TYPED_TEST_SUITE(backoff_conformance, shipped);

constexpr int attempts[] = {0,  1,  2,  3,  5,    8,         13,
                            40, 62, 63, 64, 1000, 1'000'000, std::numeric_limits<int>::max()};
constexpr duration lasts[] = {0ns, 1ns, 100ms, 7s, 20s, 60s, 24h};

TYPED_TEST(backoff_conformance, stays_between_zero_and_the_cap_for_all_u) {
  TypeParam const policy;
  rng draw(1);
  for (int const attempt : attempts)
    for (auto const previous : lasts)
      for (int i = 0; i < 200; ++i) {
        fraction const u = i == 0 ? 0 : i == 1 ? ~fraction{0} : draw();
        auto const wait = policy.delay(attempt, previous, u);
        ASSERT_GE(wait, 0ns) << attempt;
        ASSERT_LE(wait, most_of(policy)) << attempt;
      }
}

TYPED_TEST(backoff_conformance, answers_the_same_question_alike) {
  TypeParam const policy;
  auto const copy = policy;
  rng draw(2);
  for (int const attempt : attempts)
    for (auto const previous : lasts) {
      auto const u = draw();
      ASSERT_EQ(policy.delay(attempt, previous, u), copy.delay(attempt, previous, u));
      ASSERT_EQ(policy.delay(attempt, previous, u), policy.delay(attempt, previous, u));
    }
  EXPECT_EQ(policy, copy);
}

TYPED_TEST(backoff_conformance, envelope_never_falls_with_the_attempt) {
  TypeParam const policy;
  for (auto const previous : lasts)
    for (fraction const u : {fraction{0}, fraction{1} << 63, ~fraction{0}}) {
      duration last{};
      for (int const attempt : attempts) {
        auto const wait = policy.delay(attempt, previous, u);
        ASSERT_GE(wait, last) << attempt;
        last = wait;
      }
    }
}

template <std::size_t... I>
void forwards_to_each(std::index_sequence<I...>) {
  using choices = decltype(any_backoff::choice);
  (
      [] {
        using choice = std::variant_alternative_t<I, choices>;
        any_backoff const any{choice{}};
        for (int const attempt : {0, 3, 50})
          EXPECT_EQ(any.delay(attempt, 1s, 12345), choice{}.delay(attempt, 1s, 12345)) << I;
      }(),
      ...);
}
TEST(any_backoff, forwards_to_its_choice) {
  forwards_to_each(std::make_index_sequence<std::variant_size_v<decltype(any_backoff::choice)>>());
}

}  // namespace
}  // namespace headway
