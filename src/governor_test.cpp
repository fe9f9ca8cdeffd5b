// The governor by example: each rule in a few lines that a reader checks by hand. All of them
// together, at random: tests/model/governor_model_test.cpp.

#include "headway/governor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "broken_governor.hpp"
#include "headway/backoff/constant.hpp"
#include "headway/law/paced.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/window/fixed.hpp"

namespace headway {
namespace {

using plain = governor<constant_backoff, paced<unpaced, fixed_window>>;

constexpr time_point at(duration since_start) {
  return time_point(since_start);
}
plain make(governor_settings settings = {.first_alone = 0ns}) {
  return plain({.wait = 1s}, {}, settings);
}
ticket submit(plain& g, duration now, request_terms terms = {}) {
  return std::get<ticket>(g.submit(at(now), terms));
}
ticket send(plain& g, duration now) {
  auto const t = g.next(at(now)).value();
  g.start(at(now), t, 0);
  return t;
}
decision answer(plain& g, duration now, ticket t, outcome what,
                std::optional<duration> retry_after = {}) {
  return g.finish(at(now), t, {.what = what, .advice = {retry_after}}, 0);
}

void accept_another(plain& g, duration now) {
  submit(g, now);
  answer(g, now, send(g, now), outcome::success);
}

TEST(governor, the_first_request_flies_alone_until_its_answer) {
  auto g = make({});
  submit(g, 0s), submit(g, 0s);
  auto const first = send(g, 10ms);
  EXPECT_EQ(g.next(at(20ms)), std::nullopt);
  EXPECT_EQ(g.why(at(20ms)), (held_back{reason::first_answer, at(260ms)}));
  EXPECT_EQ(g.wakeup(at(20ms)), at(260ms));
  answer(g, 30ms, first, outcome::success);
  EXPECT_NE(g.next(at(30ms)), std::nullopt);
}

TEST(governor, the_first_request_flies_alone_for_250_ms_at_most) {
  auto g = make({});
  submit(g, 0s), submit(g, 0s), submit(g, 0s);
  auto const first = send(g, 10ms);
  g.cancel(at(20ms), first);  // no answer will come
  EXPECT_EQ(g.next(at(260ms - 1ns)), std::nullopt);
  send(g, 260ms);
  send(g, 260ms);
}

TEST(governor, a_hint_holds_back_every_request_of_the_scope) {
  struct {
    char const* what;
    std::vector<duration> hints;  // all told at 1 s
    duration until;
  } const rows[] = {
      {"no undercutting", {10s}, 11s},
      {"zero", {0s}, 1s},
      {"negative", {-10s}, 1s},
      {"the least there is", {duration::min()}, 1s},
      {"a shorter one does not shorten", {10s, 2s, 0s, -5s}, 11s},
      {"a longer one does lengthen", {2s, 10s}, 11s},
  };
  for (auto const& r : rows) {
    auto g = make();
    std::vector<ticket> out;
    for (std::size_t i = 0; i < r.hints.size(); ++i) submit(g, 0s);
    for (std::size_t i = 0; i < r.hints.size(); ++i) out.push_back(send(g, 0s));
    submit(g, 500ms);  // another one, that waits
    for (std::size_t i = 0; i < r.hints.size(); ++i)
      answer(g, 1s, out[i], outcome::throttle, r.hints[i]);
    submit(g, 1s);
    if (r.until > 1s) {
      EXPECT_EQ(g.next(at(r.until - 1ns)), std::nullopt) << r.what;
      EXPECT_EQ(g.why(at(1s)), (held_back{reason::server_hint, at(r.until)})) << r.what;
      EXPECT_EQ(g.wakeup(at(1s)), at(r.until)) << r.what;
    }
    EXPECT_NE(g.next(at(r.until)), std::nullopt) << r.what;
  }
}

TEST(governor, a_hint_without_end_is_obeyed_without_spinning) {
  auto g = make();
  submit(g, 0s), submit(g, 0s);
  auto const parked = answer(g, 1s, send(g, 0s), outcome::throttle, duration::max());
  EXPECT_EQ(parked, (decision{verdict::park, reason::server_hint, never}));
  EXPECT_EQ(g.wakeup(at(1s)), never);
  EXPECT_EQ(g.why(at(1s)), (held_back{reason::server_hint, never}));
  EXPECT_EQ(g.next(at(24h * 365 * 200)), std::nullopt);
  auto const waits = g.parked(at(1s));
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->until, never);
}

TEST(governor, what_remains_parks_nothing_while_an_answer_may_tell_of_more) {
  auto g = make({.hint_max = 10s, .first_alone = 0ns});
  submit(g, 0s), submit(g, 0s);
  auto const first = send(g, 0s), second = send(g, 0s);
  auto const waits = submit(g, 0s);
  g.finish(at(1s), first, {.advice = {.remaining = 1, .reset = 1h}}, 0);
  EXPECT_EQ(g.next(at(1s)), std::nullopt) << "one that flies may count";
  EXPECT_EQ(g.parked(at(1s)), std::nullopt);
  g.finish(at(2s), second, {.advice = {.remaining = 1, .reset = 1h}}, 0);
  EXPECT_EQ(g.next(at(2s)), waits);
}

// Whatever answer the hint came with, and as soon as it is the turn of what waits.
TEST(governor, a_hint_beyond_hint_max_parks_what_waits) {
  for (auto const& advice : {hint{.retry_after = 5s}, hint{.remaining = 0, .reset = 5s}}) {
    for (auto const patience : {5s - 1ns, duration(5s), duration::max()}) {
      auto g = make({.hint_max = patience, .first_alone = 0ns});
      auto const sent = submit(g, 0s);
      send(g, 0s);
      EXPECT_EQ(g.finish(at(0s), sent, {.advice = advice}, 0).what, verdict::done);
      EXPECT_EQ(g.parked(at(0s)), std::nullopt) << "nothing waits";
      auto const waits = submit(g, 0s);
      if (patience >= 5s)
        EXPECT_EQ(g.parked(at(0s)), std::nullopt);
      else
        EXPECT_EQ(g.parked(at(0s)), (parked_request{waits, at(5s)}));
      EXPECT_EQ(g.next(at(5s)), waits);
    }
  }
}

TEST(governor, what_an_answer_leads_to) {
  struct {
    char const* what;
    governor_settings settings;
    attempt_result result;
    decision expect;  // of an answer at 2 s to the request submitted at 0 s and sent at 1 s
  } const rows[] = {
      {"success", {}, {}, {verdict::done, reason::none, never}},
      {"our own fault", {}, {outcome::ignore}, {verdict::done, reason::none, never}},
      {"throttled before anything was accepted: gives way",
       {},
       {outcome::throttle},
       {verdict::retry, reason::none, at(2s)}},
      {"… or backs off",
       {.throttled = after_throttle::back_off},
       {outcome::throttle},
       {verdict::retry, reason::backoff, at(3s)}},
      {"throttled: may always go again",
       {.attempts_max = 1},
       {.what = outcome::throttle, .may_retry = false},
       {verdict::retry, reason::none, at(2s)}},
      {"failed", {}, {outcome::failure}, {verdict::retry, reason::backoff, at(3s)}},
      {"failed too often",
       {.attempts_max = 1},
       {outcome::failure},
       {verdict::give_up, reason::attempts, never}},
      {"failed, and may have been carried out",
       {},
       {.what = outcome::failure, .may_retry = false},
       {verdict::give_up, reason::attempts, never}},
      {"the budget pays later",
       {.budget = {.per_second = 0.25, .balance_max = 1, .balance = 0, .since = at(2s)}},
       {outcome::failure},
       {verdict::retry, reason::retry_budget, at(6s)}},
      {"the budget never pays",
       {.budget = {.per_second = 0, .balance = 0}},
       {outcome::failure},
       {verdict::give_up, reason::retry_budget, never}},
      {"hint longer than the backoff",
       {},
       {.what = outcome::failure, .advice = {5s}},
       {verdict::retry, reason::server_hint, at(7s)}},
      {"hint shorter than the backoff",
       {},
       {.what = outcome::failure, .advice = {500ms}},
       {verdict::retry, reason::backoff, at(3s)}},
      {"just patient enough",
       {.hint_max = 5s},
       {.what = outcome::throttle, .advice = {5s}},
       {verdict::retry, reason::server_hint, at(7s)}},
      {"too much patience",
       {.hint_max = 5s},
       {.what = outcome::throttle, .advice = {5s + 1ns}},
       {verdict::park, reason::server_hint, at(7s + 1ns)}},
      {"later than its deadline",
       {},
       {.what = outcome::throttle, .advice = {60s}},
       {verdict::give_up, reason::deadline, never}},
  };
  for (auto const& r : rows) {
    auto g = make(r.settings);
    submit(g, 0s, {.deadline = at(30s)});
    auto const d = g.finish(at(2s), send(g, 1s), r.result, 0);
    EXPECT_EQ(d, r.expect) << r.what << ": " << to_string(d.why) << ", "
                           << to_seconds(d.until - at(0s));
    EXPECT_EQ(g.in_flight(), 0) << r.what << ": a waiting retry holds no permit";
    EXPECT_EQ(g.waiting(), d.what == verdict::retry || d.what == verdict::park) << r.what;
  }
}

// Hears how often it is taught, and what of.
struct counting_law {
  int successes = 0, throttles = 0, failures = 0;
  duration rtt{};
  int heard = 0;
  bool app_limited = false;  // the last success
  bool capped = false;       // likewise
  bool own = false;          // the last throttle
  bool again = false;        // likewise
  duration held{};           // likewise
  bool shared = false;       // the last hint
  time_point paced = time_point::min();
  std::uint64_t sends = 0;      // its epochs
  std::uint64_t cancelled = 0;  // epoch of the last one

