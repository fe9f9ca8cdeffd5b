#include "headway/law/latency.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace headway {
namespace {

using load = latency::load;

/// Answers at 100/s, each after `rtt`; the verdict of the latest block.
struct server {
  time_point now{10s};
  latency l{};

  load answer(duration rtt, latency::sending const& how = {.pace = 100}, int in_flight = 10) {
    now += 10ms;
    if (l.mean == 0) l.mean = to_seconds(rtt);
    return l.judge(now, {.sent = {.sent = now - rtt}, .in_flight = in_flight, .rtt = rtt},
                   [&] { return how; });
  }
  load block(duration rtt, latency::sending const& how = {.pace = 100}, int in_flight = 10) {
    auto told = load::unknown;
    for (int i = 0; i < latency::block_answers && told == load::unknown; ++i)
      told = answer(rtt, how, in_flight);
    return told;
  }
};

TEST(latency, that_stays_as_it_is_tells_nothing) {
  server s;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(s.block(50ms), load::unknown);
  EXPECT_DOUBLE_EQ(s.l.base, 0.05);
}

// A hundred requests went at 20/s, to a server that works on one at a time, a second each.
TEST(latency, of_first_answers_that_come_ever_later_in_order_leaves_room_for_what_is_delivered) {
  struct row {
    char const* what;
    int answers;
    duration apart, took;       // of the answers
    std::uint64_t of_each = 1;  // so many sends, one is answered
    double base = 0, room = 2048;
    bool fast_first = false;
  };
  row const rows[] = {
      {.what = "two", .answers = 2, .apart = 1s, .took = 950ms},
      {.what = "three", .answers = 3, .apart = 1s, .took = 950ms},
      {.what = "four",
       .answers = 4,
       .apart = 1s,
       .took = 950ms,
       .room = 1.75 * 3 * 1.95 / 2.05 + 8},
      {.what = "a fast one first", .answers = 9, .apart = 50ms, .took = 0ms, .fast_first = true},
      {.what = "nine",
       .answers = 9,
       .apart = 1s,
       .took = 950ms,
       .room = 1.75 * 8 * 1.95 / 7.05 + 8},
      {.what = "as they went", .answers = 9, .apart = 50ms, .took = 0ms},
      {.what = "late, and overtaken", .answers = 9, .apart = 1s, .took = 950ms, .of_each = 3},
      {.what = "not the first block", .answers = 9, .apart = 1s, .took = 950ms, .base = 1},
  };
  for (auto const& r : rows) {
    latency l;
    l.start(time_point{10s});
    l.base = r.base;
    for (int i = 0; i < r.answers; ++i) {
      l.answers = i;
      sample const s{.sent = {.sends = static_cast<std::uint64_t>(i) * r.of_each},
                     .rtt = r.fast_first && i == 0 ? 40ms : 1s + i * r.took};
      l.hold_room(time_point{11s} + i * r.apart, s);
    }
    EXPECT_DOUBLE_EQ(l.room, r.room) << r.what;
  }
}

// Answers of .5 to 20 s, of a server without a limit, had a few permits more each second.
TEST(latency, answers_that_overtake_others_are_no_queues_and_leave_more_room) {
  latency l;
  l.start(time_point{10s});
  l.room = 40;
  auto const takes = [&](std::uint64_t sends, int out) {
    l.hold_room(time_point{11s}, {.sent = {.sends = sends}, .in_flight = out, .rtt = 1s});
    ++l.answers;
    return l.room;
  };
  takes(10, 40);
  EXPECT_EQ(takes(5, 40), 40);  // of two it is not known
  EXPECT_EQ(takes(8, 40), 42);
  EXPECT_EQ(takes(2, 39), 42);  // there is room
  EXPECT_EQ(takes(7, 40), 44);
  for (int i = 5; i < 10; ++i) takes(static_cast<std::uint64_t>(i), 0);
  EXPECT_EQ(takes(11, 44), 44);  // in order, by and large
}

TEST(latency, that_doubles_in_two_blocks_is_a_queue) {
  server s;
  s.block(50ms);
  s.block(50ms);
  EXPECT_EQ(s.block(100ms), load::unknown);
  EXPECT_EQ(s.block(100ms), load::queued);
}

// Behind a queue of 100/s ten fly where each takes 100 ms; once nothing goes the slow ones are
// left.
TEST(latency, that_doubles_where_fewer_fly_than_that_explains_is_no_queue) {
  for (auto const& [fly, told] : {std::pair{6, load::queued}, {5, load::unknown}}) {
    server s;
    s.block(50ms);
    s.block(50ms);
    s.block(100ms, {.pace = 100}, fly);
    EXPECT_EQ(s.block(100ms, {.pace = 100}, fly), told) << fly;
  }
}

TEST(latency, that_doubles_where_a_caller_with_no_more_in_flight_is_the_bottleneck_is_no_queue) {
  struct {
    bool app_limited;
    int before, fly;  // when the latest answer was sent, and now
    load told;
  } const cases[] = {
      {true, 10, 10, load::unknown}, {true, 9, 10, load::queued}, {false, 10, 10, load::queued}};
  for (auto const& [app_limited, before, fly, told] : cases) {
    server s;
    s.block(50ms);
    s.block(50ms);
    auto is = load::unknown;
    for (int i = 0; i < 2 * latency::block_answers; ++i) {
      s.now += 10ms;
      is = s.l.judge(s.now,
                     {.sent = {.sent = s.now - 100ms, .in_flight = before},
                      .in_flight = fly,
                      .rtt = 100ms,
                      .app_limited = app_limited},
                     [] { return latency::sending{.pace = 100}; });
    }
    EXPECT_EQ(is, told) << app_limited << ' ' << before;
  }
}

TEST(latency, one_slow_answer_of_a_block_tells_nothing) {
  server s;
  s.block(50ms);
  for (int i = 0; i < 10; ++i) {
    s.answer(10s);
    EXPECT_EQ(s.block(50ms), load::unknown);
  }
}

TEST(latency, that_falls_after_a_pause_was_our_own_queue) {
  server s;
  s.block(50ms);
  s.block(50ms);
  EXPECT_EQ(s.l.drain(s.now, 0.1, 100, 100), 25);
  EXPECT_TRUE(s.l.draining());
  EXPECT_EQ(s.block(50ms), load::ours);
  EXPECT_FALSE(s.l.draining());
}

// A queue of 64, that was thought to take 16 s, is gone in 1.2 s: 50 a second are delivered.
TEST(latency, a_pause_is_over_once_our_queue_is_gone_and_tells_what_is_delivered) {
  latency l{.mean = 1, .base = 0.1, .delivered = 4, .answered = time_point{10s}};
  time_point now{10s};
  l.drain(now, 12.1, 4, 4);
  auto const until = l.block;
  auto const hear = [&](int out) {
    auto const how = [] { return latency::sending{.pace = 1}; };
    return l.judge(now += 20ms, {.sent = {.sent = time_point{9s}}, .in_flight = out}, how);
  };
  for (int out = 64; out > 5; --out) EXPECT_EQ(hear(out), load::unknown);
  EXPECT_EQ(l.block, until);
  EXPECT_EQ(l.delivered, 4);
  EXPECT_EQ(hear(5), load::gone);
  EXPECT_EQ(l.block, now);
  EXPECT_NEAR(l.delivered, 50, 1e-9);
  EXPECT_EQ(l.drains.resume, 4);
  EXPECT_EQ(hear(1), load::unknown);
  EXPECT_NEAR(l.delivered, 50, 1e-9) << "it was gone before";
}

TEST(latency, what_comes_at_once_after_a_silence_delivers_no_more_than_its_time_explains) {
  latency l{.mean = 2, .base = 0.1, .delivered = 4, .answered = time_point{10s}};
  l.drain(time_point{10s}, 5, 4, 4);
  sample const s{.sent = {.sent = time_point{9s}}, .in_flight = 1};
  for (int i = 0; i < 20; ++i)
    l.judge(time_point{10s} + 1ms, s, [] { return latency::sending{.pace = 1}; });
  EXPECT_EQ(l.delivered, 4);
}

/// Answers of a first block, each of which went 20 ms after the one before and comes 100 ms after
/// it; `out` are on their way.
struct first_block {
  time_point now{10s};
  latency l{.mean = 0.2};
  int sent = 0;

