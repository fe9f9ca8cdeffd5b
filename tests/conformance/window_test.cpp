// Every shipped window: at least one permit after any history; a full one grows with successes; a
// throttle shrinks it.

#include <gtest/gtest.h>

#include <type_traits>

#include "headway/window/fixed.hpp"
#include "headway/window/reno.hpp"
#include "headway/window/tahoe.hpp"

namespace headway {
namespace {

struct reno_09 : reno {
  reno_09() : reno{.beta = 0.9} {}
};
struct tahoe_09 : tahoe {
  tahoe_09() : tahoe{.beta = 0.9} {}
};

template <class W>
struct window_conformance : testing::Test {
  // Exempt from growing and shrinking: it is constant by its definition.
  static constexpr bool constant = std::is_same_v<W, fixed_window>;
};
using shipped = testing::Types<fixed_window, reno, tahoe, reno_09, tahoe_09>;
TYPED_TEST_SUITE(window_conformance, shipped);

sample flying(double n) {
  return {.in_flight = static_cast<int>(n)};
}
template <class W>
void fill_and_serve(W& w, int times) {
  while (times-- > 0) w.on_success({}, flying(w.allowed() + 1));  // size(flying) when full
}

TYPED_TEST(window_conformance, allows_one_after_any_history) {
  rng draw(5);
  for (int history = 0; history < 100; ++history) {
    TypeParam w;
    auto const throttles = draw() % 8;
    for (int i = 0; i < 1000; ++i) {
      auto const s = flying(1 + static_cast<double>(draw() % 64));
      draw() % 8 < throttles ? w.on_throttle({}, s) : w.on_success({}, s);
      ASSERT_GE(w.allowed(), 1) << history;
      ASSERT_LE(w.allowed(), 1e4) << history;
    }
  }
}

TYPED_TEST(window_conformance, grows_when_full) {
  if (TestFixture::constant) GTEST_SKIP() << "constant by definition";
  TypeParam w;
  for (int cuts = 0; cuts < 12; ++cuts) {
    auto const before = w.allowed();
    fill_and_serve(w, 1);
    EXPECT_GT(w.allowed(), before);
    EXPECT_LE(w.allowed(), before + 1);
    w.on_throttle({}, flying(w.allowed()));
  }
}

TYPED_TEST(window_conformance, shrinks_on_a_throttle) {
  if (TestFixture::constant) GTEST_SKIP() << "constant by definition";
  TypeParam w;
  fill_and_serve(w, 100);
  auto const before = w.allowed();
  EXPECT_EQ(before, 120);
  w.on_throttle({}, flying(before));
  EXPECT_LT(w.allowed(), before);
}

TYPED_TEST(window_conformance, is_a_value) {
  TypeParam w;
  auto const original = w;
  fill_and_serve(w, 3);
  w.on_throttle({}, flying(20));
  auto twin = original;
  EXPECT_EQ(original, TypeParam{});
  fill_and_serve(twin, 3);
  twin.on_throttle({}, flying(20));
  EXPECT_EQ(twin, w);
}

}  // namespace
}  // namespace headway