  time_point ready_at(std::int64_t) const noexcept { return paced; }
  double allowed() const noexcept { return 100; }
  stamp take(time_point now, std::int64_t, fraction) noexcept {
    if (paced != time_point::min()) paced = now + 100ms;
    return {.sent = now, .epoch = ++sends, .paced = true};
  }
  void on_success(time_point, sample const& s, fraction) noexcept {
    ++successes, rtt = s.rtt, heard = s.heard, app_limited = s.app_limited, capped = s.capped;
    held = s.sent.held;
  }
  void on_throttle(time_point, sample const& s, resource, fraction) noexcept {
    ++throttles, own = s.own, again = s.again;
  }
  void on_failure(time_point, sample const&, fraction) noexcept { ++failures; }
  void on_hint(time_point, hint const& h) noexcept { shared = h.shared; }
  void on_cancel(time_point, stamp const& sent) noexcept { cancelled = sent.epoch; }
  friend bool operator==(counting_law const&, counting_law const&) = default;
};

// Of sixteen two went from here, so that three may go before the last eighth of the next window.
TEST(governor, a_window_that_others_use_is_told_to_the_law_and_left_to_them_in_part) {
  governor<constant_backoff, counting_law> g({.wait = 1s}, {}, {.first_alone = 0ns});
  auto const ask = [&](duration now, std::int64_t remaining, duration reset) {
    auto const t = std::get<ticket>(g.submit(at(now)));
    g.start(at(now), t, 0);
    g.finish(at(now), t, {.advice = {.remaining = remaining, .reset = reset}}, 0);
    return g.law_state().shared;
  };
  EXPECT_FALSE(ask(0s, 15, 10s));
  EXPECT_TRUE(ask(1s, 0, 9s));
  EXPECT_FALSE(ask(10s, 15, 10s));
  EXPECT_FALSE(ask(10s, 14, 10s));
  EXPECT_FALSE(ask(10s, 13, 10s));
  auto const asks = std::get<ticket>(g.submit(at(11s)));
  EXPECT_EQ(g.next(at(17500ms - 1ns)), std::nullopt);
  EXPECT_EQ(g.why(at(11s)), (held_back{reason::others, at(17500ms)}));
  g.start(at(17500ms), asks, 0);
  g.finish(at(17500ms), asks, {.advice = {.remaining = 12, .reset = 2500ms}}, 0);
  std::ignore = g.submit(at(17501ms));
  auto const last_eighth = at(18750ms + duration(625ms) / 16 * 3);
  EXPECT_EQ(g.why(at(17501ms)), (held_back{reason::others, last_eighth}));
  EXPECT_NE(g.next(last_eighth), std::nullopt);
}

TEST(governor, a_law_hears_of_others_that_the_caller_knows_of) {
  governor<constant_backoff, counting_law> g({.wait = 1s}, {}, {.first_alone = 0ns});
  auto const t = std::get<ticket>(g.submit(at(0s)));
  g.start(at(0s), t, 0);
  g.finish(at(0s), t, {.advice = {.shared = true}}, 0);
  EXPECT_TRUE(g.law_state().shared);
}

TEST(governor, a_head_teaches_once_and_the_end_gives_the_permit_back) {
  governor<constant_backoff, counting_law> g({.wait = 1s}, {}, {.first_alone = 0ns});
  auto const go = [&] {
    auto const t = std::get<ticket>(g.submit(at(0s)));
    g.start(at(0s), t, 0);
    return t;
  };
  auto const first = go(), second = go();
  EXPECT_TRUE(g.learn(at(1s), first, {}, 0));
  EXPECT_EQ(g.law_state().rtt, 1s);
  EXPECT_EQ(g.law_state().heard, 0);
  EXPECT_FALSE(g.learn(at(1s), first, {}, 0)) << "the second of one attempt";
  EXPECT_TRUE(g.learn(at(2s), second, {}, 0));
  EXPECT_EQ(g.law_state().heard, 1);
  EXPECT_EQ(g.in_flight(), 2);
  EXPECT_EQ(g.finish(at(20s), first, {}, 0).what, verdict::done);
  EXPECT_EQ(g.in_flight(), 1);
  EXPECT_EQ(g.law_state().successes, 2);
  g.cancel(at(21s), second);
  EXPECT_EQ(g.in_flight(), 0);
  EXPECT_FALSE(g.learn(at(22s), second, {}, 0)) << "it flies no more";
}

TEST(governor, a_law_hears_which_attempt_was_cancelled_before_its_head_came) {
  governor<constant_backoff, counting_law> g({.wait = 1s}, {}, {.first_alone = 0ns});
  std::vector<ticket> sent;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(std::get<ticket>(g.submit(at(0s))));
    g.start(at(0s), sent.back(), 0);
  }
  g.cancel(at(1s), std::get<ticket>(g.submit(at(1s))));
  EXPECT_EQ(g.law_state().cancelled, 0) << "it never went";
  g.cancel(at(1s), sent[1]);
  EXPECT_EQ(g.law_state().cancelled, 2);
  g.learn(at(1s), sent[2], {}, 0);
  g.cancel(at(2s), sent[2]);
  EXPECT_EQ(g.law_state().cancelled, 2) << "it was heard";
}

