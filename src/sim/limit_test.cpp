#include "headway/sim/limit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "headway/random.hpp"
#include "headway/sim/server.hpp"

namespace headway::sim {
namespace {

time_point at(duration since_start) {
  return time_point(since_start);
}

behaviour only(limit l) {
  return {.limits = {std::move(l)}};
}

/// One letter for each arrival: + served, - throttled, ! failed.
std::string answers(behaviour b, std::vector<duration> const& arrivals, std::int64_t cost = 1) {
  server s(std::move(b));
  std::string line;
  for (duration const t : arrivals) line += "+-!"[static_cast<int>(s.arrive(at(t), cost, 0).what)];
  return line;
}

/// How many of the arrivals, one each `gap` during `length`, are served.
int served(behaviour b, duration gap, duration length) {
  server s(std::move(b));
  int n = 0;
  for (duration t{}; t < length; t += gap) n += s.arrive(at(t), 1, 0).what == outcome::success;
  return n;
}

TEST(limit, decides_each_arrival) {
  struct row {
    char const* what;
    behaviour b;
    std::vector<duration> arrivals;
    std::string_view expect;
    std::int64_t cost = 1;
  };
  behaviour const seed_003{.limits = {concurrency{.max_busy = 2, .error_holds = 50ms}},
                           .latency = {500ms},
                           .error_latency = 50ms};
  behaviour errors_free = seed_003;
  errors_free.limits = {concurrency{.max_busy = 2}};
  auto const ns = 1ns;
  limit const tenth = token_bucket{100ms, 1};
  table_capacity const table{.interval = 100ms, .saved_max = 3s, .fastest = 25ms};
  table_capacity half_full = table;
  half_full.level = 0.5;
  row const rows[] = {
      {"unlimited", {}, {0ms, 0ms, 0ms}, "+++"},
      {"bucket: the burst, then one an interval",
       only(token_bucket{20ms, 3}),
       {0ms, 0ms, 0ms, 0ms, 20ms - ns, 20ms, 20ms, 40ms},
       "+++--+-+"},
      {"bucket: saves no more than the burst", only(token_bucket{20ms, 2}), {1s, 1s, 1s}, "++-"},
      {"bucket: cost", only(token_bucket{20ms, 4}), {0ms, 0ms, 20ms, 40ms}, "++-+", 2},
      {"bucket: cost above the burst", only(token_bucket{20ms, 1}), {0ms, 1h}, "--", 2},
      {"slots: free again at the very end of the hold",
       seed_003,
       {0ms, 100ms, 500ms - ns, 600ms, 600ms, 650ms},
       "++-++-"},
      {"slots: errors hold one, above the limit too",
       seed_003,
       {0ms, 0ms, 460ms, 490ms, 500ms, 510ms, 559ms, 560ms},
       "++----++"},
      {"slots: the same with errors that hold none",
       errors_free,
       {0ms, 0ms, 460ms, 490ms, 500ms, 510ms, 559ms, 560ms},
       "++--++--"},
      {"no slot", only(concurrency{.max_busy = 0}), {0ms, 1h}, "--"},
      {"window: from its first request",
       only(fixed_window{2, 1s}),
       {300ms, 999ms, 1s, 1300ms - ns, 1300ms, 1300ms, 1300ms},
       "++--++-"},
      {"window: aligned",
       only(fixed_window{2, 1s, true}),
       {300ms, 999ms, 999ms, 1s, 1s, 1s, 3900ms, 3900ms, 4s},
       "++-++-+++"},
      {"sliding: leaves after exactly one period",
       only(sliding_window{2, 1s}),
       {0ms, 600ms, 999ms, 1s - ns, 1s, 1s, 1600ms},
       "++--+-+"},
      {"sliding: cost", only(sliding_window{3, 1s}), {0ms, 500ms, 1s, 1s}, "+-+-", 2},
      {"counts rejects: the refused one at 900 ms is still looked at",
       only(sliding_window{2, 1s, true}),
       {0ms, 0ms, 900ms, 1s, 1001ms, 2500ms},
       "++-+-+"},
      {"counter: the two of the first second leave after 1 s and 1.5 s",
       only(window_counter{2, 1s}),
       {0ms, 600ms, 999ms, 1s, 1s + ns, 1500ms, 1500ms + ns, 1999ms},
       "++--+-+-"},
      {"counter: after two periods without any, a new one",
       only(window_counter{2, 1s}),
       {0ms, 0ms, 2s, 2s, 2s, 3s},
       "++++--"},
      {"counter: what is refused counts",
       only(window_counter{2, 1s, true}),
       {0ms, 0ms, 500ms, 1300ms, 1400ms},
       "++---"},
      {"sliding: cost above the count", only(sliding_window{3, 1s}), {0ms, 1h}, "--", 4},
      {"ban: two rejects are not more than two; the third bans from then on, and trying meanwhile "
       "does not matter; then it counts from none",
       {.limits = {tenth, ban{2, 1s, 10s}}},
       {0ms, 10ms, 20ms, 100ms, 110ms, 200ms, 10110ms - ns, 10110ms, 10111ms, 10112ms, 10210ms},
       "+--+---+--+"},
      {"ban: asked first, the same",
       {.limits = {ban{2, 1s, 10s}, tenth}},
       {0ms, 10ms, 20ms, 100ms, 110ms, 200ms, 10110ms - ns, 10110ms, 10111ms, 10112ms, 10210ms},
       "+--+---+--+"},
      {"ban: a reject is forgotten after exactly one period",
       {.limits = {tenth, ban{2, 1s, 10s}}},
       {0ms, 10ms, 20ms, 1000ms, 1010ms, 1100ms},
       "+--+-+"},
      {"ban: not before",
       {.limits = {tenth, ban{2, 1s, 10s}}},
       {0ms, 10ms, 20ms, 1000ms, 1010ms - ns, 1100ms},
       "+--+--"},
      {"ban: counts from none, however short it was",
       {.limits = {tenth, ban{2, 10s, 1s}}},
       {0ms, 10ms, 20ms, 30ms, 1030ms, 1040ms, 1050ms, 1130ms},
       "+---+--+"},
      {"ban: at the first", {.limits = {tenth, ban{0, 1s, 10s}}}, {0ms, 10ms, 100ms, 10s}, "+---"},
      {"ban: prolonged until nothing has come for as long",
       {.limits = {tenth, ban{0, 1s, 10s, true}}},
       {0ms, 10ms, 5s, 14s, 24s - ns, 34s - ns},
       "+----+"},
      {"ban: nothing to hear of", only(ban{0, 1s, 10s}), {0ms, 0ms}, "++"},
      {"table: a tenth of 30 units on the first arrival, then 10/s",
       only(table),
       {5s, 5s, 5s, 5s, 5100ms - ns, 5100ms, 5100ms},
       "+++--+-"},
      {"table: 15 units, cost 10", only(half_full), {0ms, 0ms, 500ms - ns, 500ms}, "+--+", 10},
      {"table: saves no more than 30", only(table), {0s, 1h, 1h, 1h, 1h}, "-+++-", 10},
      {"table: cost above what can be saved", only(table), {0s, 1h}, "--", 31},
      {"queue: one works, two wait",
       {.limits = {queue{1, 2}}, .latency = {100ms}},
       {0ms, 0ms, 0ms, 0ms, 100ms - ns, 100ms, 100ms},
       "+++--+-"},
      {"queue: two work, one waits",
       {.limits = {queue{2, 1}}, .latency = {100ms}},
       {0ms, 0ms, 0ms, 0ms, 50ms, 100ms, 100ms, 100ms},
       "+++--++-"},
      {"queue: none waits",
       {.limits = {queue{1, 0}}, .latency = {100ms}},
       {0ms, 0ms, 99ms, 100ms},
       "+--+"},
      {"shared: three at work; two end at 175 ms, where a third of the third is done",
       {.limits = {shared{.processors = 1, .at_work_max = 3}}, .latency = {75ms}},
       {0ms, 0ms, 100ms, 100ms, 175ms - ns, 175ms, 175ms, 175ms},
       "+++--++-"},
      {"queue: no server works", only(queue{0, 9}), {0ms, 1h}, "--"},
      {"queue: a request that waits holds a slot",
       {.limits = {concurrency{2}, queue{1, 9}}, .latency = {100ms}},
       {0ms, 0ms, 99ms, 100ms, 100ms},
       "++-+-"},
      {"behind a 202, a backlog of 3 units that drains by 4 a second",
       {.limits = {token_bucket{250ms, 3}}, .latency = {5ms}},
       {0ms, 0ms, 0ms, 0ms, 250ms, 250ms, 1s, 1s, 1s, 1s},
       "+++-+-+++-"},
  };
  for (row const& r : rows) EXPECT_EQ(answers(r.b, r.arrivals, r.cost), r.expect) << r.what;
}

TEST(limit, counts_exactly_over_time) {
  struct row {
    char const* what;
    limit l;
    duration gap;
    duration length;
    int expect;
  };
  row const rows[] = {
      {"50/s burst 10: 10 + 50 × 60 s", token_bucket{20ms, 10}, 1ms, 60s, 3009},
      {"7/s burst 1", token_bucket{duration(142'857'142), 1}, 1ms, 60s, 420},
      {"300 a minute", fixed_window{300, 1min}, 10ms, 5min, 1500},
      {"50 in any second", sliding_window{50, 1s}, 1ms, 10s, 500},
      {"100 in 10 s by two counters", window_counter{100, 10s}, 1ms, 100s, 1000},
      {"hammering where rejects count", sliding_window{50, 1s, true}, 1ms, 10min, 50},
      {"just below where rejects count", sliding_window{50, 1s, true}, 20ms, 10s, 500},
      {"just above where rejects count", sliding_window{50, 1s, true}, 19ms, 10min, 50},
      // capacity doubles after 2 and 4 minutes, and then is at its most
      {"a hot table: 599 + 600 + 2 × 1200 + 3 × 2400",
       table_capacity{.interval = 100ms, .saved_max = 3s, .level = 0, .fastest = 25ms}, 5ms, 7min,
       10799},
      {"slope: as much again each ten seconds", slope{100ms, 1, 10s}, 5ms, 30s, 100 + 200 + 400},
      {"slope: never below its start", slope{100ms, 0, 10s}, 5s, 1h, 720},
  };
  for (row const& r : rows) EXPECT_EQ(served(only(r.l), r.gap, r.length), r.expect) << r.what;
}

TEST(limit, of_a_slope_falls_back_when_nothing_comes) {
  server s(only(slope{100ms, 1, 10s}));
  auto const in_a_period = [&](duration from) {
    int n = 0;
    for (duration t{}; t < 10s; t += 5ms)
      n += s.arrive(at(from + t), 1, 0).what == outcome::success;
    return n;
  };
  EXPECT_EQ(in_a_period(0s), 100);
  EXPECT_NEAR(in_a_period(10s), 200, 1);
  EXPECT_NEAR(in_a_period(20s), 400, 1);
  EXPECT_NEAR(in_a_period(40s), 100, 1);  // none in the fourth
}

/// 1000 errors a second of 50 ms hold all 50 slots: after the first 50 such a client is never
/// served again.
TEST(limit, of_seed_003_is_brought_down_by_retries) {
  struct {
    duration error_holds;
    duration gap;
    int in_100_seconds;
  } const rows[] = {{0ms, 500us, 10000}, {50ms, 500us, 50}, {50ms, 990us, 50}, {50ms, 20ms, 5000}};
  for (auto const& [error_holds, gap, expect] : rows) {
    behaviour const b{.limits = {concurrency{50, error_holds}}, .latency = {500ms}};
    EXPECT_EQ(served(b, gap, 100s), expect) << to_seconds(error_holds) << ' ' << to_seconds(gap);
  }
}

TEST(limit, knows_an_honest_retry_after) {
  struct row {
    char const* what;
    behaviour b;
    std::vector<duration> arrivals;  // the last one is throttled
    std::optional<duration> expect;
  };
  behaviour slots{.limits = {concurrency{.max_busy = 2, .error_holds = 50ms}}, .latency = {500ms}};
  behaviour slow_to_tell = slots;
  slow_to_tell.error_latency = 80ms;
  row const rows[] = {
      {"bucket", only(token_bucket{20ms, 1}), {0ms, 5ms}, 15ms},
      {"the first slot to be free", slots, {0ms, 100ms, 200ms}, 300ms},
      {"not before its own error leaves", slots, {0ms, 100ms, 480ms}, 50ms},
      {"counted from the answer", slow_to_tell, {0ms, 100ms, 200ms}, 220ms},
      {"never negative", slow_to_tell, {0ms, 100ms, 480ms}, 0ms},
      {"window", only(fixed_window{1, 1s}), {200ms, 300ms}, 900ms},
      {"sliding", only(sliding_window{2, 1s}), {0ms, 400ms, 500ms}, 500ms},
      {"what is refused counts", only(sliding_window{2, 1s, true}), {0ms, 400ms, 500ms}, 900ms},
      {"counter", only(window_counter{2, 1s}), {0ms, 400ms, 500ms}, 500ms + 1ns},
      {"all limits", {.limits = {token_bucket{20ms, 1}, sliding_window{1, 1s}}}, {0ms, 1ms}, 999ms},
      {"ban", {.limits = {token_bucket{100ms, 1}, ban{1, 1s, 10s}}}, {0ms, 10ms, 20ms}, 10s},
      {"not yet a ban", {.limits = {token_bucket{100ms, 1}, ban{1, 1s, 10s}}}, {0ms, 10ms}, 90ms},
      {"table", only(table_capacity{.interval = 100ms, .level = 0}), {5s}, 100ms},
      {"slope", only(slope{.interval = 100ms}), {5s, 5s}, 100ms},
      {"a place in the queue",
       {.limits = {queue{1, 1}}, .latency = {100ms}},
       {0ms, 0ms, 30ms},
       70ms},
      {"no queue", {.limits = {queue{1, 0}}, .latency = {100ms}}, {0ms, 30ms}, 70ms},
      {"waiting does not help", only(concurrency{.max_busy = 0}), {0ms}, std::nullopt},
  };
  for (row const& r : rows) {
    server s(r.b);
    answer last;
    for (duration const t : r.arrivals) last = s.arrive(at(t), 1, 0);
    EXPECT_EQ(last.what, outcome::throttle) << r.what;
    EXPECT_EQ(last.retry_after, r.expect) << r.what;
    if (!r.expect) continue;
    duration const then = r.arrivals.back() + last.after + *last.retry_after;
    EXPECT_EQ(s.arrive(at(then), 1, 0).what, outcome::success) << r.what;
  }
}

/// 10/s that bans for 60 s after more than 5 rejects in 10 s: hammering gets one request each
/// 60.06 s.
TEST(limit, bans_a_client_that_hammers) {
  behaviour const b{.limits = {token_bucket{100ms, 1}, ban{}}};
  EXPECT_EQ(served(b, 10ms, 10min), 10);
  EXPECT_EQ(served(b, 100ms, 10min), 6000);
}

TEST(limit, table_doubles_after_two_hot_minutes) {
  struct row {
    char const* what;
    std::vector<duration> gaps;  // of the arrivals in each minute; zero: none
    std::int64_t cost;
    duration expect;
  };
  row const rows[] = {
      {"140 ms: 429 of 600", {140ms, 140ms}, 1, 50ms},
      {"150 ms: 400 of 600", {150ms, 150ms, 150ms, 150ms}, 1, 100ms},
      {"one is not enough", {100ms}, 1, 100ms},
      {"in a row", {100ms, 200ms, 100ms}, 1, 100ms},
      {"silence is cold", {100ms, 0ms, 100ms}, 1, 100ms},
      {"it doubles although silence follows", {100ms, 100ms, 0ms, 0ms}, 1, 50ms},
      {"36 % of the double is not hot", {140ms, 140ms, 140ms, 140ms}, 1, 50ms},
      {"four", {100ms, 100ms, 50ms, 50ms}, 1, 25ms},
      {"what is refused is not use", {20ms, 20ms}, 31, 100ms},
      {"units, not requests", {1s, 1s}, 10, 50ms},
      {"most", {100ms, 100ms, 50ms, 50ms, 25ms, 25ms, 25ms}, 1, 20ms},
  };
  for (row const& r : rows) {
    table_capacity t{.interval = 100ms, .saved_max = 3s, .level = 1, .fastest = 20ms};
    time_point minute{};
    for (duration const gap : r.gaps) {
      for (time_point now = minute; gap > 0ms && now < minute + 1min; now += gap)
        t.wait(now, r.cost) == 0ms ? t.admit(now, r.cost, {}) : t.refuse(now, r.cost);
      minute += 1min;
    }
    t.refuse(minute, 1);
    EXPECT_EQ(t.bucket.interval, r.expect) << r.what;
  }
}

/// Two hot minutes with nothing left, then a minute of silence at 20/s: 60 units are saved, not the
/// 30 of before.
TEST(limit, table_doubles_when_the_minute_is_over) {
  table_capacity t{.interval = 100ms, .saved_max = 3s, .level = 0, .fastest = 20ms};
  for (duration now{}; now < 2min; now += 100ms)
    t.wait(at(now), 1) == 0ms ? t.admit(at(now), 1, {}) : t.refuse(at(now), 1);
  EXPECT_EQ(t.left(at(2min)).remaining, 1);
  EXPECT_EQ(t.left(at(2min + 1s)).remaining, 21);
  EXPECT_EQ(t.left(at(3min)).remaining, 60);
}

TEST(limit, a_queue_makes_latency_rise) {
  struct row {
    char const* what;
    std::vector<step> schedule;
    std::vector<duration> arrivals;
    std::vector<duration> after;
  };
  row const rows[] = {
      {"one server", {{at(0s), queue{1, 9}}}, {0ms, 0ms, 0ms, 100ms}, {100ms, 200ms, 300ms, 300ms}},
      {"two servers",
       {{at(0s), queue{2, 9}}},
       {0ms, 30ms, 40ms, 50ms},
       {100ms, 100ms, 160ms, 180ms}},
      {"one less: busy servers stay busy",
       {{at(0s), queue{2, 9}}, {at(50ms), queue{1, 9}}},
       {0ms, 10ms, 60ms},
       {100ms, 100ms, 150ms}},
      {"one more is free at once",
       {{at(0s), queue{1, 9}}, {at(50ms), queue{2, 9}}},
       {0ms, 0ms, 60ms, 70ms},
       {100ms, 200ms, 100ms, 190ms}},
      {"one less and one more: no busy one is forgotten",
       {{at(0s), queue{2, 9}}, {at(50ms), queue{1, 9}}, {at(60ms), queue{2, 9}}},
       {0ms, 30ms, 70ms, 70ms},
       {100ms, 100ms, 130ms, 160ms}},
      {"all gone, and back",
       {{at(0s), queue{1, 9}}, {at(10ms), queue{0, 9}}, {at(20ms), queue{1, 9}}},
       {0ms, 30ms},
       {100ms, 170ms}},
  };
  for (row const& r : rows) {
    server s({.schedule = r.schedule, .latency = {100ms}});
    for (std::size_t i = 0; i < r.arrivals.size(); ++i)
      EXPECT_EQ(s.arrive(at(r.arrivals[i]), 1, 0).after, r.after[i]) << r.what << ' ' << i;
  }
}

/// Poisson arrivals, exponential service, half loaded: twice the service time on average (M/M/1).
TEST(limit, a_queue_is_a_queue) {
  server s({.limits = {queue{1, 1000}}, .latency = exponential{100ms}});
  rng draw(3);
  exponential const gap{200ms};
  time_point now{};
  double sum = 0;
  int const n = 200'000;
  for (int i = 0; i < n; ++i) {
    now += gap.draw(draw());
    sum += to_seconds(s.arrive(now, 1, draw()).after);
  }
  EXPECT_NEAR(sum / n, 0.200, 0.005);
}

/// Whatever happens, `wait` is the very nanosecond, and what never fits is never admitted.
TEST(limit, waits_exactly) {
  limit const kinds[] = {
      token_bucket{7ms, 10},
      concurrency{5, 3ms},
      queue{3, 4},
      shared{.processors = 2, .at_work_max = 4},
      shared{.processors = 2, .at_work_max = 4, .patience = 40ms, .drops = true},
      fixed_window{10, 50ms},
      fixed_window{10, 50ms, true},
      sliding_window{10, 50ms},
      sliding_window{10, 50ms, true},
      window_counter{10, 50ms},
      window_counter{10, 50ms, true},
      ban{3, 20ms, 70ms},
      table_capacity{.interval = 7ms, .saved_max = 70ms, .hot = 2},
  };
  for (limit l : kinds) {
    rng draw(11);
    time_point now{};
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
      now += scale(10ms, draw());
      auto const cost = static_cast<std::int64_t>(1 + draw() % 11);
      duration const hold = scale(60ms, draw());
      std::visit(
          [&](auto& x) {
            duration const w = x.wait(now, cost);
            if (w == 0ms && draw() % 16 != 0) return x.admit(now, cost, hold);
            x.refuse(now, cost);
            ++refused;
            duration const then = x.wait(now, cost);
            if (then == duration::max()) {
              EXPECT_EQ(cost, 11) << l.index();
            } else {
              EXPECT_EQ(x.wait(now + then, cost), 0ms) << l.index();
              EXPECT_TRUE(then == 0ms || x.wait(now + then - 1ns, cost) > 0ms) << l.index();
            }
          },
          l);
    }
    EXPECT_GT(refused, 1000) << l.index();
  }
}

TEST(limit, sliding_window_counts_like_a_list_of_units) {
  for (bool const counts_rejects : {false, true}) {
    sliding_window w{20, 100ms, counts_rejects};
    std::deque<time_point> units;  // the latest 20
    auto const add = [&](time_point now, std::int64_t n) {
      for (; n > 0; --n) units.push_back(now);
      while (units.size() > 20) units.pop_front();
    };
    rng draw(5);
    time_point now{};
    int admitted = 0;
    for (int i = 0; i < 20'000; ++i) {
      now += scale(draw() % 50 == 0 ? 200ms : 12ms, draw()) / 1000 * 1000;
      auto const cost = static_cast<std::int64_t>(1 + draw() % 6);
      auto const young =
          std::count_if(units.begin(), units.end(), [&](time_point t) { return t > now - 100ms; });
      EXPECT_EQ(w.left(now).remaining, 20 - young);
      bool const fits = young + cost <= 20;
      ASSERT_EQ(w.wait(now, cost) == 0ms, fits) << i;
      fits ? w.admit(now, cost, {}) : w.refuse(now, cost);
      if (fits || counts_rejects) add(now, cost);
      admitted += fits;
    }
    EXPECT_GT(admitted, 100);
    EXPECT_LT(w.log.size(), 50U);
  }
}

TEST(limit, sliding_window_keeps_a_short_log) {
  sliding_window w{1'000'000, 1s};
  for (int i = 0; i < 10; ++i) w.admit(at(i * 1ms), 100'000, {});
  EXPECT_EQ(w.log.size(), 10U);
  EXPECT_EQ(w.wait(at(10ms), 200'000), 991ms);

  sliding_window hammered{5, 1h, true};
  for (int i = 0; i < 1000; ++i) hammered.refuse(at(i * 1ms), 1);
  EXPECT_LE(hammered.log.size(), 13U);
}

TEST(limit, scales) {
  struct row {
    limit l;
    double factor;
    limit expect;
  };
  row const rows[] = {
      {token_bucket{20ms, 5}, 2, token_bucket{10ms, 5}},
      {token_bucket{20ms, 5}, 1e9, token_bucket{1ns, 5}},
      {concurrency{50, 5ms}, 0.5, concurrency{25, 5ms}},
      {concurrency{3}, 0.5, concurrency{2}},
      {queue{50, 500}, 1.1, queue{55, 500}},
      {shared{.processors = 50, .at_work_max = 500}, 1.1,
       shared{.processors = 55, .at_work_max = 500}},
      {fixed_window{300, 1min}, 0.9, fixed_window{270, 1min}},
      {sliding_window{50, 1s}, 0.25, sliding_window{13, 1s}},
      {window_counter{50, 1s}, 0.25, window_counter{13, 1s}},
  };
  for (row const& r : rows) {
    limit l = r.l;
    std::visit(
        [&](auto& x) {
          if constexpr (requires { x.scale(r.factor); }) x.scale(r.factor);
        },
        l);
    EXPECT_EQ(l, r.expect) << l.index();
  }
}

TEST(limit, knows_what_is_left) {
  struct row {
    char const* what;
    limit l;
    std::vector<duration> arrivals;
    std::int64_t cost;
    std::int64_t remaining;  // after the last one
    duration reset;
  };
  row const rows[] = {
      {"bucket", token_bucket{100ms, 5}, {0ms}, 2, 3, 200ms},
      {"bucket: whole units", token_bucket{100ms, 5}, {0ms, 0ms, 50ms}, 1, 2, 250ms},
      {"bucket: never more than the burst", token_bucket{100ms, 5}, {0ms, 1h}, 1, 4, 100ms},
      {"window", fixed_window{5, 1s}, {300ms, 700ms}, 1, 3, 600ms},
      {"window: anew", fixed_window{5, 1s}, {300ms, 1300ms}, 2, 3, 1s},
      {"window: aligned", fixed_window{5, 1s, true}, {300ms}, 1, 4, 700ms},
      {"sliding", sliding_window{5, 1s}, {0ms, 400ms}, 1, 3, 1s},
      {"sliding: the first is gone", sliding_window{5, 1s}, {0ms, 400ms, 1s}, 1, 3, 1s},
      {"refused", sliding_window{5, 1s}, {0ms, 400ms}, 3, 2, 600ms},
      {"refused and counted", sliding_window{5, 1s, true}, {0ms, 400ms}, 3, 0, 1s},
      {"counter", window_counter{4, 1s}, {0ms, 400ms}, 1, 2, 1600ms},
      {"counter: one of two is gone", window_counter{4, 1s}, {0ms, 400ms, 1500ms}, 1, 2, 1500ms},
      {"table: 15 units of 30",
       table_capacity{.interval = 100ms, .saved_max = 3s, .level = 0.5},
       {0ms},
       10,
       5,
       2500ms},
  };
  for (row const& r : rows) {
    server s(only(r.l));
    answer last;
    for (duration const t : r.arrivals) last = s.arrive(at(t), r.cost, 0);
    EXPECT_EQ(last.remaining, r.remaining) << r.what;
    EXPECT_EQ(last.reset, r.reset) << r.what;
  }
}

}  // namespace
}  // namespace headway::sim
