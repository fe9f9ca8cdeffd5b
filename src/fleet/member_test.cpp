#include "headway/fleet/member.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

namespace headway::fleet {
namespace {

constexpr time_point start(10s);

turn at(std::uint64_t number, duration after, std::uint64_t epoch = 0) {
  return {.number = number, .at = start + after, .epoch = epoch};
}

grant granted(std::uint64_t version, std::vector<turn> turns) {
  return {.version = version,
          .turns = std::move(turns),
          .permits = 100,
          .quick = true,
          .members = 4,
          .sharing = 4,
          .pace = 40};
}

/// A member that wants ten turns, and was heard at the start.
struct waiting : member {
  waiting() : member(3, {}) {
    refresh(start, 0, 10);
    speak(start);
  }
};

sample of(stamp const& s, int in_flight) {
  return {.sent = s, .in_flight = in_flight, .rtt = 10ms};
}

TEST(member, uses_each_turn_once_and_none_before_its_time) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms), at(2, 20ms)}), 1, false);
  EXPECT_EQ(m.ready_at(1), start + 10ms);
  EXPECT_FALSE(m.claim(start + 9ms, 1, 0));
  ASSERT_TRUE(m.claim(start + 10ms, 1, 0));
  EXPECT_EQ(m.take(start + 10ms, 1, 0).sends, 1);
  EXPECT_FALSE(m.claim(start + 11ms, 1, 0));
  m.hear(start + 12ms, granted(2, {at(1, 10ms), at(2, 20ms), at(3, 30ms)}), 1, false);
  EXPECT_FALSE(m.claim(start + 12ms, 1, 0));  // the state did not know that 1 was used
  ASSERT_TRUE(m.claim(start + 20ms, 1, 0));
  EXPECT_EQ(m.take(start + 20ms, 1, 0).sends, 2);
}

TEST(member, drops_a_turn_that_it_comes_too_late_for) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms), at(2, 50ms)}), 1, false);
  EXPECT_FALSE(m.claim(start + 36ms, 1, 0));
  EXPECT_TRUE(m.claim(start + 75ms, 1, 0));
}

// A caller asks again at once where a claim fails although a turn was promised.
bool promises(member const& m, time_point now, int out) {
  return m.ready_at(1) <= now && out < m.allowed();
}

TEST(member, promises_no_turn_that_it_lacks_a_permit_for_when_it_might_coast) {
  waiting m;
  auto g = granted(1, {at(1, 400ms)});
  g.permits = 0;
  m.hear(start, g, 1, false);
  auto const now = start + 410ms;
  m.refresh(now, 0, 10);
  ASSERT_TRUE(m.coasts(now));
  EXPECT_FALSE(m.claim(now, 1, 0));
  EXPECT_FALSE(promises(m, now, 0));
}

TEST(member, promises_no_turn_of_a_pace_that_is_next_to_nothing) {
  waiting m;
  auto g = granted(1, {});
  g.pace = 5e-324;
  m.hear(start, g, 1, false);
  auto const now = start + 10s;
  m.refresh(now, 0, 10);
  EXPECT_FALSE(m.claim(now, 1, 0));
  EXPECT_FALSE(promises(m, now, 0));
}

TEST(member, adopts_what_differs_also_from_an_engine_that_began_anew) {
  waiting m;
  m.hear(start, granted(10'000'000, {at(7, 10ms)}), 1, false);
  m.hear(start, granted(5, {at(8, 20ms)}), 1, false);
  EXPECT_EQ(m.ready_at(1), start + 20ms);
}

TEST(member, does_not_believe_turns_that_are_far_from_now) {
  waiting m;
  m.hear(start, granted(1, {at(1, -3s), at(2, 3s)}), 1, false);
  EXPECT_FALSE(m.claim(start + 3s, 1, 0) && m.take(start + 3s, 1, 0).sends == 2);
}

TEST(member, a_cut_elsewhere_drops_the_turns_of_its_epoch) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms, 4), at(2, 20ms, 5)}), 1, false);
  m.cut(start, 1, 4, time_point::min());
  EXPECT_EQ(m.ready_at(1), start + 20ms);
}

TEST(member, so_does_its_own_refusal) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms, 4), at(2, 11ms, 4), at(3, 50ms, 5)}), 1, false);
  ASSERT_TRUE(m.claim(start + 10ms, 1, 0));
  m.on_throttle(start + 12ms, of(m.take(start + 10ms, 1, 0), 1), resource::unknown, 0);
  EXPECT_FALSE(m.claim(start + 12ms, 1, 0));
  EXPECT_EQ(m.ready_at(1), start + 50ms);
}

