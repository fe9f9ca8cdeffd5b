#include "headway/fleet/combine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "headway/fleet/blob.hpp"

namespace headway::fleet {
namespace {

constexpr time_point start(10s);

report told(member_id id, std::uint64_t number, time_point at, std::int32_t wants,
            std::vector<event> events = {}) {
  return {.from = id,
          .number = number,
          .at = at,
          .events = std::move(events),
          .wants = wants,
          .quick = true};
}

event sent(turn const& t, int out) {
  return {.what = event::kind::sent, .out = out, .turn = t.number, .at = t.at};
}

event answer(event::kind what, turn const& t, duration after, int out) {
  return {.what = what, .out = out, .turn = t.number, .at = t.at + after};
}

/// A fleet whose law knows 100/s and answers of 50 ms, and has met that limit.
state knowing() {
  state s;
  s.law.remember({.rate = 100, .latency = 0.05}, 0s);
  s.law.top.warm = false;
  return s;
}

/// The same, with 100 successes since the latest cut.
state succeeding() {
  auto s = knowing();
  s.law.last.since.successes = 100;
  s.law.last.at = start;
  return s;
}

state step(state const& s, std::vector<report> const& reports, time_point now) {
  return combine(s, reports, now);
}

std::vector<turn> turns_of(state const& s, member_id id) {
  return grant_of(s, id).turns;
}

std::int64_t unused(state const& s) {
  std::int64_t sum = 0;
  for (auto const& m : s.members) sum += std::ranges::count(m.planned, false, &turn::withdrawn);
  return sum;
}

TEST(combine, counts_what_went_while_a_member_coasted) {
  auto s = step(knowing(), {told(1, 1, start, 5)}, start);
  auto const before = s.law.so_far;
  s = step(s,
           {told(1, 2, start + 100ms, 5,
                 {{.what = event::kind::out, .out = 1, .at = start + 10ms},
                  {.what = event::kind::success, .out = 1, .at = start + 60ms, .cost = 3}})},
           start + 100ms);
  EXPECT_EQ(s.law.so_far.units, before.units + 3);
  EXPECT_EQ(s.law.so_far.successes, before.successes + 1);
  EXPECT_EQ(s.law.last.since.successes, 0);  // of its epoch
}

TEST(combine, deals_the_first_turn_after_a_cut_when_all_have_dropped_theirs) {
  state s;
  s.law.remember({.rate = 2000, .latency = 0.05}, 0s);  // its own pause is a millisecond
  s.law.top.warm = false;
  s.law.last.since.successes = 100;
  s = step(s, {told(1, 1, start, 5)}, start);
  auto const t = turns_of(s, 1).front();
  auto const refused = t.at + 20ms;
  s = step(s, {told(1, 2, refused, 5, {sent(t, 1), answer(event::kind::throttle, t, 20ms, 1)})},
           refused + 2ms);
  EXPECT_EQ(s.law.so_far.epoch, 1U);
  ASSERT_FALSE(turns_of(s, 1).empty());
  EXPECT_GE(turns_of(s, 1).front().at, refused + 12ms);
}

TEST(combine, counts_as_out_the_turns_of_members_that_have_not_reported_since) {
  auto s = succeeding();
  s = step(s, {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const one = turns_of(s, 1), other = turns_of(s, 2);
  auto const refused = one[2].at + 5ms;
  ASSERT_LT(other[1].at, one[2].at);
  ASSERT_GT(other[2].at, refused);
  s = step(s,
           {told(1, 2, refused, 97,
                 {sent(one[0], 1), sent(one[1], 2), sent(one[2], 3),
                  answer(event::kind::throttle, one[2], 5ms, 2)})},
           refused + 2ms);
  EXPECT_EQ(s.law.so_far.epoch, 1U);
  EXPECT_EQ(s.law.last.out, 5);
}

TEST(combine, counts_a_turn_that_was_used_after_it_was_taken_back) {
  auto s = succeeding();
  s = step(s, {told(1, 1, start, 5), told(2, 1, start, 5)}, start);
  auto const one = turns_of(s, 1), other = turns_of(s, 2);
  auto const refused = other[0].at + 5ms;
  s = step(
      s, {told(1, 2, refused, 5, {sent(one[0], 1), answer(event::kind::throttle, one[0], 5ms, 1)})},
      refused);
  ASSERT_EQ(s.law.so_far.epoch, 1U);
  auto const dealt = static_cast<double>(unused(s));
  EXPECT_EQ(s.law.server.accepted, dealt);
  s = step(s, {told(2, 2, refused + 1ms, 4, {sent(other[0], 1)})}, refused + 1ms);
  EXPECT_EQ(s.law.server.accepted, static_cast<double>(unused(s)) + 1);
}

TEST(combine, grows_by_no_answer_that_came_before_a_cut) {
  auto s = succeeding();
  s.law.level = 50;
  s = step(s, {told(1, 1, start, 5), told(2, 1, start, 5)}, start);
  auto const one = turns_of(s, 1), other = turns_of(s, 2);
  auto const refused = other[0].at + 60ms;
  s = step(s,
           {told(1, 2, refused, 5,
                 {sent(one[0], 1), answer(event::kind::throttle, one[0], refused - one[0].at, 1)})},
           refused);
  ASSERT_EQ(s.law.so_far.epoch, 1U);
  auto const level = s.law.level;
  auto const hear = [&](duration after) {
    return step(s,
                {told(2, 2, refused + 80ms, 4,
                      {sent(other[0], 1), answer(event::kind::success, other[0], after, 1)}),
                 told(1, 3, refused + 80ms, 4)},
                refused + 80ms);
  };
  EXPECT_EQ(hear(50ms).law.level, level);
  EXPECT_GT(hear(70ms).law.level, level);
}

TEST(combine, a_row_of_tests_of_chance_goes_at_once) {
  auto s = knowing();
  s.law.luck = {.share = 0.03, .answers = 128, .odds = 1 / chance::odds_max, .usual = 0.03};
  s = step(s, {told(1, 1, start, 20), told(2, 1, start, 20)}, start);
  auto const t = turns_of(s, 1).front();
  auto const refused = t.at + 20ms;
  s = step(s, {told(1, 2, refused, 20, {sent(t, 1), answer(event::kind::throttle, t, 20ms, 1)})},
           refused + 1ms);
  ASSERT_EQ(s.law.so_far.epoch, 0U);  // no cut
  EXPECT_TRUE(s.recalled);
  std::map<time_point, int> at;
  for (auto const& m : s.members)
    for (auto const& p : m.planned)
      if (!p.withdrawn) ++at[p.at];
  auto const row = std::ranges::max_element(at, {}, [](auto const& p) { return p.second; });
  EXPECT_EQ(row->second, chance::tests);
  EXPECT_LE(row->first, refused + 30ms);
}

TEST(combine, asks_by_rows_where_a_bucket_gets_back_less_than_half_of_one_meanwhile) {
  auto const asks = [](double rate, duration way) {
    state s;
    s.law.remember({.rate = rate, .latency = 0.05}, 0s);
    s = step(s, {told(1, 1, start, 5)}, start);
    auto r = told(1, 2, start + 100ms, 5);
    r.age = tick + way;
    s = step(step(s, {r}, start + 100ms), {}, start + 200ms);
    return s.law.with.chance;
  };
  EXPECT_TRUE(asks(380, 0ms));
  EXPECT_FALSE(asks(420, 0ms));
  EXPECT_TRUE(asks(125, 10ms));
  EXPECT_FALSE(asks(140, 10ms));
}

TEST(combine, takes_in_no_more_members_than_a_state_may_have) {
  std::vector<report> all;
  for (member_id id = 1; id <= static_cast<member_id>(members_max) + 5; ++id)
    all.push_back(told(id, 1, start, 0));
  auto const s = combine({}, all, start);
  EXPECT_EQ(s.members.size(), members_max);
  EXPECT_TRUE(read_state(to_blob(s)));
}

TEST(combine, deals_turns_a_quarter_second_ahead_to_one_member_after_the_other) {
  auto const s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const one = turns_of(s, 1), other = turns_of(s, 2);
  ASSERT_NEAR(static_cast<double>(one.size()), 12, 1);
  ASSERT_NEAR(static_cast<double>(other.size()), 12, 1);
  for (std::size_t i = 0; i + 1 < std::min(one.size(), other.size()); ++i) {
    EXPECT_LT(one[i].at, other[i].at);
    EXPECT_LT(other[i].at, one[i + 1].at);
    EXPECT_LE(one[i + 1].at - one[i].at, 21ms);
  }
  EXPECT_GT(one.front().at, start);
  EXPECT_LE(other.back().at, start + ahead);
}

TEST(combine, deals_no_member_more_than_it_wants) {
  auto const s = step(knowing(), {told(1, 1, start, 2), told(2, 1, start, 100)}, start);
  EXPECT_EQ(turns_of(s, 1).size(), 2);
  EXPECT_GT(turns_of(s, 2).size(), 15);
}

TEST(combine, lets_the_first_turn_of_all_go_alone) {
  auto s = step({}, {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  EXPECT_EQ(unused(s), 1);
  auto const dealt = s.dealt;
  s = step(s, {}, start + 100ms);
  EXPECT_EQ(s.dealt, dealt);
  s = step(s, {}, start + 250ms);
  EXPECT_GT(s.dealt, dealt);
}

TEST(combine, makes_each_version_later_than_the_one_before_also_where_the_clock_goes_back) {
  auto const s = step({}, {}, start);
  EXPECT_EQ(s.version, 10'000'000);
  EXPECT_EQ(step(s, {}, start - 5s).version, 10'000'001);
}

TEST(combine, hears_a_report_once) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto const t = turns_of(s, 1).front();
  auto const later =
      told(1, 2, start + 100ms, 100, {sent(t, 1), answer(event::kind::success, t, 50ms, 1)});
  s = step(s, {later}, start + 100ms);
  EXPECT_EQ(s.law.so_far.successes, 1);
  auto refused = told(1, 3, start + 150ms, 0);
  s = step(s, {refused, later}, start + 150ms);
  EXPECT_EQ(s.law.so_far.successes, 1);
  EXPECT_EQ(s.members[0].wants, 0);  // not that of the old report
  EXPECT_EQ(s.members[0].reported, start + 150ms);
}

TEST(combine, hears_answers_in_order_of_time_up_to_the_watermark) {
  auto s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const a = turns_of(s, 1).front(), b = turns_of(s, 2).front();
  s = step(s,
           {told(1, 2, start + 20ms, 9, {sent(a, 1)}), told(2, 2, start + 20ms, 9, {sent(b, 1)})},
           start + 20ms);
  s = step(s, {told(1, 3, start + 100ms, 9, {answer(event::kind::success, a, 80ms, 1)})},
           start + 100ms);
  EXPECT_EQ(s.law.so_far.successes, 0);  // what the other has heard until then is not known
  s = step(s, {told(2, 3, start + 120ms, 9, {answer(event::kind::success, b, 50ms, 1)})},
           start + 120ms);
  EXPECT_EQ(s.law.so_far.successes, 2);
  EXPECT_EQ(s.law.wait.answered, a.at + 80ms);  // the last in time, not the last told
}

TEST(combine, counts_what_all_members_have_out) {
  auto s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const a = turns_of(s, 1), b = turns_of(s, 2);
  s = step(s,
           {told(1, 2, start + 60ms, 9, {sent(a[0], 1), sent(a[1], 2)}),
            told(2, 2, start + 60ms, 9, {sent(b[0], 1)})},
           start + 60ms);
  ASSERT_EQ(s.flights.size(), 3);
  EXPECT_EQ(s.flights[0].out, 1);
  EXPECT_EQ(s.flights[1].out, 2);
  EXPECT_EQ(s.flights[2].out, 3);
}

TEST(combine, notes_the_successes_that_came_before_a_request_went) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto const a = turns_of(s, 1);
  s = step(s,
           {told(1, 2, start + 100ms, 9,
                 {sent(a[0], 1), answer(event::kind::success, a[0], 5ms, 1), sent(a[1], 1)})},
           start + 100ms);
  ASSERT_EQ(s.flights.size(), 1);
  EXPECT_EQ(s.flights[0].successes, 1);  // none had come when its turn was dealt
}

TEST(combine, one_that_leaves_the_ring_keeps_no_turn_that_it_has_no_permit_for) {
  auto s = knowing();
  s.law.remember({.rate = 40, .slots = 8, .latency = 0.2}, 0s);
  int left = 0;
  std::uint64_t number = 0;
  for (auto now = start; now < start + term_of_slots; now += 100ms) {
    ++number;
    std::vector<report> all;
    for (member_id id = 1; id <= 12; ++id) all.push_back(told(id, number, now, 100));
    auto const before = std::exchange(s, step(s, all, now));
    if (number == 1) continue;
    for (std::size_t i = 0; i < s.members.size(); ++i) {
      auto const &was = before.members[i], &is = s.members[i];
      auto const turns = std::ranges::count(is.planned, false, &turn::withdrawn);
      if (was.active && !is.active) {
        ++left;
        EXPECT_LE(turns, was.permits * 250 / 200) << is.id;
        EXPECT_LE(is.permits, turns) << is.id;
      }
      if (!was.active && is.active) {
        EXPECT_GT(turns, 0) << is.id;  // for when its permits are back
      }
    }
  }
  EXPECT_GE(left, 2);
}

TEST(combine, a_refusal_cuts_at_once_and_takes_back_what_has_not_gone) {
  auto s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const a = turns_of(s, 1), b = turns_of(s, 2);
  s = step(s, {told(2, 2, start + 20ms, 100, {sent(b[0], 1)})}, start + 20ms);
  auto const epoch = s.law.so_far.epoch;
  auto const level = s.law.level;
  s = step(s,
           {told(1, 2, start + 60ms, 100,
                 {sent(a[0], 1), sent(a[1], 2), answer(event::kind::throttle, a[0], 30ms, 2),
                  answer(event::kind::throttle, a[1], 30ms, 1)})},
           start + 60ms);
  EXPECT_EQ(s.law.so_far.epoch,
            epoch + 1);  // one cut for the flight, though the other is not heard
  EXPECT_LT(s.law.level, level);
  for (auto const id : {1, 2})
    for (auto const& t : turns_of(s, id)) {
      EXPECT_TRUE(t.epoch == epoch + 1 || t.at <= a[0].at + 30ms) << t.number;
    }
}

TEST(combine, deals_nothing_before_a_hold_ends) {
  auto s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto held = told(1, 2, start + 50ms, 100);
  held.held = start + 3s;
  s = step(s, {held}, start + 50ms);
  EXPECT_EQ(s.held, start + 3s);
  for (auto const id : {1, 2})
    for (auto const& t : turns_of(s, id)) EXPECT_LE(t.at, start + 50ms);
  auto const dealt = s.dealt;
  for (auto t = start + 100ms; t < start + 2700ms; t += 100ms)
    s = step(s, {told(2, 2 + static_cast<std::uint64_t>((t - start) / 100ms), t, 100)}, t);
  EXPECT_EQ(s.dealt, dealt);
  s = step(s, {told(2, 99, start + 2900ms, 100)}, start + 2900ms);
  EXPECT_GT(s.dealt, dealt);
  EXPECT_GE(turns_of(s, 2).front().at, start + 3s);
}

TEST(combine, what_remains_counts_for_all) {
  auto s = step(knowing(), {told(1, 1, start, 1), told(2, 1, start, 0)}, start);
  auto const t = turns_of(s, 1).front();
  auto told_what_remains = answer(event::kind::success, t, 10ms, 1);
  told_what_remains.remaining = 3;
  told_what_remains.reset = 10s;
  s = step(s,
           {told(1, 2, start + 50ms, 100, {sent(t, 1), told_what_remains}),
            told(2, 2, start + 50ms, 100)},
           start + 50ms);
  EXPECT_EQ(unused(s), 3);
  s = step(s, {told(1, 3, start + 9900ms, 100), told(2, 3, start + 9900ms, 100)}, start + 9900ms);
  s = step(s, {told(1, 4, start + 9990ms, 100), told(2, 4, start + 9990ms, 100)}, start + 9990ms);
  for (auto const id : {1, 2})
    for (auto const& each : turns_of(s, id))
      EXPECT_TRUE(each.number <= t.number + 6 || each.at >= start + 10s) << each.number;
  EXPECT_GT(s.dealt, t.number + 9);
}

TEST(combine, the_smallest_ceiling_is_that_of_all) {
  auto slow = told(1, 1, start, 100), slower = told(2, 1, start, 100);
  slow.with.interval = 50ms;
  slower.with.interval = 100ms;
  auto const s = step(knowing(), {slow, slower}, start);
  EXPECT_LE(unused(s), 3);
  EXPECT_GE(unused(s), 2);
}

TEST(combine, of_equal_ceilings_the_one_that_tolerates_less_is_that_of_all) {
  auto some = told(1, 1, start, 100), none = told(2, 1, start, 100);
  some.with = {.interval = 50ms, .tolerance = 1s};
  none.with = {.interval = 50ms};
  EXPECT_LE(unused(step(knowing(), {some, none}, start)), 6);
  EXPECT_LE(unused(step(knowing(), {none, some}, start)), 6);
}

TEST(combine, a_ceiling_leaves_with_its_member) {
  auto hourly = told(1, 1, start, 100);
  hourly.with = {.interval = 1h, .out_max = 1};
  auto s = step(knowing(), {hourly, told(2, 1, start, 100)}, start);
  EXPECT_EQ(s.out_max, 1);
  EXPECT_EQ(unused(s), 1);
  hourly.number = 2;
  hourly.leaves = true;
  s = step(s, {hourly, told(2, 2, start + 50ms, 100)}, start + 50ms);
  EXPECT_EQ(s.out_max, 0);
  EXPECT_FALSE(s.ceiling);
  EXPECT_GT(unused(s), 15);
}

TEST(combine, turns_that_a_new_ceiling_has_not_paid_for_do_not_go) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  EXPECT_GT(unused(s), 15);
  auto slow = told(2, 1, start + 20ms, 100);
  slow.with.interval = 100ms;
  s = step(s, {slow}, start + 20ms);
  EXPECT_LE(unused(s), 4);
}

TEST(combine, bears_a_ceiling_and_a_cut_in_one_step) {
  auto remembering = knowing();
  remembering.law.top.warm = true;
  auto s = step(remembering, {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const a = turns_of(s, 1);
  auto refused =
      told(1, 2, start + 60ms, 100, {sent(a[0], 1), answer(event::kind::throttle, a[0], 30ms, 1)});
  auto capped = told(2, 2, start + 60ms, 100);
  capped.with.interval = 20ms;
  auto const epoch = s.law.so_far.epoch;
  s = step(s, {refused, capped}, start + 60ms);
  EXPECT_EQ(s.law.so_far.epoch, epoch + 1);
  std::set<std::uint64_t> dealt;
  for (std::uint64_t n = 3; n < 23; ++n) {
    auto const now = start + n * 100ms;
    capped.number = n;
    capped.at = now;
    s = step(s, {told(1, n, now, 100), capped}, now);
    for (auto const id : {1, 2})
      for (auto const& t : turns_of(s, id)) dealt.insert(t.number);
  }
  EXPECT_GT(dealt.size(), 30U);
  EXPECT_LT(dealt.size(), 130U);
}

TEST(combine, bears_a_ceiling_that_no_request_conforms_to) {
  auto dear = told(1, 1, start, 100);
  dear.cost = cost_max;
  dear.with.interval = duration::max() / 2;
  auto s = step(knowing(), {dear}, start);
  auto held = told(1, 2, start + 10ms, 100);
  held.with = dear.with;
  held.cost = cost_max;
  held.held = start + 1s;  // takes all back
  s = step(s, {held}, start + 10ms);
  ASSERT_TRUE(s.ceiling);
  EXPECT_GE(s.ceiling->tat, start);
}

TEST(combine, opens_no_window_for_heads_that_cannot_have_come) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto const t = turns_of(s, 1).front();
  auto damaged = answer(event::kind::success, t, 20ms, 1);
  damaged.heard = 1'000'000'000;
  s = step(s, {told(1, 2, start + 50ms, 100, {sent(t, 1), damaged})}, start + 50ms);
  EXPECT_EQ(s.law.wait.heard, 1);
  EXPECT_LT(s.law.allowed(), 100);
}

TEST(combine, judges_latency_anew_where_events_were_lost_and_forgets_what_flew) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto const t = turns_of(s, 1);
  s = step(s,
           {told(1, 2, start + 50ms, 100,
                 {sent(t[0], 1), sent(t[1], 2), answer(event::kind::success, t[0], 20ms, 2)})},
           start + 50ms);
  EXPECT_EQ(s.law.wait.answers, 1);
  EXPECT_EQ(s.flights.size(), 1U);
  auto lost = told(1, 3, start + 100ms, 100);
  lost.lost = true;
  s = step(s, {lost}, start + 100ms);
  EXPECT_EQ(s.law.wait.answers, 0);
  EXPECT_TRUE(s.flights.empty());
}

TEST(combine, hears_a_report_of_long_ago_once) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto old = told(2, 1, start, 100, {{.what = event::kind::out, .out = 1, .at = start}});
  auto const now = start + 20min;
  s = step(s, {told(1, 2, now, 100), old}, now);
  ASSERT_EQ(s.members.size(), 2U);  // so that the board drops it
  EXPECT_EQ(s.members[1].heard, 1U);
  EXPECT_FALSE(s.members[1].live);
}

TEST(combine, of_a_state_made_in_the_future_believes_only_what_was_learned) {
  auto s = step(knowing(), {told(1, 1, start + 1h, 100)}, start + 1h);
  s.law.turn.next = start + 2h;
  auto const version = s.version;
  auto const last = s.dealt;
  s = step(s, {told(1, 2, start, 100)}, start);
  EXPECT_GT(s.version, version);
  EXPECT_EQ(s.law.knows().rate, 100);
  ASSERT_FALSE(turns_of(s, 1).empty());
  EXPECT_GT(turns_of(s, 1).front().number, last);
  EXPECT_LT(turns_of(s, 1).front().at, start + 250ms);
}

/// A fleet that knew 2,000/s, met no refusal, and has one member, which leaves.
state deserted(time_point at) {
  state s;
  s.law.remember({.rate = 2000, .latency = 0.005}, 0s);
  s.law.top.warm = false;
  s.law.so_far = {.epoch = 3, .successes = 5000, .units = 5000};
  s = step(s, {told(1, 1, at, 1)}, at);
  auto goes = told(1, 2, at + 100ms, 0);
  goes.leaves = true;
  return step(s, {goes}, at + 100ms);
}

TEST(combine, after_all_have_gone_begins_with_a_memory) {
  auto const later = start + 45s;
  auto s = step(deserted(start), {told(2, 1, later, 1000)}, later);
  EXPECT_TRUE(s.law.top.warm);
  EXPECT_EQ(s.law.knows().rate, 2000);
  auto const t = turns_of(s, 2);
  ASSERT_FALSE(t.empty());
  EXPECT_LE(t.size(), 8U);  // until the first answer is heard
  auto const refused = t[0].at + 5ms;
  s = step(s,
           {told(2, 2, refused, 999, {sent(t[0], 1), answer(event::kind::throttle, t[0], 5ms, 0)})},
           refused + 1ms);
  EXPECT_EQ(s.law.top.at, 0);  // dropped at the first sign
  EXPECT_LE(s.law.pace(), 20);
}

TEST(combine, a_memory_that_proves_true_is_dealt_ever_more_turns) {
  auto now = start + 45s;
  auto s = step(deserted(start), {told(2, 1, now, 1000)}, now);
  std::size_t dealt = 0, before = 0;
  for (std::uint64_t n = 2; n < 8; ++n) {
    auto const t = turns_of(s, 2);
    dealt = t.size();
    EXPECT_GT(dealt, before);
    before = std::min<std::size_t>(dealt, 400);
    now = t.back().at + 10ms;
    std::vector<event> all;
    for (auto const& one : t) {
      all.push_back(sent(one, 1));
      all.push_back(answer(event::kind::success, one, 100us, 0));
    }
    s = step(s, {told(2, n, now, 1000, std::move(all))}, now);
  }
  EXPECT_GE(dealt, 400U);  // a quarter second of 2,000/s
}

TEST(combine, of_members_that_were_killed_keeps_a_memory) {
  auto s = step(knowing(), {told(1, 1, start, 5)}, start);
  s.law.top.warm = false;
  s = step(s, {told(2, 1, start + 45s, 5)}, start + 45s);
  EXPECT_TRUE(s.law.top.warm);
  EXPECT_TRUE(std::ranges::none_of(s.members, [](auto const& m) { return m.id == 1 && m.live; }));
}

TEST(combine, an_outage_of_the_board_is_no_end_of_its_members) {
  auto s = step(knowing(), {told(1, 1, start, 5)}, start);
  s.law.top.warm = false;
  s = step(s, {told(1, 2, start + 45s, 5)}, start + 45s);
  EXPECT_FALSE(s.law.top.warm);
}

TEST(combine, numbers_turns_on_where_the_state_was_lost) {
  auto const s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto const anew = step(knowing(), {told(1, 2, start + 1s, 100)}, start + 1s);
  EXPECT_GT(turns_of(anew, 1).front().number, s.dealt);
}

TEST(combine, the_answer_to_the_latest_request_says_what_remains) {
  auto s = step(knowing(), {told(1, 1, start, 2)}, start);
  auto const t = turns_of(s, 1);
  auto early = answer(event::kind::success, t[0], 40ms, 2);  // comes last
  early.remaining = 9;
  auto late = answer(event::kind::success, t[1], 10ms, 2);
  late.remaining = 8;
  early.reset = late.reset = 1h;
  s = step(s, {told(1, 2, start + 60ms, 100, {sent(t[0], 1), sent(t[1], 2), late, early})},
           start + 60ms);
  EXPECT_EQ(unused(s), 8);
}

TEST(combine, a_silent_member_has_nothing_out_and_teaches_nothing) {
  auto s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const a = turns_of(s, 1).front(), b = turns_of(s, 2)[4];
  s = step(s, {told(1, 2, start + 50ms, 100, {sent(a, 1)}), told(2, 2, start + 50ms, 9)},
           start + 50ms);
  EXPECT_EQ(s.members[0].out, 1);
  std::uint64_t dealt = 0;
  for (auto after = 100ms; after <= 1100ms; after += 100ms) {
    std::vector<event> events;
    if (after == 200ms) events = {sent(b, 1), answer(event::kind::success, b, 50ms, 1)};
    s = step(s, {told(2, 2 + static_cast<std::uint64_t>(after / 100ms), start + after, 9, events)},
             start + after);
    EXPECT_EQ(s.members[0].live, after < 1100ms);
    auto const last = turns_of(s, 1).empty() ? 0 : turns_of(s, 1).back().number;
    if (after <= 400ms) {
      EXPECT_GE(last, dealt);
      dealt = last;
    } else if (after < 1100ms) {
      EXPECT_EQ(last, dealt);  // it may be dead, …
    }
    EXPECT_EQ(s.law.so_far.successes, after < 500ms ? 0 : 1);  // … and is waited for no more
  }
  EXPECT_EQ(s.members[0].out, 0);
  EXPECT_TRUE(turns_of(s, 1).empty());
  s = step(s, {told(1, 3, start + 2s, 9, {answer(event::kind::success, a, 1900ms, 1)})},
           start + 2s);
  EXPECT_TRUE(s.members[0].live);
  EXPECT_EQ(s.law.so_far.successes, 1);
}

TEST(combine, members_that_the_board_could_not_hear_are_not_dead) {
  auto s = step(knowing(), {told(1, 1, start, 100), told(2, 1, start, 100)}, start);
  auto const back = start + 10s;
  s = step(s, {told(1, 2, back, 100)}, back);
  EXPECT_NEAR(static_cast<double>(turns_of(s, 1).size()), 12, 1);  // not those of both
  EXPECT_NEAR(static_cast<double>(turns_of(s, 2).size()), 12, 1);
  for (auto after = 100ms; after <= 1100ms; after += 100ms)
    s = step(s, {told(1, 2 + static_cast<std::uint64_t>(after / 100ms), back + after, 100)},
             back + after);
  EXPECT_FALSE(s.members[1].live);
  EXPECT_NEAR(static_cast<double>(turns_of(s, 1).size()), 25, 2);
}

TEST(combine, a_member_that_leaves_is_dealt_nothing) {
  auto s = step(knowing(), {told(1, 1, start, 100)}, start);
  auto leaving = told(1, 2, start + 50ms, 100);
  leaving.leaves = true;
  s = step(s, {leaving}, start + 50ms);
  EXPECT_TRUE(turns_of(s, 1).empty());
  EXPECT_EQ(grant_of(s, 2).members, 0);
}

TEST(combine, shares_slots_as_permits) {
  auto before = knowing();
  before.law.remember({.rate = 100, .slots = 10, .latency = 0.1}, 0s);
  std::vector<report> all;
  for (member_id id = 1; id <= 4; ++id) all.push_back(told(id, 1, start, 100));
  auto s = step(before, all, start);
  int permits = 0;
  for (auto const& m : s.members) permits += m.permits;
  EXPECT_EQ(permits, static_cast<int>(s.law.allowed()));
  EXPECT_TRUE(grant_of(s, 1).slots);
  for (member_id id = 5; id <= 40; ++id) all.push_back(told(id, 1, start, 100));
  s = step(before, all, start);  // fewer permits than members
  permits = 0;
  for (auto const& m : s.members) permits += m.permits;
  EXPECT_EQ(permits, static_cast<int>(s.law.allowed()));
}

TEST(combine, deals_turns_by_permits_and_lets_the_odd_one_go_round) {
  auto before = knowing();
  before.law.remember({.rate = 100, .slots = 10, .latency = 0.1}, 0s);
  auto const permits = [](state const& s) {
    std::vector<int> all;
    for (auto const& m : s.members) all.push_back(m.permits);
    return all;
  };
  auto s = before;
  std::set<member_id> had_one_more;
  auto const moves = start + 4s;
  for (auto now = start; now < moves; now += 100ms) {
    std::vector<report> all;
    for (member_id id = 1; id <= 4; ++id)
      all.push_back(told(id, static_cast<std::uint64_t>(1 + (now - start) / 100ms), now, 100));
    s = step(s, all, now);
    auto const has = permits(s);
    ASSERT_LE(std::accumulate(has.begin(), has.end(), 0), 9);  // and not 10, while one moves
    ASSERT_EQ(std::ranges::min(has), 2);
    if (std::ranges::count(has, 3) == 0) continue;
    auto const most = static_cast<member_id>(std::ranges::find(has, 3) - has.begin() + 1);
    had_one_more.insert(most);
    if (now > start) continue;
    for (member_id id = 1; id <= 4; ++id)
      EXPECT_NEAR(static_cast<double>(turns_of(s, id).size()), id == most ? 8 : 5, 1);
  }
  EXPECT_EQ(had_one_more.size(), 4);
}

TEST(combine, deals_each_of_many_members_turns_within_two_terms_of_its_ring) {
  constexpr int members = 100;
  auto s = knowing();
  std::set<member_id> served;
  std::uint64_t number = 0;
  for (auto now = start; now < start + 2 * members / 16 * term_of_ring; now += 100ms) {
    ++number;
    std::vector<report> all;
    for (member_id id = 1; id <= members; ++id) {
      auto r = told(id, number, now, 5);
      auto const* const was = id <= static_cast<int>(s.members.size())
                                  ? &s.members[static_cast<std::size_t>(id - 1)]
                                  : nullptr;
      if (was != nullptr)
        for (auto const& t : was->planned)
          if (t.at <= now)
            r.events.push_back(sent(t, 1)),
                r.events.push_back(answer(event::kind::success, t, 1us, 1));
      std::ranges::stable_sort(r.events, {}, &event::at);
      all.push_back(r);
    }
    s = step(s, all, now);
    auto active = 0;
    for (auto const& m : s.members) {
      active += m.active;
      if (!m.planned.empty()) served.insert(m.id);
    }
    ASSERT_LE(active, 17);
  }
  EXPECT_EQ(served.size(), members);
}

TEST(combine, wakes_members_that_would_not_hear_of_a_turn_in_time) {
  auto const before = knowing();
  auto const s = step(before, {told(1, 1, start, 1), told(2, 1, start, 0)}, start);
  EXPECT_EQ(to_wake(s, before, start), std::vector<member_id>{1});
}

TEST(combine, wakes_a_member_that_a_permit_has_come_to) {
  auto before = knowing();
  before.law.remember({.rate = 100, .slots = 10, .latency = 0.1}, 0s);
  std::vector<report> all;
  for (member_id id = 1; id <= 4; ++id) all.push_back(told(id, 1, start, 100));
  auto const s = step(before, all, start);
  auto fewer = s;
  --fewer.members[2].permits;
  EXPECT_EQ(to_wake(s, fewer, start), std::vector<member_id>{3});
  EXPECT_EQ(to_wake(s, s, start), std::vector<member_id>{});
}

TEST(combine, bears_any_report) {
  rng draw(7);
  state s;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<report> all;
    for (auto n = draw() % 4; n > 0; --n) {
      report r{.from = static_cast<member_id>(draw() % 50),
               .number = draw() % 1000,
               .at = time_point(duration(static_cast<std::int64_t>(draw()) / 3)),
               .wants = static_cast<std::int32_t>(draw()),
               .cost = static_cast<std::int64_t>(draw()),
               .quick = draw() % 2 == 0,
               .leaves = draw() % 8 == 0,
               .held = draw() % 9 == 0 ? never : time_point::min(),
               .lost = draw() % 9 == 0,
               .with = {.interval = duration(static_cast<std::int64_t>(draw() % 5)),
                        .tolerance = duration(static_cast<std::int64_t>(draw())),
                        .out_max = static_cast<std::int32_t>(draw())}};
      for (auto e = draw() % 5; e > 0; --e)
        r.events.push_back({.what = static_cast<event::kind>(draw() % 6),
                            .out = static_cast<std::int32_t>(draw()),
                            .heard = static_cast<std::int32_t>(draw()),
                            .turn = draw() % (s.dealt + 2),
                            .at = start + duration(static_cast<std::int64_t>(draw()) >> 20),
                            .cost = static_cast<std::int64_t>(draw()),
                            .remaining = static_cast<std::int64_t>(draw()),
                            .reset = duration(static_cast<std::int64_t>(draw()))});
      all.push_back(r);
    }
    auto const was = s.version;
    auto const now = start + i * 10ms;
    s = combine(std::move(s), all, now);
    ASSERT_GT(s.version, was);
    ASSERT_LE(s.pending.size(), events_max);
    ASSERT_LE(s.held, now + 25h);
    ASSERT_LE(unused(s), 40'000);
  }
}

}  // namespace
}  // namespace headway::fleet