TEST(governor, a_body_that_breaks_after_a_good_head_is_broken_and_no_second_success) {
  governor<constant_backoff, counting_law> g({.wait = 1s}, {}, {.first_alone = 0ns});
  auto const t = std::get<ticket>(g.submit(at(0s)));
  for (int again = 1; again <= 2; ++again) {
    auto const now = 10s * again;
    g.start(at(now), t, 0);
    EXPECT_TRUE(g.learn(at(now + 1s), t, {}, 0)) << "each attempt has a head of its own";
    EXPECT_EQ(g.finish(at(now + 2s), t, {.what = outcome::failure}, 0).why, reason::backoff);
    EXPECT_EQ(g.law_state().successes, again);
    EXPECT_EQ(g.law_state().failures, again);
  }
}

TEST(governor, a_head_that_is_no_success_is_for_the_end) {
  governor<constant_backoff, counting_law> g({.wait = 1s}, {}, {.first_alone = 0ns});
  auto const t = std::get<ticket>(g.submit(at(0s)));
  g.start(at(0s), t, 0);
  EXPECT_FALSE(g.learn(at(1s), t, {outcome::throttle, {}, {.retry_after = 9s}}, 0));
  EXPECT_LE(g.held_until(), at(1s));
  g.finish(at(2s), t, {outcome::throttle, {}, {.retry_after = 9s}}, 0);
  EXPECT_EQ(g.law_state().throttles, 1);
  EXPECT_EQ(g.held_until(), at(11s));
}

TEST(governor, what_a_head_advises_is_as_old_as_the_head) {
  auto g = make();
  submit(g, 0s);
  auto const t = send(g, 0s);
  attempt_result const told{.advice = {.remaining = 0, .reset = 5s}};
  g.learn(at(1s), t, told, 0);
  EXPECT_EQ(g.held_until(), at(6s));
  g.finish(at(20s), t, told, 0);
  EXPECT_EQ(g.held_until(), at(6s));
}

/// A governor that was told in the first two answers how much is left until 10 s, with twelve
/// waiting.
plain told_until_10s(std::int64_t first, std::int64_t second) {
  auto g = make();
  for (auto const left : {first, second}) {
    submit(g, 0s);
    g.finish(at(1s), send(g, 0s), {.advice = {.remaining = left, .reset = 9s}}, 0);
  }
  for (int i = 0; i < 12; ++i) submit(g, 1s);
  return g;
}
/// Sends all that may go; returns the tickets.
std::vector<ticket> send_all(plain& g, duration now) {
  std::vector<ticket> sent;
  while (g.next(at(now))) sent.push_back(send(g, now));
  return sent;
}

TEST(governor, after_a_reset_no_more_goes_than_was_left_before_until_an_answer_tells) {
  for (auto const& [first, second, most] :
       {std::array<std::size_t, 3>{2, 1, 3}, {1, 2, 3}, {1, 0, 2}}) {
    auto g = told_until_10s(static_cast<std::int64_t>(first), static_cast<std::int64_t>(second));
    for (auto const t : send_all(g, 2s)) g.finish(at(3s), t, {}, 0);
    auto const sent = send_all(g, 10s);
    EXPECT_EQ(sent.size(), most);
    EXPECT_EQ(g.why(at(10s)), (held_back{reason::server_hint, at(12s)})) << "two round trips";
    EXPECT_EQ(g.parked(at(10s)), std::nullopt);
    EXPECT_EQ(g.wakeup(at(10s)), at(12s));
    g.finish(at(11s), sent[0], {.advice = {.remaining = 4, .reset = 9s}}, 0);
    EXPECT_EQ(send_all(g, 11s).size(), 4 - (most - 1)) << "less what was sent since";
    EXPECT_EQ(g.held_until(), at(20s));
  }
}

TEST(governor, a_window_that_no_answer_tells_of_is_left_to_the_law) {
  struct {
    char const* what;
    outcome first;
    hint said;
    std::size_t then, at_last;  // may go; and once the other is cancelled
  } const rows[] = {
      {"an answer that tells nothing", outcome::success, {}, 10, 0},
      {"one that breaks is not it", outcome::failure, {}, 0, 10},
      {"unless it tells", outcome::failure, {.remaining = 9, .reset = 9s}, 8, 0},
      {"one as old as the window", outcome::success, {.remaining = 9, .reset = 2s}, 10, 0},
  };
  for (auto const& r : rows) {
    SCOPED_TRACE(r.what);
    auto g = told_until_10s(1, 0);
    auto const sent = send_all(g, 10s);
    ASSERT_EQ(sent.size(), 2U);
    g.finish(at(11s), sent[0], {.what = r.first, .advice = r.said}, 0);
    EXPECT_EQ(send_all(g, 11s).size(), r.then);
    g.cancel(at(11s), sent[1]);
    EXPECT_EQ(send_all(g, 11s).size(), r.at_last) << "none is left to tell";
  }
}

TEST(governor, one_that_never_answers_holds_the_others_for_two_round_trips) {
  auto g = told_until_10s(1, 0);
  auto const lost = send_all(g, 10s);
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_TRUE(send_all(g, 12s - 1ns).empty());
  EXPECT_EQ(send_all(g, 12s).size(), 10U) << "the law decides";
  EXPECT_EQ(g.wakeup(at(12s)), never);
  g.finish(at(13s), lost[0], {.advice = {.remaining = 9, .reset = 9s}}, 0);
  for (int i = 0; i < 12; ++i) submit(g, 13s);
  EXPECT_EQ(send_all(g, 13s).size(), 0U) << "it tells all the same: ten went since";
  EXPECT_EQ(g.held_until(), at(22s));
}

TEST(governor, what_waits_for_an_answer_that_tells_is_not_refused_for_its_deadline) {
  auto g = told_until_10s(1, 0);
  send_all(g, 10s);
  auto const late = g.submit(at(10s), {.deadline = at(11s)});
  EXPECT_TRUE(std::holds_alternative<ticket>(late)) << "the answer may come before";
}

TEST(governor, an_answer_of_the_window_before_does_not_tell_of_the_next) {
  auto g = told_until_10s(3, 2);
  auto const before = send_all(g, 2s);
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(send_all(g, 10s).size(), 2U) << "of four, less what flies and may count after it";
  g.finish(at(11s), before[0], {.advice = {.remaining = 9, .reset = 1s}}, 0);
  EXPECT_EQ(g.next(at(11s)), std::nullopt);
  g.finish(at(11s), before[1], {}, 0);
  EXPECT_EQ(g.next(at(11s)), std::nullopt);
}

TEST(governor, a_quota_that_the_caller_keeps_neither_cuts_nor_grows_the_law) {
  governor<constant_backoff, seek> g({.wait = 1s}, {}, {.first_alone = 0ns});
  std::get<ticket>(g.submit(at(0s)));
  auto now = at(0s);
  for (auto const what : {outcome::throttle, outcome::success}) {
    now += 1s;
    auto const t = g.next(now).value();
    g.start(now, t, 0);
    auto const level = g.law_state().level;
    auto const then = g.finish(now + 100ms, t, {.what = what, .held_elsewhere = true}, 0);
    EXPECT_EQ(then.what, what == outcome::throttle ? verdict::retry : verdict::done);
    EXPECT_EQ(g.law_state().level, level);
    EXPECT_EQ(g.law_state().so_far.epoch, 0U);
    EXPECT_EQ(g.level(), 0);
  }
}