TEST(member, a_hold_elsewhere_holds_it) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms)}), 1, false);
  m.cut(start, 1, 0, start + 5s);
  EXPECT_EQ(m.held_until(), start + 5s);
  m.hear(start, granted(2, {at(2, 10ms)}), 1, false);
  EXPECT_FALSE(m.claim(start + 20ms, 1, 0));
}

TEST(member, believes_a_hold_of_another_beyond_its_patience_and_for_a_day_at_most) {
  waiting m;  // its governor parks
  auto g = granted(1, {});
  g.held = start + 3h;
  m.hear(start, g, 1, false);
  EXPECT_EQ(m.held_until(), start + 3h);
  m.cut(start, 1, 0, start + 4h);
  EXPECT_EQ(m.held_until(), start + 4h);
  m.cut(start, 1, 0, start + 1000h);
  EXPECT_EQ(m.held_until(), start + 24h);
}

TEST(member, takes_no_turn_back_that_a_cut_has_dropped) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms, 4)}), 1, false);
  m.cut(start, 3, 4, time_point::min());
  m.hear(start, granted(2, {at(1, 10ms, 4), at(2, 20ms, 4)}), 1, false);
  m.hear(start, granted(3, {at(1, 10ms, 4), at(2, 20ms, 4)}), 1, false);
  EXPECT_FALSE(m.claim(start + 30ms, 1, 0));  // made before the refusal was heard
  m.hear(start, granted(4, {at(1, 10ms, 4), at(3, 20ms, 5)}), 1, false);
  EXPECT_TRUE(m.claim(start + 30ms, 1, 0));
}

TEST(member, hears_no_state_that_another_has_overtaken) {
  waiting m;
  m.hear(start, granted(2, {at(2, 20ms)}), 1, false);
  m.hear(start, granted(1, {at(1, 10ms)}), 1, false);
  EXPECT_EQ(m.ready_at(1), start + 20ms);
}

TEST(member, begins_anew_where_the_engine_did_at_an_earlier_time) {
  waiting m;
  m.hear(start, granted(20'000'000, {at(1000, 1ms)}), 1, false);
  ASSERT_TRUE(m.claim(start + 1ms, 1, 0));
  m.take(start + 1ms, 1, 0);
  m.hear(start + 2ms, granted(10'000'000, {at(7, 10ms)}), 1, false);
  EXPECT_EQ(m.ready_at(1), start + 10ms);
}

TEST(member, shows_the_law_of_all) {
  waiting m;
  auto g = granted(1, {});
  seek law;
  for (int i = 0; i < 40; ++i) law.on_success(start, {.rtt = 10ms}, 0);
  for (int i = 0; i < 40; ++i) law.on_failure(start, {.rtt = 10ms}, 0);
  g.law = law;
  m.hear(start, g, 1, false);
  EXPECT_EQ(m.law(), any_law{law});
  EXPECT_EQ(m.law().broken_since(), start);
  g = granted(2, {});  // of another build
  m.hear(start, g, 1, false);
  EXPECT_EQ(m.law(), any_law{law});
}

TEST(member, tells_a_retry_after_at_once) {
  waiting m;
  m.hear(start, granted(1, {at(1, 10ms, 9)}), 1, false);
  ASSERT_TRUE(m.claim(start + 10ms, 1, 0));
  auto const permit = m.take(start + 10ms, 1, 0);
  m.on_hint(start + 20ms, {.retry_after = 3s, .remaining = 5, .reset = 7s});
  m.on_throttle(start + 20ms, of(permit, 1), resource::rate, 0);
  EXPECT_LE(m.speaks_at(), start + 20ms);
  auto const r = m.speak(start + 20ms);
  EXPECT_EQ(r.held, start + 3020ms);
  EXPECT_EQ(r.refused, 9);
  ASSERT_EQ(r.events.size(), 2);
  EXPECT_EQ(r.events[1].what, event::kind::throttle);
  EXPECT_EQ(r.events[1].turn, 1);
  EXPECT_EQ(r.events[1].remaining, 5);
  EXPECT_EQ(r.events[1].reset, 7s);
}

