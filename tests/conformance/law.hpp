/// What every law keeps, shipped or rival.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "headway/policy.hpp"
#include "headway/random.hpp"

namespace headway {

/// A law with its own time: sends as soon as it may.
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
  /// One after the other, 50 ms each.
  void exchange(outcome what, int times, int in_flight = 1, bool app_limited = false) {
    while (times-- > 0) {
      auto const sent = send();
      now += 50ms;
      answer(what, sent, in_flight, app_limited);
    }
  }
  duration wait() const { return std::max(now, it.ready_at(1)) - now; }
};

template <law L>
void expect_survives_any_latency(double allowed_min, duration wait_max) {
  for (duration const rtt : {0ns, 1ns, duration(1us), duration(1h), duration(-1s)}) {
    sender<L> s;
    rng draw(8);
    for (int i = 0; i < 300; ++i) {
      auto const permit = s.send();
      sample const one{permit, 1, rtt, false};
      if (i % 8 == 7)
        s.it.on_throttle(s.now, one, resource::unknown, draw());
      else
        s.it.on_success(s.now, one, draw());
      ASSERT_TRUE(s.it.allowed() >= allowed_min && s.it.allowed() < 1e12) << s.it.allowed();
      ASSERT_LE(s.wait(), wait_max);
      ASSERT_EQ(s.it, s.it) << "not a number";
    }
  }
}

template <law L>
void expect_a_value() {
  sender<L> s;
  auto const original = s.it;
  auto const history = [](sender<L>& to) {
    to.exchange(outcome::success, 5, 20);
    to.exchange(outcome::throttle, 2);
    to.exchange(outcome::success, 5);
  };
  history(s);
  sender<L> twin{original};
  EXPECT_EQ(original, L{});
  history(twin);
  EXPECT_EQ(twin.it, s.it);
  EXPECT_NE(s.it, original);
}

template <law Any, law L>
void expect_forwards(L one) {
  Any any{one};
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
    ASSERT_EQ(any, Any{one}) << i;
  }
}

/// … to each law that it may choose.
template <law Any>
void expect_forwards_to_its_choice() {
  using choices = decltype(Any::choice);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (expect_forwards<Any>(std::variant_alternative_t<I, choices>{}), ...);
  }
  (std::make_index_sequence<std::variant_size_v<choices>>());
}

}  // namespace headway