TEST(governor, one_that_costs_more_than_a_ceiling_saves_goes_on_credit) {
  auto g = make({.rate_ceiling = gcra::per(1, 1s, 3)});
  for (int const cost : {1, 10, 1}) submit(g, 1s, {.cost = cost});
  send(g, 1s);
  EXPECT_EQ(g.wakeup(at(1s)), at(2s));  // all of the burst is saved again
  send(g, 2s);
  EXPECT_EQ(g.why(at(2s)), (held_back{reason::quota, at(10s)}));  // it is paid off
}

TEST(governor, what_it_refuses) {
  auto g = make({.queue_max = 2, .rate_ceiling = gcra::per(1, 1s, 3)});
  auto const refusal = [&](request_terms terms) {
    return std::get<refused>(g.submit(at(1s), terms));
  };
  EXPECT_EQ(refusal({.deadline = at(1s - 1ns)}), (refused{reason::deadline, at(1s)}));
  submit(g, 1s, {.cost = 3});
  send(g, 1s);
  EXPECT_EQ(refusal({.deadline = at(2s - 1ns)}), (refused{reason::deadline, at(2s)}));
  submit(g, 1s, {.deadline = at(2s)}), submit(g, 1s);
  EXPECT_EQ(refusal({}), (refused{reason::queue, never}));
}

TEST(governor, retries_never_lack_queue_space) {
  auto g = make({.queue_max = 1, .first_alone = 0ns});
  std::vector<ticket> out;
  for (int i = 0; i < 5; ++i) submit(g, 0s), out.push_back(send(g, 0s));
  for (auto const t : out) EXPECT_EQ(answer(g, 1s, t, outcome::throttle).what, verdict::retry);
  EXPECT_EQ(g.waiting(), 5U);
  EXPECT_TRUE(std::holds_alternative<refused>(g.submit(at(1s))));
}

TEST(governor, turns_go_by_ready_since_then_sequence) {
  auto g = make();
  accept_another(g, 0s);
  std::vector<ticket> t(5);
  for (auto& each : t) each = submit(g, 0s);
  for (auto const each : t) EXPECT_EQ(send(g, 0s), each);
  answer(g, 1s, t[3], outcome::failure);   // ready at 2 s
  answer(g, 1s, t[4], outcome::throttle);  // ready since 0 s
  answer(g, 1s, t[1], outcome::throttle);  // ready since 0 s, and earlier in sequence
  auto const late = submit(g, 1500ms);
  for (auto const expect : {t[1], t[4], late, t[3]}) EXPECT_EQ(send(g, 2s), expect);
}

TEST(governor, a_refused_request_keeps_its_place_once_and_then_the_last_go_first) {
  auto g = make();
  accept_another(g, 0s);
  auto const bad = submit(g, 0s), a = submit(g, 0s), b = submit(g, 0s);
  EXPECT_EQ(answer(g, 1s, send(g, 1s), outcome::throttle), (decision{verdict::retry, {}, at(0s)}));
  EXPECT_EQ(send(g, 1s), bad);
  EXPECT_EQ(answer(g, 2s, bad, outcome::throttle), (decision{verdict::retry, {}, at(2s)}));
  auto const c = submit(g, 1500ms), d = submit(g, 3s);
  for (auto const expect : {b, d, c, a, bad}) EXPECT_EQ(send(g, 3s), expect);
}

TEST(governor, a_refused_request_is_last_where_eight_or_more_wait) {
  for (int const others : {7, 8}) {
    auto g = make();
    accept_another(g, 0s);
    auto const bad = submit(g, 0s);
    for (int i = 0; i < others; ++i) submit(g, 1s);
    EXPECT_EQ(answer(g, 2s, send(g, 2s), outcome::throttle),
              (decision{verdict::retry, {}, at(others < 8 ? 0s : 2s)}));
    auto const sent = send_all(g, 2s);
    EXPECT_EQ(others < 8 ? sent.front() : sent.back(), bad);
  }
}

TEST(governor, a_refused_request_goes_again_after_eight_sends_then_64_while_others_pass) {
  auto g = make();
  for (int i = 0; i < 2; ++i) accept_another(g, 0s);
  auto const bad = submit(g, 0s);
  std::vector<ticket> others;
  for (int i = 0; i < 100; ++i) others.push_back(submit(g, 1s));
  auto now = duration(2s);
  std::size_t passed = 0;
  for (int const sends : {8, 64}) {
    ASSERT_EQ(send(g, now), bad);
    now += 10ms;
    EXPECT_EQ(answer(g, now, bad, outcome::throttle), (decision{verdict::retry, {}, at(now)}));
    for (int i = 0; i < sends; ++i) {
      auto const other = send(g, now);
      EXPECT_EQ(other, others[passed++]);
      answer(g, now += 10ms, other, outcome::success);
    }
  }
  EXPECT_EQ(send(g, now), bad);
}

TEST(governor, a_refused_request_goes_not_again_before_its_turn_while_nothing_passes) {
  struct {
    char const* what;
    std::optional<outcome> others;
    int sends;  // while none that was refused is asked aside
  } const rows[] = {{"no answer", {}, 10},
                    {"ignored", outcome::ignore, 100},
                    {"broken", outcome::failure, 100},
                    {"refused, too", outcome::throttle, 10}};
  for (auto const& r : rows) {
    auto g = make();
    accept_another(g, 0s);
    auto const bad = submit(g, 0s);
    for (int i = 0; i < 100; ++i) submit(g, 1s);
    ASSERT_EQ(send(g, 2s), bad);
    answer(g, 2s, bad, outcome::throttle);
    for (int i = 0; i < r.sends; ++i) {
      auto const now = 2s + i * 1ms;
      auto const other = send(g, now);
      EXPECT_NE(other, bad) << r.what << ", " << i;
      if (r.others) answer(g, now, other, *r.others);
    }
    EXPECT_EQ(g.next(at(3s)) == bad, r.sends == 100) << r.what;
  }
}

TEST(governor, after_a_refusal_in_vain_the_last_in_line_are_asked) {
  auto g = make();
  std::vector<ticket> all;
  for (int i = 0; i < 20; ++i) all.push_back(submit(g, 0s));
  answer(g, 1s, send(g, 1s), outcome::throttle);
  for (std::size_t i = 19; i > 11; --i) EXPECT_EQ(send(g, 1s), all[i]) << i;
  EXPECT_EQ(send(g, 1s), all[1]);
}

TEST(governor, one_that_is_refused_aside_while_others_pass_gives_way_to_eight) {
  auto g = make();
  std::vector<ticket> all;
  for (int i = 0; i < 100; ++i) all.push_back(submit(g, 0s));
  answer(g, 1s, send(g, 1s), outcome::throttle);
  answer(g, 2s, send(g, 2s), outcome::success);
  auto const unlucky = send(g, 3s);
  ASSERT_EQ(unlucky, all[98]);
  EXPECT_EQ(answer(g, 4s, unlucky, outcome::throttle), (decision{verdict::retry, {}, at(4s)}));
  for (int i = 0; i < 8; ++i) {
    auto const other = send(g, 5s + i * 1s);
    EXPECT_NE(other, unlucky) << i;
    answer(g, 5s + i * 1s, other, outcome::success);
  }
  EXPECT_EQ(send(g, 13s), unlucky);
}