/// A member of slots, with two requests out on its turns; it may have so many.
struct two_out : waiting {
  explicit two_out(std::int32_t permits, std::vector<turn> const& more) {
    auto g = granted(1, {at(1, 10ms), at(2, 10ms)});
    g.slots = true;
    std::ranges::copy(more, std::back_inserter(g.turns));
    hear(start, g, 1, false);
    for (int out = 0; out < 2; ++out)
      if (claim(start + 10ms, 1, 0)) take(start + 10ms, 1, 0);
    speak(start + 50ms);
    g.version = 2;
    g.permits = permits;
    hear(start + 51ms, g, 2, false);
  }
};

TEST(member, tells_at_once_of_a_permit_that_it_has_no_turn_for) {
  two_out m(2, {});
  EXPECT_FALSE(m.urgent());
  m.refresh(start + 80ms, 1, 8);
  EXPECT_EQ(m.speaks_at(), start + 80ms);
  m.speak(start + 80ms);
  EXPECT_TRUE(m.urgent());
  m.hear(start + 81ms, granted(2, {}), 3, false);
  m.refresh(start + 82ms, 0, 8);
  EXPECT_EQ(m.speaks_at(), start + 105ms);  // not after each answer
  m.speak(start + 105ms);
  EXPECT_TRUE(m.urgent());
}

TEST(member, tells_at_once_of_a_permit_that_it_had_above_its_share) {
  two_out m(1, {at(3, 20ms)});
  m.refresh(start + 80ms, 1, 8);
  m.speak(start + 80ms);
  EXPECT_TRUE(m.urgent());
}

TEST(member, keeps_its_tick_where_it_uses_a_permit_again_or_wants_no_turn) {
  for (int const waits : {8, 0}) {
    two_out m(2, waits > 0 ? std::vector{at(3, 20ms)} : std::vector<turn>{});
    auto const due = m.speaks_at();
    m.refresh(start + 80ms, 1, waits);
    EXPECT_EQ(m.speaks_at(), due);
  }
}

TEST(member, repeats_a_report_until_it_is_heard) {
  waiting m;
  auto const first = m.spoken();
  EXPECT_EQ(m.speaks_at(), start + 100ms);
  m.refresh(start + 200ms, 0, 5);
  EXPECT_EQ(m.speak(start + 300ms), first);
  m.hear(start + 301ms, granted(1, {}), 1, false);
  EXPECT_EQ(m.speak(start + 400ms).number, 2);
}

TEST(member, pays_for_a_request_that_cost_more_than_its_turn) {
  waiting m;
  m.hear(start, granted(1, {at(1, 1ms), at(2, 2ms), at(3, 3ms), at(4, 4ms)}), 1, false);
  ASSERT_TRUE(m.claim(start + 5ms, 3, 0));
  m.take(start + 5ms, 3, 0);
  ASSERT_TRUE(m.claim(start + 5ms, 1, 0));
  EXPECT_EQ(m.take(start + 5ms, 1, 0).sends, 4);
}

TEST(member, keeps_no_credit_of_turns_that_cost_more_than_its_requests) {
  waiting m;
  std::vector<turn> turns;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    turns.push_back(at(n, 1ms));
    turns.back().cost = n <= 100 ? 1000 : 10;
  }
  m.hear(start, granted(1, turns), 1, false);
  std::int64_t spent = 0;
  int requests = 0;
  for (; m.claim(start + 2ms, requests < 100 ? 1 : 1000, 0); ++requests) {
    if (requests >= 100) spent += 1000;
    m.take(start + 2ms, 1, 0);
    m.refresh(start + 2ms, 0, 10);
  }
  EXPECT_GT(requests, 100);
  EXPECT_LE(spent, 200 * 10 + 1000);
}

TEST(member, tells_how_many_answers_are_being_read) {
  waiting m;
  m.hear(start, granted(1, {at(1, 1ms), at(2, 2ms)}), 1, false);
  std::vector<stamp> sent;
  for (auto now = start + 1ms; now <= start + 2ms; now += 1ms) {
    ASSERT_TRUE(m.claim(now, 1, 0));
    sent.push_back(m.take(now, 1, 0));
    m.refresh(now, static_cast<int>(sent.size()), 5);
  }
  m.on_success(start + 10ms, of(sent[0], 2), 0);  // its head
  m.refresh(start + 10ms, 2, 5);
  auto second = of(sent[1], 2);
  second.heard = 1;
  m.on_success(start + 20ms, second, 0);  // its end
  m.refresh(start + 20ms, 1, 5);
  auto const& events = m.speak(start + 100ms).events;
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[3].what, event::kind::out);
  EXPECT_EQ(events[3].out, 2);
  EXPECT_EQ(events[3].heard, 1);
  EXPECT_EQ(events[5].out, 1);
  EXPECT_EQ(events[5].heard, 1);
}

