// Every shipped law: one cut for each flight; no growth while the application is the bottleneck; a
// wait that ends after any number of throttles, and a way back.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/law.hpp"
#include "headway/law/any.hpp"
#include "headway/law/shipped.hpp"

namespace headway {
namespace {

/// The default law with all of its parts left out.
struct bare_seek : seek {
  bare_seek() noexcept {
    with = {.slots = false,
            .drain = false,
            .periods = false,
            .failures = false,
            .confidence = false,
            .company = false,
            .chance = false,
            .demand = false,
            .bans = false};
  }
  friend bool operator==(bare_seek const&, bare_seek const&) = default;
};
/// … and as one that leaves something to others.
struct yielding_seek : seek {
  yielding_seek() noexcept { leave = 0.3; }
  friend bool operator==(yielding_seek const&, yielding_seek const&) = default;
};

using reno_law = paced<unpaced, reno>;
using tahoe_law = paced<unpaced, tahoe>;
using adaptive_law = paced<adaptive_rate, fixed_window>;
using fixed_rate_law = paced<gcra, fixed_window>;
using fixed_window_law = paced<unpaced, fixed_window>;

template <class L>
constexpr bool is_any_of() {
  return false;
}
template <class L, class First, class... Rest>
constexpr bool is_any_of() {
  return std::is_same_v<L, First> || is_any_of<L, Rest...>();
}

template <class L>
struct law_conformance : testing::Test {
  // Seed 000's AutoSleeper is one worker: a flight of one, so each throttle is a flight's first. It
  // has no notion of a caller that has nothing to send either.
  static constexpr bool sleeper = std::is_same_v<L, auto_sleeper>;
  // Constant by definition: the client that knows its limit.
  static constexpr bool constant = is_any_of<L, fixed_rate_law, fixed_window_law>();
};
using shipped = testing::Types<seek, bare_seek, yielding_seek, reno_law, tahoe_law, adaptive_law,
                               fixed_rate_law, fixed_window_law, auto_sleeper, any_law>;
TYPED_TEST_SUITE(law_conformance, shipped);

/// From one send to the next, as far as the pace goes.
template <law L>
duration interval_of(sender<L> s) {
  s.send();
  auto const first = s.now;
  s.send();
  return s.now - first;
}

TYPED_TEST(law_conformance, one_cut_for_each_flight) {
  if (TestFixture::sleeper) GTEST_SKIP() << "one worker: each throttle is the first of its flight";
  sender<TypeParam> s;
  for (int flights = 0; flights < 5; ++flights) {
    std::vector<stamp> flight(50);
    for (auto& sent : flight) sent = s.send();
    s.now += 50ms;
    auto const before = s.it;
    s.answer(outcome::throttle, flight[0], 50);
    auto const cut = s.it;
    EXPECT_NE(cut, before) << "the first throttle of flight " << flights << " cuts";
    auto const interval = interval_of(s);
    for (int i = 1; i < 50; ++i) {
      s.now += 1ms;
      s.answer(outcome::throttle, flight[static_cast<std::size_t>(i)], 50 - i);
    }
    // They may be counted, but change nothing that is decided by.
    EXPECT_EQ(s.it.ready_at(1), cut.ready_at(1)) << "the others of flight " << flights << " do not";
    EXPECT_EQ(s.it.allowed(), cut.allowed()) << flights;
    EXPECT_LE(interval_of(s), interval) << flights;
  }
}

TYPED_TEST(law_conformance, does_not_grow_while_the_application_is_the_bottleneck) {
  if (TestFixture::sleeper) GTEST_SKIP() << "has no notion of an idle caller";
  // Seed 003's windows do not read app_limited: min(size(flying) + 1, …) keeps them, shown with one
  // request in flight.
  sender<TypeParam> s;
  s.exchange(outcome::throttle, 3);
  s.exchange(outcome::success, 20, 1, true);  // a base latency is learned, if any
  auto const allowed = s.it.allowed();
  auto const interval = interval_of(s);
  s.exchange(outcome::success, 5'000, 1, true);
  EXPECT_LE(s.it.allowed(), allowed);
  EXPECT_GE(interval_of(s), interval);
}

TYPED_TEST(law_conformance, works_after_ten_thousand_throttles) {
  sender<TypeParam> s;
  auto const start = s.now;
  for (int i = 0; i < 10'000; ++i) {
    s.exchange(outcome::throttle, 1);
    ASSERT_LE(s.wait(), std::max<duration>(20min, (s.now - start) / 2)) << i;
    ASSERT_GT(s.it.allowed(), 0) << i;
  }
}

TYPED_TEST(law_conformance, grows_again_after_ten_thousand_throttles) {
  if (TestFixture::constant) GTEST_SKIP() << "constant by definition";
  sender<TypeParam> s;
  s.exchange(outcome::throttle, 10'000);
  auto const allowed = s.it.allowed();
  auto const interval = interval_of(s) + s.wait();
  for (int i = 0; i < 2'000; ++i)
    s.exchange(outcome::success, 1, static_cast<int>(s.it.allowed()) + 1);
  auto const interval_after = interval_of(s) + s.wait();
  EXPECT_TRUE(s.it.allowed() > allowed || interval_after < interval / 2);
}

// But the first success that was sent after the refused: the server is open again.
TYPED_TEST(law_conformance, no_answer_makes_the_next_send_earlier) {
  sender<TypeParam> s;
  auto refused = time_point::max();
  rng draw(6);
  for (int i = 0; i < 5'000; ++i) {
    auto const sent = s.send();
    if (draw() % 8 != 0) s.now += scale(100ms, draw());
    auto const before = std::max(s.now, s.it.ready_at(1));
    auto const what = draw() % 4 == 0 ? outcome::throttle : outcome::success;
    s.answer(what, sent, static_cast<int>(1 + draw() % 30), draw() % 4 == 0);
    bool const opens = what == outcome::success && sent.sent > refused;
    if (!opens) {
      ASSERT_GE(std::max(s.now, s.it.ready_at(1)), before) << i;
    }
    if (what == outcome::throttle)
      refused = sent.sent;
    else if (opens)
      refused = time_point::max();
    ASSERT_GT(s.it.allowed(), 0) << i;
  }
}

TYPED_TEST(law_conformance, survives_any_latency) {
  expect_survives_any_latency<TypeParam>(std::numeric_limits<double>::min(), 20min);
}

TYPED_TEST(law_conformance, is_a_value) {
  expect_a_value<TypeParam>();
}

TEST(any_law, forwards_to_its_choice) {
  expect_forwards_to_its_choice<any_law>();
}

TEST(shipped_laws, are_found_by_name) {
  for (auto const& one : shipped_laws()) EXPECT_EQ(shipped_law_named(one.name), &one);
  EXPECT_EQ(shipped_law_named("no such law"), nullptr);
}

}  // namespace
}  // namespace headway