TEST(governor, a_refused_request_gives_way_to_none_that_failed) {
  auto g = make();
  accept_another(g, 0s);
  auto const bad = submit(g, 0s);
  for (int i = 0; i < 80; ++i) submit(g, 0s);
  EXPECT_EQ(send(g, 0s), bad);
  for (int i = 0; i < 80; ++i) answer(g, 0s, send(g, 0s), outcome::failure);
  EXPECT_EQ(answer(g, 60s, bad, outcome::throttle), (decision{verdict::retry, {}, at(0s)}));
  EXPECT_EQ(send(g, 60s), bad);
}

// ── Bad requests ────────────────────────────────────────────────────────────────────────────────

using counting = governor<constant_backoff, counting_law>;

/// Sends the next, and answers it 10 ms later. Returns its ticket.
ticket answer_next(counting& g, time_point& now, outcome what) {
  auto const t = g.next(now).value();
  g.start(now, t, 0);
  now += 10ms;
  g.finish(now, t, {.what = what}, 0);
  return t;
}
/// A governor with some hundred accepted requests and four that were refused three times each,
/// which are gone.
counting beside_bad_ones(time_point& now) {
  counting g({.wait = 1s}, {}, {.queue_max = 10'000, .first_alone = 0ns});
  auto const pass = [&](int requests) {
    for (int i = 0; i < requests; ++i) g.submit(now), answer_next(g, now, outcome::success);
  };
  pass(100);
  for (int i = 0; i < 4; ++i) {
    auto const bad = std::get<ticket>(g.submit(now));
    answer_next(g, now, outcome::throttle);
    g.submit(now - 1s), answer_next(g, now, outcome::success);
    g.submit(now - 1s), answer_next(g, now, outcome::success);
    EXPECT_EQ(answer_next(g, now, outcome::throttle), bad);
    now += 2s;  // it has waited by itself
    g.submit(now - 3s), answer_next(g, now, outcome::success);
    g.submit(now - 3s), answer_next(g, now, outcome::success);
    EXPECT_EQ(answer_next(g, now, outcome::throttle), bad);
    g.cancel(now, bad);
    pass(2);
  }
  return g;
}

TEST(governor, the_law_hears_whose_doing_a_refusal_is_and_whether_it_is_the_first) {
  auto now = at(1s);
  auto g = beside_bad_ones(now);
  int own = 0;
  for (int i = 0; i < 10; ++i) {
    auto const before = g.law_state().throttles;
    auto const t = std::get<ticket>(g.submit(now));
    EXPECT_EQ(answer_next(g, now, outcome::throttle), t);
    EXPECT_EQ(g.law_state().throttles, before + 1);
    EXPECT_FALSE(g.law_state().again);
    own += g.law_state().own;
    for (int k = 0; k < 2; ++k) g.submit(now - 1s), answer_next(g, now, outcome::success);
    EXPECT_EQ(answer_next(g, now, outcome::throttle), t);
    EXPECT_TRUE(g.law_state().own) << "others passed";
    EXPECT_TRUE(g.law_state().again);
    g.cancel(now, t);
    for (int k = 0; k < 2; ++k) g.submit(now), answer_next(g, now, outcome::success);
  }
  EXPECT_EQ(own, 8) << "one in five of the first ones is a limit's";
}

TEST(governor, the_law_never_hears_of_a_refusal_where_a_quota_elsewhere_binds) {
  auto now = at(1s);
  auto g = beside_bad_ones(now);
  auto const before = g.law_state();
  auto const t = std::get<ticket>(g.submit(now));
  ASSERT_EQ(g.next(now), t);
  g.start(now, t, 0);
  g.finish(now + 10ms, t, {.what = outcome::throttle, .held_elsewhere = true}, 0);
  now += 10ms;
  for (int i = 0; i < 2; ++i) g.submit(now - 1s), answer_next(g, now, outcome::success);
  EXPECT_EQ(answer_next(g, now, outcome::success), t);
  EXPECT_EQ(g.law_state().throttles, before.throttles);
}

TEST(governor, the_law_grows_while_bad_requests_wait) {
  auto now = at(1s);
  auto g = beside_bad_ones(now);
  auto const t = std::get<ticket>(g.submit(now));
  EXPECT_EQ(answer_next(g, now, outcome::throttle), t);
  g.submit(now - 1s), answer_next(g, now, outcome::success);
  EXPECT_FALSE(g.law_state().app_limited);
}

TEST(governor, a_ceiling_of_the_caller_binds_where_it_holds_longer_than_the_law) {
  struct {
    std::string_view what;
    governor_settings settings;
    bool paced;       // by 100 ms, by the law
    duration answer;  // takes so long
    bool capped;
    std::int64_t cost = 1;
  } const rows[] = {
      {"a rate, sooner than the pace", {.rate_ceiling = gcra::per(20, 1s)}, true, 10ms, false},
      {"a rate, later than the pace", {.rate_ceiling = gcra::per(5, 1s)}, true, 10ms, true},
      {"a rate that is past", {.rate_ceiling = gcra::per(5, 1s)}, true, 300ms, false},
      {"a rate of units, five at a time",
       {.rate_ceiling = gcra::per(20, 1s, 5)},
       true,
       10ms,
       true,
       5},
      {"a rate, and no pace", {.rate_ceiling = gcra::per(20, 1s)}, false, 10ms, true},
      {"one in flight, and the pace holds on", {.in_flight_max = 1}, true, 10ms, false},
      {"one in flight, and the pace is past", {.in_flight_max = 1}, true, 300ms, true},
      {"one of two in flight", {.in_flight_max = 2}, true, 300ms, false},
  };
  for (auto const& r : rows) {
    counting_law law;
    if (r.paced) law.paced = at(0s);
    auto settings = r.settings;
    settings.first_alone = 0ns;
    governor<constant_backoff, counting_law> g({.wait = 1s}, law, settings);
    auto const t = std::get<ticket>(g.submit(at(1s), {.cost = r.cost}));
    g.submit(at(1s));
    g.start(at(1s), t, 0);
    g.finish(at(1s) + r.answer, t, {}, 0);
    EXPECT_EQ(g.law_state().capped, r.capped) << r.what;
    EXPECT_EQ(g.law_state().app_limited, r.capped) << r.what;
  }
}

TEST(governor, a_stamp_tells_for_how_long_a_rate_of_the_callers_held_it) {
  struct {
    std::optional<gcra> rate;
    duration submitted;  // after the first, which goes at once
    bool paced;          // by 100 ms, by the law
    duration held;
  } const rows[] = {{{}, 0ms, false, 0ms},
                    {gcra::per(5, 1s), 0ms, false, 200ms},
                    {gcra::per(5, 1s), 0ms, true, 100ms},
                    {gcra::per(5, 1s), 150ms, false, 50ms},
                    {gcra::per(5, 1s), 300ms, false, 0ms},
                    {gcra::per(20, 1s), 0ms, true, 0ms}};
  for (auto const& r : rows) {
    counting_law law;
    if (r.paced) law.paced = at(0s);
    governor<constant_backoff, counting_law> g({.wait = 1s}, law,
                                               {.first_alone = 0ns, .rate_ceiling = r.rate});
    time_point now = at(1s);
    for (auto const after : {duration{}, r.submitted}) {
      now += after;
      auto const t = std::get<ticket>(g.submit(now));
      if (!g.next(now)) now = g.wakeup(now);
      g.start(now, t, 0);
      g.finish(now, t, {}, 0);
    }
    EXPECT_NEAR(to_seconds(g.law_state().held), to_seconds(r.held), 1e-3);
  }
}

/// Lets those that wait pass before `t` goes, one every so often. Returns their number.
int pass_before(counting& g, time_point& now, ticket t, duration interval = 200ms) {
  for (int passed = 0;; ++passed, now += interval - 10ms) {
    if (g.next(now) == t) return passed;
    answer_next(g, now, outcome::success);
  }
}

TEST(governor, a_bad_request_gives_way_to_4096_and_while_most_are_bad_to_eight_twice) {
  struct {
    bool most_bad;
    std::array<int, 3> sends;  // after its refusals
  } const rows[] = {{false, {8, 4096, 4096}}, {true, {8, 8, 4096}}};
  for (auto const& r : rows) {
    auto now = at(1s);
    counting g({.wait = 1s}, {}, {.queue_max = 10'000, .first_alone = 0ns});
    if (r.most_bad) g = beside_bad_ones(now);
    for (int i = 0; i < 200; ++i) g.submit(now), answer_next(g, now, outcome::success);
    auto const bad = std::get<ticket>(g.submit(now));
    for (int i = 0; i < 9'000; ++i) g.submit(now);
    for (auto const sends : r.sends) {
      EXPECT_EQ(answer_next(g, now, outcome::throttle), bad);
      EXPECT_EQ(pass_before(g, now, bad), sends);
    }
  }
}

TEST(governor, a_bad_request_that_rests_goes_not_again_before) {
  auto now = at(1s);
  auto g = beside_bad_ones(now);
  auto const bad = std::get<ticket>(g.submit(now));
  for (int i = 0; i < 1'000; ++i) g.submit(now);
  EXPECT_EQ(answer_next(g, now, outcome::throttle), bad);
  EXPECT_EQ(pass_before(g, now, bad, 10ms), 8);
  EXPECT_EQ(answer_next(g, now, outcome::throttle), bad);
  auto const refused = now;
  pass_before(g, now, bad, 10ms);
  EXPECT_GE(now, refused + 1s);
  EXPECT_LE(now, refused + 1s + 20ms);
}

TEST(governor, one_that_is_to_go_again_stays_the_first_of_the_refused_ones) {
  auto now = at(0s);
  counting g({.wait = 1s}, {}, {.first_alone = 0ns});
  auto const submit_now = [&] { return std::get<ticket>(g.submit(now)); };
  for (int i = 0; i < 2; ++i) submit_now(), answer_next(g, now, outcome::success);
  for (int i = 0; i < 8; ++i) submit_now(), answer_next(g, now, outcome::failure);
  auto const first = submit_now(), second = submit_now(), third = submit_now();
  for (int i = 0; i < 8; ++i) submit_now();
  for (auto const t : {first, second, third}) g.start(now, t, 0);
  now += 2s;  // those that failed have rested
  g.finish(now, first, {.what = outcome::throttle}, 0);
  for (int i = 0; i < 8; ++i) answer_next(g, now, outcome::success);
  EXPECT_EQ(g.next(now), first);
  g.finish(now, second, {.what = outcome::throttle}, 0);
  g.finish(now, third, {.what = outcome::throttle}, 0);  // in vain: one is asked before its turn
  EXPECT_EQ(g.next(now), first);
}

TEST(governor, one_that_has_failed_goes_not_again_before_its_turn) {
  auto now = at(1s);
  counting g({.wait = 1s}, {}, {.first_alone = 0ns});
  for (int i = 0; i < 2; ++i) g.submit(now), answer_next(g, now, outcome::success);
  auto const fails = std::get<ticket>(g.submit(now));
  EXPECT_EQ(answer_next(g, now, outcome::failure), fails);
  now += 1s;
  EXPECT_EQ(g.next(now), fails);
  for (int i = 0; i < 100; ++i) g.submit(now);
  EXPECT_EQ(answer_next(g, now, outcome::throttle), fails);
  EXPECT_EQ(pass_before(g, now, fails), 100);
}

// ── A server that is broken ─────────────────────────────────────────────────────────────────────

TEST(governor, probes_of_a_broken_server_use_up_the_attempts_of_none_that_had_not_failed_before) {
  auto now = at(1s);
  auto g = broken_server(now);
  for (int i = 0; i < breakage::row_max; ++i)
    if (g.waiting() > 0) answer_next(g, now, outcome::failure);  // under way when it broke
  EXPECT_EQ(g.waiting(), 0U);
  auto const t = std::get<ticket>(g.submit(now));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(answer_next(g, now, outcome::failure).what, verdict::retry) << i;
  EXPECT_EQ(g.next(g.wakeup(now)), t);
  EXPECT_EQ(answer_next(g, now, outcome::success).what, verdict::done);
}

TEST(governor, says_that_the_server_is_broken_where_its_pace_waits_for_its_return) {
  auto now = at(1s);
  auto g = broken_server(now);
  g.submit(now);
  if (g.next(now)) answer_next(g, now, outcome::failure);  // its turn was due before it broke
  EXPECT_EQ(g.why(now).why, reason::server_broken);
  while (g.why(now).why == reason::server_broken) answer_next(g, now, outcome::success);
  EXPECT_NE(g.why(now).why, reason::server_broken);
}

TEST(governor, parks_what_waits_for_a_server_that_is_broken_for_longer_than_its_patience) {
  auto now = at(1s);
  auto g = broken_server(now);
  g.submit(now);
  EXPECT_EQ(g.parked(now), std::nullopt);
  for (auto const until = now + 2min; now < until;) answer_next(g, now, outcome::failure);
  auto const parked = g.parked(now);
  ASSERT_TRUE(parked);
  EXPECT_EQ(parked->why, reason::server_broken);
  EXPECT_GT(parked->until, now);
  EXPECT_EQ(g.parked(parked->until), std::nullopt) << "it asks whether the server is back";
}

TEST(governor, before_anything_was_accepted_a_refused_request_is_last) {
  auto g = make();
  auto const bad = submit(g, 0s), a = submit(g, 0s), b = submit(g, 0s);
  answer(g, 1s, send(g, 1s), outcome::throttle);
  for (auto const expect : {b, a, bad}) EXPECT_EQ(send(g, 1s), expect);
}

TEST(governor, a_request_refused_while_others_are_accepted_waits_by_itself) {
  auto g = make({.hint_max = 10s, .first_alone = 0ns});
  auto now = duration(0s);
  auto const bad = submit(g, now);
  for (int i = 0; i < 2; ++i) {
    send(g, now);
    EXPECT_EQ(answer(g, now, bad, outcome::throttle).why, reason::none);
    accept_another(g, now - 1ms);
  }
  for (auto const wait : {1s, 2s, 4s}) {
    ASSERT_EQ(send(g, now), bad);
    EXPECT_EQ(answer(g, now, bad, outcome::throttle),
              (decision{verdict::retry, reason::refused_alone, at(now + wait)}));
    EXPECT_EQ(g.why(at(now)), (held_back{reason::refused_alone, at(now + wait)}));
    accept_another(g, now);
    EXPECT_EQ(g.next(at(now + wait - 1ns)), std::nullopt);
    EXPECT_EQ(g.parked(at(now)), std::nullopt);
    now += wait;
  }
  ASSERT_EQ(send(g, now), bad);
  EXPECT_EQ(answer(g, now, bad, outcome::throttle),
            (decision{verdict::park, reason::refused_alone, at(15s)}));
  EXPECT_EQ(g.parked(at(now)), (parked_request{bad, at(15s), reason::refused_alone}));
  EXPECT_EQ(send(g, 15s), bad) << "of a caller with that patience";
  EXPECT_EQ(answer(g, 15s, bad, outcome::success).what, verdict::done);
}

TEST(governor, a_request_in_the_slot_of_another_waits_as_if_it_were_the_first) {
  struct tripling {
    duration delay(int, duration before, fraction) const noexcept {
      return std::max<duration>(1s, 3 * before);
    }
    bool operator==(tripling const&) const = default;
  };
  auto g = make();
  governor<tripling, paced<unpaced, fixed_window>> h({}, {}, {.first_alone = 0ns});
  for (duration const now : {0s, 100s}) {
    auto const bad = submit(g, now);
    for (duration const wait : {0s, 0s, 1s}) {
      ASSERT_EQ(send(g, now), bad);
      EXPECT_EQ(answer(g, now, bad, outcome::throttle).until, at(now + wait));
      accept_another(g, now - 1ms);
    }
    g.cancel(at(now), bad);

    auto const fails = std::get<ticket>(h.submit(at(now)));
    h.start(at(now), fails, 0);
    ASSERT_EQ(h.finish(at(now), fails, {outcome::failure}, 0).until, at(now + 1s));
    h.start(at(now + 1s), fails, 0);
    EXPECT_EQ(h.finish(at(now + 1s), fails, {outcome::failure}, 0).until, at(now + 4s));
    h.cancel(at(now + 4s), fails);
  }
}

TEST(governor, a_hint_for_a_request_that_is_refused_alone_holds_no_other) {
  auto g = make({.hint_max = 10s, .first_alone = 0ns});
  auto const refuse = [&](duration at, ticket t, duration again) {
    return g.finish(time_point(at), t,
                    {.what = outcome::throttle,
                     .advice = {.retry_after = again, .remaining = 0, .reset = again}},
                    0);
  };
  auto now = duration(0s);
  auto const bad = submit(g, now);
  for (int i = 0; i < 2; ++i, now += 5s) {
    ASSERT_EQ(send(g, now), bad);
    EXPECT_EQ(refuse(now, bad, 5s).why, reason::server_hint) << "it may be all of them";
    submit(g, now - 1ms);
    answer(g, now + 5s, send(g, now + 5s), outcome::success);
  }
  ASSERT_EQ(send(g, now), bad);
  EXPECT_EQ(refuse(now, bad, 5s), (decision{verdict::retry, reason::refused_alone, at(now + 5s)}));
  EXPECT_LE(g.held_until(), at(now));
  accept_another(g, now);
  now += 5s;
  ASSERT_EQ(send(g, now), bad);
  EXPECT_EQ(refuse(now, bad, 1h), (decision{verdict::park, reason::refused_alone, at(now + 1h)}));
  accept_another(g, now);
  EXPECT_LE(g.held_until(), at(now));
}

// Of what two clients send that want twice a limit, one in sixteen is refused three times.
TEST(governor, a_hint_for_a_request_that_is_refused_alone_holds_all_where_many_are_refused) {
  auto g = make({.first_alone = 0ns});
  auto now = duration(0s);
  auto const refused_thrice = submit(g, now);
  attempt_result const told{.what = outcome::throttle, .advice = {.retry_after = 5s}};
  for (int i = 0; i < 2; ++i, now += 5s) {
    ASSERT_EQ(send(g, now), refused_thrice);
    g.finish(at(now), refused_thrice, told, 0);
    for (int other = 0; other < 60; ++other) {
      auto const t = submit(g, now - 1ms);
      ASSERT_EQ(send(g, now + 5s), t);
      answer(g, now + 5s, t, other % 3 == 0 ? outcome::throttle : outcome::success);
      g.cancel(at(now + 5s), t);
    }
  }
  ASSERT_EQ(send(g, now), refused_thrice);
  EXPECT_EQ(g.finish(at(now), refused_thrice, told, 0).why, reason::refused_alone);
  EXPECT_EQ(g.held_until(), at(now + 5s));
}

TEST(governor, a_hint_for_a_bad_request_holds_no_other_though_many_are_bad) {
  auto g = make({.first_alone = 0ns});
  auto now = duration(0s);
  auto held = duration(0s);
  for (int n = 0; n < 60; ++n) {
    auto const bad = submit(g, now);
    for (int refusals = 0; refusals < 3; now += 10ms) {
      auto const next = g.next(at(now));
      if (!next && g.waiting() < 3) submit(g, now);
      if (!next) continue;
      g.start(at(now), *next, 0);
      if (*next != bad) {
        answer(g, now, *next, outcome::success);
        continue;
      }
      g.finish(at(now), bad, {.what = outcome::throttle, .advice = {.retry_after = 1s}}, 0);
      held = g.held_until() - at(now);
      ++refusals;
    }
    g.cancel(at(now), bad);
  }
  EXPECT_LE(held, 0ns) << "the third is of its own";
}

TEST(governor, a_request_waits_by_itself_only_while_others_are_accepted) {
  struct {
    char const* what;
    int accepted, refused;  // of others, between the second refusal and the third
    bool alone;
  } const rows[] = {
      {"nothing else was sent", 0, 0, false},
      {"others were refused, too", 0, 1, false},
      {"as many were refused as accepted", 1, 1, false},
      {"others were accepted", 1, 0, true},
      {"more were accepted than refused", 2, 1, true},
  };
  for (auto const& r : rows) {
    auto g = make();
    std::vector<ticket> others;
    auto const bad = submit(g, 0s);
    for (int i = 0; i < 2; ++i) send(g, 0s), answer(g, 0s, bad, outcome::throttle);
    for (int i = 0; i < r.accepted; ++i) accept_another(g, -1ms);
    for (int i = 0; i < r.refused; ++i) {
      submit(g, -1ms);
      auto const other = send(g, 0s);
      answer(g, 0s, other, outcome::throttle);
      g.cancel(at(0s), other);
    }
    ASSERT_EQ(send(g, 0s), bad);
    EXPECT_EQ(answer(g, 0s, bad, outcome::throttle).why == reason::refused_alone, r.alone)
        << r.what;
  }
}

void refuse(plain& g, duration now, ticket t, int times) {
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(send(g, now), t);
    EXPECT_EQ(answer(g, now, t, outcome::throttle).why, reason::none) << i;
  }
}

TEST(governor, a_request_refused_on_and_on_while_nothing_is_accepted_waits_by_itself) {
  auto g = make();
  accept_another(g, 0s);
  auto const bad = submit(g, 0s);
  refuse(g, 0s, bad, 9);
  auto now = duration(0s);
  for (auto const wait : {1000ms, 1700ms}) {
    ASSERT_EQ(send(g, now), bad);
    EXPECT_EQ(answer(g, now, bad, outcome::throttle),
              (decision{verdict::retry, reason::backoff, at(now + wait)}));
    EXPECT_EQ(g.next(at(now + wait - 1ns)), std::nullopt);
    now += wait;
  }
  accept_another(g, now - 1ms);
  auto const other = submit(g, now - 1ms);
  ASSERT_EQ(send(g, now), other);
  answer(g, now, other, outcome::throttle);
  g.cancel(at(now), other);
  refuse(g, now, bad, 9);  // a row that begins anew
}

TEST(governor, a_request_refused_on_and_on_waits_not_by_itself_beside_one_that_may_be_accepted) {
  auto g = make();
  accept_another(g, 0s);
  auto const bad = submit(g, 0s);
  refuse(g, 0s, bad, 9);
  ASSERT_EQ(send(g, 0s), bad);
  auto const other = submit(g, 0s);
  EXPECT_EQ(answer(g, 0s, bad, outcome::throttle).why, reason::none);
  EXPECT_EQ(send_all(g, 0s), (std::vector{other, bad}));
}

TEST(governor, before_anything_was_accepted_how_often_it_asks_is_the_laws_matter) {
  auto g = make();
  refuse(g, 0s, submit(g, 0s), 100);
}

TEST(governor, such_a_wait_is_a_minute_at_most) {
  auto g = make();
  accept_another(g, 0s);
  auto const bad = submit(g, 0s);
  auto now = duration(0s);
  duration wait{};
  for (int i = 0; i < 1000; ++i, now += wait) {
    ASSERT_EQ(send(g, now), bad);
    wait = answer(g, now, bad, outcome::throttle).until - at(now);
    ASSERT_LE(wait, 1min);
  }
  EXPECT_EQ(wait, 1min);
}

TEST(governor, parks_what_is_left_once_all_of_it_was_refused_for_longer_than_its_patience) {
  enum class another { none, waits, flies, was_refused_once, was_accepted };
  struct {
    char const* what;
    another is;
    bool parks;
  } const rows[] = {
      {"nothing else is left", another::none, true},
      {"another may be accepted", another::waits, false},
      {"another has no answer", another::flies, false},
      {"another was refused once", another::was_refused_once, false},
      {"another was accepted", another::was_accepted, false},
  };
  for (auto const& r : rows) {
    SCOPED_TRACE(r.what);
    auto g = make({.hint_max = 10s, .first_alone = 0ns});
    accept_another(g, 0s);
    auto const a = submit(g, 0s), b = submit(g, 0s);
    auto now = duration(1s);
    for (auto const t : {a, a, b, b, a}) {  // b aside
      ASSERT_EQ(send(g, now), t);
      answer(g, now, t, outcome::throttle);
      if (t == b) now = 1s + 1ns;
    }
    auto const other = r.is == another::none ? std::nullopt : std::optional(submit(g, 2s));
    if (other && r.is != another::waits) {
      send(g, 2s), send(g, 2s), send(g, 2s);
      for (auto const t : {a, b}) answer(g, 2s, t, outcome::throttle);
      if (r.is == another::was_refused_once) answer(g, 2s, *other, outcome::throttle);
      if (r.is == another::was_accepted) answer(g, 2s, *other, outcome::success);
    }
    EXPECT_EQ(g.parked(at(11s)), std::nullopt);
    if (!r.parks) {
      EXPECT_EQ(g.parked(at(1h)), std::nullopt);
      continue;
    }
    for (auto const& [t, ready] : {std::pair{b, at(1s)}, {a, at(1s + 1ns)}}) {
      EXPECT_EQ(g.parked(at(11s + 1ns)), (parked_request{t, ready, reason::refused_alone}));
      g.cancel(at(11s + 1ns), t);
    }
    EXPECT_EQ(g.parked(at(1h)), std::nullopt);
  }
}

TEST(governor, wakes_to_park_what_is_left) {
  auto g = make({.hint_max = 10s, .first_alone = 0ns});
  auto const bad = submit(g, 0s);
  refuse(g, 1s, bad, 2);
  g.hold(at(20s));
  EXPECT_EQ(g.wakeup(at(2s)), at(11s + 1ns));
  EXPECT_EQ(g.wakeup(at(12s)), at(20s)) << "its caller has the patience";
}

TEST(governor, sends_nothing_after_its_deadline) {
  auto g = make();
  auto const a = submit(g, 0s, {.deadline = at(1s)});
  auto const b = submit(g, 0s);
  EXPECT_EQ(g.next(at(1s)), a) << "at it is in time";
  EXPECT_EQ(g.expired(at(1s)), std::nullopt);
  EXPECT_EQ(g.wakeup(at(0s)), at(1ns));
  EXPECT_EQ(g.next(at(1s + 1ns)), std::nullopt);
  EXPECT_EQ(g.why(at(1s + 1ns)).why, reason::deadline);
  EXPECT_EQ(g.expired(at(1s + 1ns)), a);
  g.cancel(at(1s + 1ns), a);
  EXPECT_EQ(g.next(at(1s + 1ns)), b);
}

TEST(governor, a_cancelled_request_gives_its_permit_back_and_its_late_answer_teaches_nothing) {
  auto g = make({.first_alone = 0ns, .in_flight_max = 1});
  auto const a = submit(g, 0s), b = submit(g, 0s);
  send(g, 0s);
  EXPECT_EQ(g.why(at(1s)), (held_back{reason::quota, never}));
  g.cancel(at(1s), a);
  EXPECT_EQ(send(g, 1s), b);
  auto const before = g;
  EXPECT_EQ(answer(g, 2s, a, outcome::throttle, 1h), decision{});
  g.cancel(at(2s), a);
  EXPECT_EQ(g, before);
}

TEST(governor, the_shared_level_rises_with_throttles_and_falls_after_quiet_successes) {
  auto g =
      make({.first_alone = 0ns, .throttled = after_throttle::share_level, .quiet_successes = 2});
  std::string levels;
  for (char const c : std::string("ttssssstssss")) {
    submit(g, 0s);
    auto const t = send(g, 0s);
    answer(g, 0s, t, c == 't' ? outcome::throttle : outcome::success);
    levels += std::to_string(g.level());
  }
  EXPECT_EQ(levels, "122110011000");
}

TEST(governor, holds_what_was_said_elsewhere) {
  auto g = make();
  submit(g, 0s);
  g.hold(at(9s));
  g.hold(at(3s));
  EXPECT_EQ(g.why(at(5s)), (held_back{reason::server_hint, at(9s)}));
  EXPECT_EQ(g.wakeup(at(5s)), at(9s));
  EXPECT_EQ(g.next(at(9s) - 1ns), std::nullopt);
  EXPECT_NE(g.next(at(9s)), std::nullopt);
}

TEST(governor, its_ceilings_may_change) {
  auto g = make();
  for (int i = 0; i < 3; ++i) submit(g, 0s);
  g.limit(gcra::per(1, 1s), 100);
  send(g, 0s);
  EXPECT_EQ(g.why(at(0s)), (held_back{reason::quota, at(1s)}));
  g.limit(std::nullopt, 1);
  EXPECT_EQ(g.why(at(0s)), (held_back{reason::quota, never}));
  g.limit(std::nullopt, 2);
  EXPECT_NE(g.next(at(0s)), std::nullopt);
}

TEST(governor, every_reason_has_a_name) {
  std::string all;
  for (int i = 0; i <= static_cast<int>(reason::cancelled); ++i)
    all += std::string(to_string(static_cast<reason>(i))) + ", ";
  EXPECT_EQ(all,
            "none, server hint, first answer, pace, others, window, quota, backoff, "
            "this request refused alone, retry budget, queue, deadline, attempts, server broken, "
            "paused, cancelled, ");
}

TEST(governor_death, acting_out_of_turn_is_a_bug) {
  auto g = make();
  auto const a = submit(g, 0s), b = submit(g, 0s);
  EXPECT_DEATH(g.start(at(0s), b, 0), "headway: violated: next\\(now\\) == t");
  g.start(at(0s), a, 0);
  EXPECT_DEATH(g.start(at(0s), a, 0), "headway: violated");
}

}  // namespace
}  // namespace headway