TEST(member, that_is_not_answered_speaks_ever_more_rarely) {
  waiting m;
  int said = 0;
  for (auto now = start; now < start + 1min; now += 10ms)
    if (m.speaks_at() <= now) m.speak(now), ++said;
  EXPECT_LE(said, 65);
  EXPECT_GE(said, 55);
}

TEST(member, that_has_too_much_to_tell_says_that_it_was_lost) {
  waiting m;
  for (std::size_t i = 0; i <= events_max; ++i) m.refresh(start, static_cast<int>(i % 2 + 1), 5);
  m.hear(start, granted(1, {}), 1, false);
  auto const& r = m.speak(start + 100ms);
  EXPECT_TRUE(r.lost);
  EXPECT_EQ(r.events.size(), 1U);
  m.hear(start + 101ms, granted(2, {}), 2, false);
  EXPECT_FALSE(m.speak(start + 200ms).lost);
}

/// The number of requests that it sends from then on for so long, with nothing heard.
int coasted(member& m, time_point from, duration lasts) {
  int out = 0;
  for (auto now = from; now < from + lasts; now += 1ms) {
    m.refresh(now, 0, 10);
    if (m.ready_at(1) > now || !m.claim(now, 1, 0)) continue;  // as a governor asks
    EXPECT_EQ(m.take(now, 1, 0).sends, 0);
    ++out;
  }
  return out;
}

TEST(member, coasts_at_its_share_while_nothing_is_heard_and_half_of_that_after_a_minute) {
  waiting m;
  m.hear(start, granted(1, {}), 1, false);
  EXPECT_EQ(coasted(m, start, 310ms), 0);
  EXPECT_NEAR(coasted(m, start + 310ms, 10s), 100, 2);  // 40/s ÷ 4
  EXPECT_NEAR(coasted(m, start + 61s, 10s), 50, 2);
  EXPECT_GT(m.coasted(), 140);
}

TEST(member, tells_of_what_was_served_while_it_coasted_for_the_count) {
  waiting m;
  m.hear(start, granted(1, {}), 1, false);
  coasted(m, start, 500ms);
  m.speak(start + 500ms);
  m.hear(start + 500ms, granted(1, {}), m.spoken().number, false);
  m.on_success(start + 501ms, of({.sent = start + 400ms}, 1), 0);
  auto const& events = m.speak(start + 600ms).events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().what, event::kind::success);
  EXPECT_EQ(events.front().turn, 0U);
}

TEST(member, coasts_while_each_turn_comes_too_late) {
  waiting m;
  m.hear(start, granted(1, {}), 1, false);
  int went = 0;
  for (int n = 1; n <= 100; ++n) {  // news each 100 ms, of a turn that was due 50 ms ago
    auto const now = start + n * 100ms;
    auto const news = granted(static_cast<std::uint64_t>(n) + 1,
                              {{.number = static_cast<std::uint64_t>(n), .at = now - 50ms}});
    m.hear(now, news, 1, false);
    went += coasted(m, now, 100ms);
  }
  EXPECT_GT(went, 50);
}

TEST(member, half_of_its_share_is_left_after_a_refusal) {
  waiting m;
  m.hear(start, granted(1, {}), 1, false);
  coasted(m, start, 1s);
  m.on_throttle(start + 1s, of({.sent = start}, 1), resource::unknown, 0);
  EXPECT_NEAR(coasted(m, start + 1s, 10s), 50, 2);
  EXPECT_TRUE(m.speak(start + 11s).events.empty() || !m.spoken().refused);
}

TEST(member, does_not_coast_before_it_has_heard_anything_or_with_a_ceiling_of_its_caller) {
  waiting m;
  EXPECT_EQ(coasted(m, start, 5s), 0);
  member capped(3, {}, {.interval = 1s});
  capped.refresh(start, 0, 10);
  capped.speak(start);
  capped.hear(start, granted(1, {}), 1, false);
  EXPECT_EQ(coasted(capped, start, 5s), 0);
  EXPECT_EQ(capped.spoken().with.interval, 1s);
}

}  // namespace
}  // namespace headway::fleet