  load answer(duration rtt, int out, bool fails = false) {
    if (sent == 0) l.start(now);
    sample const s{.sent = {.sent = now - rtt, .sends = static_cast<std::uint64_t>(sent++)},
                   .in_flight = out,
                   .rtt = rtt};
    now += 100ms;
    if (fails) return l.fail(s), load::unknown;
    l.hold_room(now, s);
    return l.judge(now, s, [] { return latency::sending{.pace = 50, .ramps = true}; });
  }
  load all(int late, int out, int failed = 0) {
    auto told = load::unknown;
    for (int i = 0; i < latency::block_answers; ++i) {
      auto const from_end = latency::block_answers - 1 - i;
      told = answer(from_end < late ? 100ms + 80ms * i : 100ms, out,
                    from_end > 0 && from_end <= failed);
    }
    return told;
  }
};

TEST(latency, a_first_block_of_which_most_queue_is_full_and_others_are_not) {
  constexpr auto half = latency::block_answers / 2;
  EXPECT_EQ(first_block().all(half, 40), load::full);
  EXPECT_EQ(first_block().all(half - 1, 40), load::unknown) << "most came as the first did";
  EXPECT_EQ(first_block().all(half, 9), load::unknown) << "no more is out than is delivered";
  EXPECT_EQ(first_block().all(half, 40, 6), load::full) << "failures come late, too";
}

// The first block tells of a queue by few answers; servers whose answers differ do so, too.
TEST(latency, what_queued_at_first_is_ours_only_if_not_one_slow_answer_is_left) {
  for (auto const& [slowest, told] : {std::pair{300ms, load::ours}, {1900ms, load::slower}}) {
    first_block b;
    b.all(latency::block_answers - 2, 40);
    b.l.mean = 1.5;
    EXPECT_EQ(b.l.drain(b.now, 4, 10, 10), 2.5);
    EXPECT_EQ(b.l.drains.risen, 1.5) << "most of that is not known to be waiting";
    b.now = b.l.block + 3s;
    auto found = load::unknown;
    for (int i = 0; i < 8; ++i) found = b.answer(i == 3 ? slowest : 100ms, 1);
    EXPECT_EQ(found, told);
  }
}

TEST(latency, that_stays_after_a_pause_is_the_servers_and_the_new_normal) {
  server s;
  s.block(50ms);
  s.block(50ms);
  s.l.drain(s.now, 0.1, 100, 100);
  EXPECT_EQ(s.block(100ms), load::slower);
  EXPECT_DOUBLE_EQ(s.l.base, 0.1);
  EXPECT_EQ(s.block(100ms), load::unknown);
}

TEST(latency, a_pause_is_judged_by_what_was_sent_after_it_only) {
  server s;
  s.block(50ms);
  s.block(50ms);
  s.l.drain(s.now, 0.1, 100, 100);
  auto const until = s.l.block;
  while (s.now + 10ms - 50ms < until) EXPECT_EQ(s.answer(50ms), load::unknown);
  EXPECT_EQ(s.l.answers, 0);
}

TEST(latency, a_ramp_that_has_many_out_and_delivers_no_more_is_full) {
  latency::sending const ramp{.pace = 400, .seconds = 10, .ramps = true};
  server s;
  s.block(50ms, ramp);
  s.block(50ms, ramp);
  EXPECT_EQ(s.block(50ms, ramp, 100), load::full);
}

TEST(latency, a_ramp_that_is_dealt_ahead_has_as_many_out_as_its_pace_says) {
  latency::sending const ramp{.pace = 400, .seconds = 10, .ramps = true};
  auto ahead = ramp;
  ahead.ahead = true;
  struct {
    latency::sending how;
    int in_flight;  // 100/s are delivered, each after 50 ms
    load told;
  } const cases[] = {{ramp, 16, load::unknown},
                     {ramp, 17, load::full},
                     {ahead, 42, load::unknown},
                     {ahead, 44, load::full}};
  for (auto const& [how, in_flight, told] : cases) {
    server s;
    s.block(50ms, how);
    s.block(50ms, how);
    EXPECT_EQ(s.block(50ms, how, in_flight), told) << in_flight;
  }
}

// Of answers that take 12 s on average the first to come took one. A block lasts .24 s.
TEST(latency, a_ramp_is_full_only_once_slow_answers_and_the_block_before_could_be_its_own) {
  struct {
    double seconds;  // since it began
    duration slow;   // one answer of the block; the others take 50 ms
    load told;
  } const cases[] = {{.7, 50ms, load::full},
                     {.4, 50ms, load::unknown},
                     {11, 3s, load::unknown},
                     {12, 3s, load::full}};
  for (auto const& [seconds, slow, told] : cases) {
    latency::sending const ramp{.pace = 400, .seconds = seconds, .ramps = true};
    server s;
    s.block(50ms, ramp);
    s.block(50ms, ramp);
    s.answer(slow, ramp, 100);
    EXPECT_EQ(s.block(50ms, ramp, 100), told) << seconds;
  }
}

TEST(latency, a_ramp_is_full_at_once_where_the_soonest_answer_is_late_too) {
  latency::sending const ramp{.pace = 400, .seconds = .4, .ramps = true};
  for (auto const& [rtt, told] : {std::pair{80ms, load::unknown}, {100ms, load::full}}) {
    server s;
    s.block(50ms, ramp);
    s.block(50ms, ramp);
    EXPECT_EQ(s.block(rtt, ramp, 100), told) << rtt.count();
  }
}

// A hold by a hint ends, or the caller's workers are as many as fly, and answers become slower.
TEST(latency, a_late_answer_tells_of_a_full_ramp_once_only_the_law_held_it_for_as_long) {
  for (auto const& [seconds, told] : {std::pair{.05, load::unknown}, {.06, load::full}}) {
    latency::sending const ramp{.pace = 400, .seconds = seconds, .ramps = true};
    server s;
    s.block(50ms, ramp);
    s.block(50ms, ramp);
    EXPECT_EQ(s.block(100ms, ramp, 100), told) << seconds;
  }
}

TEST(latency, tests_of_a_ramp_that_are_out_are_no_queue) {
  for (int const tests : {0, 8}) {
    latency::sending const ramp{.pace = 400, .seconds = 10, .ramps = true, .tests = tests};
    server s;
    s.block(50ms, ramp);
    s.block(50ms, ramp);
    EXPECT_EQ(s.block(50ms, ramp, 16 + tests), load::unknown);
    EXPECT_EQ(s.block(50ms, ramp, 17 + tests), load::full);
  }
}

TEST(latency, a_block_begins_anew_after_a_silence) {
  server s;
  for (int i = 0; i < latency::block_answers - 1; ++i) s.answer(50ms);
  s.now += 1s;
  s.answer(50ms);
  EXPECT_EQ(s.l.answers, 1);
}

// Four workers of half a second; a gateway gives up after five.
TEST(latency, answers_that_take_longer_in_a_row_leave_room_for_what_is_delivered) {
  auto const after = [](int slow, sample s, double base = 0.5) {
    latency l{.base = base, .room = 100, .usual = {.answer = 0.5, .rate = 8}};
    for (int i = 0; i < slow; ++i) l.hold_queue(s, 1);
    return l.room;
  };
  sample const slow{.sent = {.in_flight = 20}, .in_flight = 30, .rtt = 900ms};
  EXPECT_EQ(after(7, slow), 100);
  EXPECT_EQ(after(8, slow), 15);
  EXPECT_EQ(after(8, slow, 0), 100) << "no block has told what is usual";
  auto fast = slow, callers = slow;
  fast.rtt = 870ms;
  EXPECT_EQ(after(8, fast), 100) << "1.5 times the usual lowest and a quarter of the mean";
  callers.app_limited = true;
  EXPECT_EQ(after(8, callers), 100) << "the caller wants no more";
}

TEST(latency, a_queue_of_ours_that_drained_shows_the_lowest_there_is) {
  server s;
  s.block(100ms);
  s.l.usual.rate = 50;
  (void)s.l.drain(s.now, 0.4, 100, 100);
  s.now = s.l.block + 1ms;
  auto told = load::unknown;
  for (int i = 0; i < 40 && told == load::unknown; ++i) told = s.answer(60ms);
  ASSERT_EQ(told, load::ours);
  EXPECT_DOUBLE_EQ(s.l.base, 0.06);
  EXPECT_DOUBLE_EQ(s.l.usual.answer, 0.06);
}

TEST(latency, room_grows_while_it_is_used_and_shrinks_else) {
  latency l{.room = 10};
  l.make_room(9, 4);
  EXPECT_EQ(l.room, 11);
  l.make_room(2, 4);
  EXPECT_LT(l.room, 11);
}

TEST(latency, what_failed_was_delivered_too) {
  for (bool const fails : {false, true}) {
    latency l{.mean = 0.4};
    time_point now{};
    auto const how = [] {
      return latency::sending{.unit = 1, .pace = 100, .seconds = 10, .ramps = true};
    };
    auto found = latency::load::unknown;
    for (int i = 0; i < 4 * latency::block_answers; ++i) {
      now += 10ms;
      sample s{.sent = {.sent = now - 400ms}, .rtt = 400ms};
      s.in_flight = 50;
      if (fails && i % 3 == 2) {
        l.fail(s);
        continue;
      }
      if (auto const is = l.judge(now, s, how); is != latency::load::unknown) found = is;
    }
    EXPECT_EQ(found, latency::load::unknown) << fails;
    EXPECT_NEAR(l.usual.answer, 0.4, 1e-9) << fails;
  }
}

TEST(latency, a_block_that_begins_anew_has_the_answers_that_count_for_it) {
  time_point const now{5s};
  latency l;
  l.answers = 20;
  l.gap(now, 8);
  EXPECT_EQ(l.answers, 8);
  EXPECT_EQ(l.block, now);
  l.gap(now);
  EXPECT_EQ(l.answers, 0);
}

TEST(latency, a_drain_that_is_given_up_returns_the_level_before_it) {
  latency l{.base = .05};
  auto const level = l.drain(time_point{1s}, .3, 80, 60);
  EXPECT_EQ(level, 15);
  EXPECT_EQ(l.give_up(level), 80);
  EXPECT_FALSE(l.draining());
  EXPECT_EQ(l.give_up(60), 60);
}

TEST(latency, the_first_answer_ends_no_silence) {
  latency l;
  l.start(time_point{240h});
  EXPECT_EQ(l.block, time_point{240h});
  EXPECT_EQ(l.answered, time_point{240h});
}

}  // namespace
}  // namespace headway
