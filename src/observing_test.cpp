#include "headway/observing.hpp"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "headway/backoff/constant.hpp"
#include "headway/backoff/full_jitter.hpp"
#include "headway/law/paced.hpp"
#include "headway/law/seek.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/window/fixed.hpp"

namespace headway {
namespace {

constexpr time_point at(duration since_start) {
  return time_point(since_start);
}

template <class Governor>
std::vector<ticket> send_all(Governor& g, duration now) {
  std::vector<ticket> sent;
  while (auto const t = g.next(at(now))) {
    g.start(at(now), *t, 0);
    sent.push_back(*t);
  }
  return sent;
}

using paced_law = paced<gcra, fixed_window>;
using observer = observing_governor<constant_backoff, paced_law>;

TEST(observing_governor, delays_nothing_and_notes_what_its_law_would_have_held) {
  observer g({.wait = 1s}, {.pace = gcra::per(1, 1s, 1), .win = {.permits = 100}});
  for (int i = 0; i < 3; ++i) g.submit(at(0s), {.deadline = at(1ms)});
  auto const sent = send_all(g, 0s);
  EXPECT_EQ(sent.size(), 3U);
  EXPECT_EQ(g.observed(), (observation{.requests = 2, .held_max = 2s}));
  EXPECT_TRUE(std::holds_alternative<ticket>(g.submit(at(0s), {.deadline = at(1ms)})))
      << "though its turn would come after 3 s";
  auto const d = g.finish(at(50ms), sent[0], {.what = outcome::throttle}, 0);
  EXPECT_EQ(d.why, reason::deadline);  // after a backoff, though the law stands the others first
}

TEST(observing_governor, notes_what_a_window_would_have_held) {
  observing_governor<constant_backoff, paced<unpaced, fixed_window>> g({}, {.win = {.permits = 2}});
  for (int i = 0; i < 5; ++i) g.submit(at(0s));
  EXPECT_EQ(send_all(g, 0s).size(), 5U);
  EXPECT_EQ(g.observed(), (observation{.requests = 3}));
}

TEST(observing_governor, neither_a_ceiling_nor_a_hint_holds_a_request) {
  observer g({.wait = 10ms}, {.win = {.permits = 100}},
             {.hint_max = 1s, .rate_ceiling = gcra::per(1, 1h), .in_flight_max = 1});
  g.submit(at(0s));
  g.submit(at(0s));
  auto const sent = send_all(g, 0s);
  ASSERT_EQ(sent.size(), 2U);
  auto const d = g.finish(at(1s), sent[0], {outcome::throttle, {}, {.retry_after = 1h}}, 0);
  EXPECT_EQ(d, (decision{verdict::retry, reason::backoff, at(1s + 10ms)}));
  g.hold(at(2h));
  EXPECT_EQ(g.parked(at(1s)), std::nullopt);
  EXPECT_EQ(g.wakeup(at(1s)), at(1s + 10ms));
  EXPECT_EQ(send_all(g, 1s + 10ms).size(), 1U);
  EXPECT_LE(g.busy_until(), at(0s));
}

TEST(observing_governor, refuses_what_its_law_would_never_admit) {
  observer g({}, {.pace = gcra::per(1, 1s, 3), .win = {.permits = 100}});
  auto const answer = g.submit(at(0s), {.cost = 4});
  ASSERT_TRUE(std::holds_alternative<refused>(answer));
  EXPECT_EQ(std::get<refused>(answer).why, reason::quota);
}

// Where the law has nothing to hold back, it learns the same whether it is obeyed or observed.
TEST(observing_governor, teaches_its_law_as_a_governor_does) {
  governor<full_jitter, seek> obeyed;
  observing_governor<full_jitter, seek> observed;
  auto const ask = [](auto& g, duration now, outcome what) {
    auto const t = std::get<ticket>(g.submit(at(now)));
    g.start(at(now), t, 7);
    g.finish(at(now + 40ms), t, {.what = what}, 9);
  };
  for (int i = 0; i < 50; ++i) {
    auto const what = i == 20 ? outcome::throttle : outcome::success;
    ask(obeyed, i * 10s, what);
    ask(observed, i * 10s, what);
    for (auto const t : send_all(obeyed, i * 10s + 5s)) obeyed.cancel(at(i * 10s + 5s), t);
    for (auto const t : send_all(observed, i * 10s + 5s)) observed.cancel(at(i * 10s + 5s), t);
  }
  EXPECT_EQ(observed.observed(), observation{});
  EXPECT_EQ(observed.law_state(), obeyed.law_state());
}

// Hears all that a governor tells a law.
struct listening_law {
  time_point ready = time_point::min();
  double permits = 100;
  hint told{};
  int hints = 0;
  resource short_of{};
  bool app_limited = false;  // the last success

  time_point ready_at(std::int64_t) const noexcept { return ready; }
  double allowed() const noexcept { return permits; }
  stamp take(time_point now, std::int64_t, fraction) noexcept { return {.sent = now}; }
  void on_success(time_point, sample const& s, fraction) noexcept { app_limited = s.app_limited; }
  void on_throttle(time_point, sample const&, resource r, fraction) noexcept { short_of = r; }
  void on_failure(time_point, sample const&, fraction) noexcept {}
  void on_hint(time_point, hint const& h) noexcept { told = h, ++hints; }
  friend bool operator==(listening_law const&, listening_law const&) = default;
};

// A law does not grow while the caller is the bottleneck.
TEST(observing_governor, a_law_hears_whether_it_would_have_been_the_bottleneck) {
  auto const caller_was = [](listening_law l) {
    observing_governor<constant_backoff, listening_law> g({}, l);
    g.submit(at(1s));
    auto const sent = send_all(g, 1s);
    g.finish(at(2s), sent[0], {}, 0);
    return g.law_state().app_limited;
  };
  EXPECT_TRUE(caller_was({}));
  EXPECT_FALSE(caller_was({.ready = at(3s)}));
  EXPECT_FALSE(caller_was({.permits = 1}));
}

TEST(observing_governor, its_law_hears_a_head_and_its_advice_once) {
  observing_governor<constant_backoff, listening_law> g({}, {.permits = 1});
  g.submit(at(0s));
  auto const sent = send_all(g, 0s);
  EXPECT_TRUE(g.learn(at(1s), sent[0], {.advice = {.remaining = 3, .reset = 1min}}, 0));
  EXPECT_FALSE(g.learn(at(1s), sent[0], {.advice = {.remaining = 2, .reset = 1min}}, 0));
  EXPECT_EQ(g.in_flight(), 1);
  EXPECT_EQ(g.law_state().hints, 1);
  g.finish(at(9s), sent[0], {.advice = {.remaining = 3, .reset = 1min}}, 0);
  EXPECT_EQ(g.law_state().hints, 1);
  EXPECT_EQ(g.law_state().told.remaining, 3);
  EXPECT_EQ(g.in_flight(), 0);
}

TEST(observing_governor, tells_its_law_what_a_server_advises) {
  observing_governor<constant_backoff, listening_law> g;
  g.submit(at(0s));
  auto const sent = send_all(g, 0s);
  g.finish(at(1s), sent[0], {outcome::throttle, resource::concurrency, {.retry_after = 5s}}, 0);
  EXPECT_EQ(g.law_state().told, (hint{.retry_after = 5s}));
  EXPECT_EQ(g.law_state().short_of, resource::concurrency);
  g.finish(at(1s), sent[0], {.advice = {.retry_after = 9s}}, 0);
  EXPECT_EQ(g.law_state().hints, 1) << "an answer to nothing that flies teaches nothing";
}

}  // namespace
}  // namespace headway
