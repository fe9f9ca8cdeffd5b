#include "whatif/fit.hpp"

#include <gtest/gtest.h>

#include "base/fatal.hpp"
#include "scenario/grammar.hpp"
#include "scenario/scenario_file.hpp"
#include "whatif/load.hpp"
#include "whatif/test_recording.hpp"

namespace headway::app {
namespace {

TEST(fit, finds_the_kind_of_limit_and_its_size) {
  temporary file;
  auto const bucket = fit(recorded(fifty_a_second(), "seek", 1500, file.path));
  ASSERT_EQ(bucket.limit.substr(0, 5), "rate=");
  auto const* const b = std::get_if<sim::token_bucket>(&bucket.server.server.limits.at(0));
  ASSERT_NE(b, nullptr) << bucket.toml;
  EXPECT_NEAR(1 / to_seconds(b->interval), 50, 0.5) << bucket.toml;
  EXPECT_NEAR(static_cast<double>(b->burst), 10, 1) << bucket.toml;
  EXPECT_TRUE(bucket.like.holds()) << bucket.toml;

  auto const slots =
      fit(recorded(limited_by(sim::concurrency{.max_busy = 12}), "reno", 3000, file.path));
  auto const* const c = std::get_if<sim::concurrency>(&slots.server.server.limits.at(0));
  ASSERT_NE(c, nullptr) << slots.toml;
  EXPECT_EQ(c->max_busy, 12) << slots.toml;
  EXPECT_TRUE(slots.like.holds()) << slots.toml;

  auto const window = fit(recorded(limited_by(sim::fixed_window{.count = 300, .period = 10s}),
                                   "seek", 1500, file.path));
  auto const* const w = std::get_if<sim::fixed_window>(&window.server.server.limits.at(0));
  ASSERT_NE(w, nullptr) << window.toml;
  EXPECT_EQ(w->period, 10s) << window.toml;
  EXPECT_NEAR(static_cast<double>(w->count), 300, 3) << window.toml;
}

TEST(fit, tells_window_counters_from_windows_and_whether_refusals_count) {
  temporary file;
  for (std::string const words :
       {"counter=100/10s", "counter=100/10s,counts-rejects", "window=100/10s",
        "sliding=100/10s,counts-rejects", "counter=20/1s", "counter=20/1s,counts-rejects"}) {
    auto const f = fit(recorded(limited_by(parse_limit(words)), "seek", 600, file.path));
    EXPECT_EQ(f.limit, words) << f.toml;
    EXPECT_NE(f.toml.find(" and 0 acceptances speak against it"), f.toml.npos) << f.toml;
  }
}

/// Requests come just when a period ends.
TEST(fit, finds_a_window_counter_though_its_first_request_came_late) {
  temporary file;
  record(limited_by(sim::window_counter{.count = 50, .period = 1s, .counts_rejects = true}), "seek",
         750, file.path, 7, {.first_late = 3ms});
  auto const f = fit(read_recording(file.path));
  EXPECT_EQ(f.limit, "counter=50/1s,counts-rejects") << f.toml;
  EXPECT_NE(f.toml.find("sure: explains 14 of 14 refusals"), f.toml.npos) << f.toml;
}

std::string how_sure(fitted const& f) {
  return f.findings.empty() ? "" : f.findings.front().how_sure;
}

// Counters that begin with each minute of the wall clock, say: the run began within one.
TEST(fit, finds_windows_that_begin_as_the_clock_has_them) {
  temporary file;
  auto const found = [&](std::string const& words, int requests, duration clock) {
    record(limited_by(parse_limit(words)), "seek", requests, file.path, 7, {.clock = clock});
    return fit(read_recording(file.path));
  };
  for (std::string const words : {"window=60/20s,aligned", "window=100/60s,aligned"})
    for (duration const clock : {7s, 13s}) {
      auto const f = found(words, 350, clock);
      EXPECT_EQ(f.limit, words) << f.toml;
      EXPECT_NE(f.toml.find(", joins = \""), f.toml.npos) << f.toml;
    }
  auto const counter = found("counter=100/10s,aligned", 600, 4s);
  EXPECT_EQ(counter.limit, "counter=100/10s,aligned") << counter.toml;
}

// Before: "likely", beside "DOES NOT reproduce the run".
TEST(fit, is_never_more_than_a_guess_where_it_does_not_reproduce_the_run) {
  temporary file;
  for (std::string const words : {"window=30/7s,aligned", "counter=45/12s", "sliding=20/11s"})
    for (int const requests : {40, 70, 160}) {
      auto const f = fit(recorded(limited_by(parse_limit(words)), "seek", requests, file.path));
      if (f.like.holds()) continue;
      EXPECT_EQ(how_sure(f).substr(0, 9), "a guess: ") << words << ' ' << requests << '\n'
                                                       << f.toml;
      EXPECT_NE(how_sure(f).find("a run under it goes differently"), std::string::npos) << f.toml;
    }
}

TEST(fit, of_a_window_that_ended_once_says_that_it_knows_no_period) {
  temporary file;
  auto const f = fit(recorded(limited_by(parse_limit("window=60/60s")), "seek", 90, file.path));
  EXPECT_EQ(how_sure(f).substr(0, 9), "a guess: ") << f.toml;
  EXPECT_NE(how_sure(f).find("in one row only, which tells no period"), std::string::npos)
      << f.toml;
}

TEST(fit, tries_measured_periods_that_are_not_usual) {
  temporary file;
  auto const f = fit(recorded(limited_by(parse_limit("window=50/7s")), "seek", 300, file.path));
  EXPECT_EQ(f.limit, "window=50/7s") << f.toml;
}

/// What results tell of the same run.
recording without_times_of_refusals(recording r) {
  r.throttled = static_cast<std::int64_t>(std::erase_if(
      r.attempts, [](recording::attempt const& a) { return a.what == outcome::throttle; }));
  r.timed = false;
  return r;
}

TEST(fit, finds_without_the_times_of_refusals_what_is_nearest_to_the_run) {
  temporary file;
  auto const bucket =
      fit(without_times_of_refusals(recorded(fifty_a_second(), "seek", 600, file.path)));
  auto const* const b = std::get_if<sim::token_bucket>(&bucket.server.server.limits.at(0));
  ASSERT_NE(b, nullptr) << bucket.toml;
  EXPECT_NEAR(1 / to_seconds(b->interval), 50, 2.5) << bucket.toml;
  EXPECT_TRUE(bucket.like.holds()) << bucket.toml;

  auto const slots = fit(without_times_of_refusals(
      recorded(limited_by(sim::concurrency{.max_busy = 12}), "seek", 1200, file.path)));
  EXPECT_NE(slots.toml.find("concurrent=12"), slots.toml.npos) << slots.toml;
  EXPECT_TRUE(slots.like.holds()) << slots.toml;
  EXPECT_NE(slots.toml.find("refusals have no times here; of "), slots.toml.npos) << slots.toml;
}

TEST(fit, says_that_it_does_not_reproduce_a_limit_that_changed) {
  temporary file;
  auto const f = fit(recorded(changing(), "reno", 400, file.path));
  EXPECT_FALSE(f.like.holds()) << f.toml;
  EXPECT_NE(f.toml.find("DOES NOT reproduce"), f.toml.npos) << f.toml;
}

/// What does not count begins no period: nothing counts from 10 s to 25 s.
TEST(load_at, of_two_counters_has_a_new_period_where_there_were_two_without_any) {
  std::vector<recording::attempt> all;
  for (duration const at : {0s, 11s, 25s, 31s, 36s}) all.push_back({.sent = time_point(at)});
  all[1].what = outcome::throttle;
  measure how{.what = measure::kind::two_parts, .period = 10s};
  auto const rounded = [&] {
    std::vector<int> tenths;
    for (auto const load : load_at(all, how)) tenths.push_back(static_cast<int>(10 * load + 0.5));
    return tenths;
  };
  EXPECT_EQ(rounded(), (std::vector{0, 9, 0, 10, 18}));
  how.refusals_too = true;
  EXPECT_EQ(rounded(), (std::vector{0, 9, 5, 9, 14}));
}

TEST(loads, refusals_at_the_highest_are_unlikely_to_come_by_chance) {
  std::vector<double> some;
  for (int i = 0; i < 100; ++i) some.push_back(i);
  EXPECT_LT((loads{some, {99, 98, 99}}.chance()), 1e-4);
  EXPECT_GT((loads{some, {10, 50, 90}}.chance()), 0.1);
  EXPECT_GT((loads{some, {99}}.chance()), 1e-3) << "one may";
  EXPECT_GT((loads{std::vector<double>(100, 7), {7, 7, 7, 7}}.chance()), 0.1) << "at an even pace";
  EXPECT_EQ((loads{some, {}}.chance()), 1);
}

TEST(load_of_refusals, tells_a_limit_from_chance) {
  temporary file;
  auto const of_20 = [&](refused_at where, sim::behaviour const& serves, int requests,
                         beside const& more) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      record(serves, "seek", requests, file.path, seed, more);
      count += load_of_refusals(read_recording(file.path)) == where;
    }
    return count;
  };
  EXPECT_EQ(of_20(refused_at::high_load, fifty_a_second(), 750, {}), 20);
  EXPECT_GE(of_20(refused_at::any_load, {.latency = {20ms, 80ms}}, 750, {.noise = 0.03}), 18);
  EXPECT_EQ(of_20(refused_at::unsaid, {.latency = {20ms, 80ms}}, 20, {}), 20);
}

/// Attempts a millisecond apart, refused from one on.
recording in_a_row(int attempts, std::int64_t cost, int refused_from) {
  recording r;
  r.file = "run.trace";
  r.requests = attempts;
  r.took = attempts * 1ms;
  for (int i = 0; i < attempts; ++i)
    r.attempts.push_back({.sent = time_point(i * 1ms),
                          .latency = 500us,
                          .what = i >= refused_from ? outcome::throttle : outcome::success,
                          .cost = cost});
  return r;
}

std::string refused_with(recording const& r) {
  try {
    return "nothing, but " + fit(r).limit;
  } catch (fatal const& e) {
    return e.what();
  }
}

TEST(fit, says_in_a_sentence_where_no_scenario_can_be_made) {
  EXPECT_EQ(refused_with(in_a_row(20, 1, 0)),
            "run.trace: no limit that a scenario may have explains its refusals");
  EXPECT_EQ(
      refused_with(in_a_row(20, 3'000'000, 10)),
      "run.trace: its requests cost 3000000 units on average; a scenario may have up to 1000000");
}

/// A limit that requests of `cost` come to every 10 ms.
template <class Limit>
recording of_one_each_10_ms(Limit l, std::int64_t cost) {
  recording r;
  r.file = "run.trace";
  r.took = 10s;
  for (int i = 0; i < 1000; ++i) {
    time_point const now(i * 10ms);
    auto const ok = l.wait(now, cost) == 0ns;
    if (ok)
      l.admit(now, cost, 1ms);
    else
      l.refuse(now, cost);
    r.requests += ok;
    r.attempts.push_back({.sent = now,
                          .latency = 1ms,
                          .what = ok ? outcome::success : outcome::throttle,
                          .cost = cost});
  }
  return r;
}

sim::token_bucket bucket(double rate, std::int64_t burst) {
  return {.interval = from_seconds(1 / rate), .burst = burst};
}

/// Before: it looked for rates around 30/s.
TEST(fit, counts_units_not_requests) {
  auto r = of_one_each_10_ms(bucket(30'000, 5'000), 1'000);
  r.law = parse_law("fixed(rate=100000/s,burst=1000)");  // one each 10 ms, as it was
  auto const f = fit(r);
  auto const* const found = std::get_if<sim::token_bucket>(&f.server.server.limits.at(0));
  ASSERT_TRUE(found) << f.toml;
  EXPECT_NEAR(1 / to_seconds(found->interval), 30'000, 600);
  EXPECT_EQ(found->burst, 5'000);

  auto counted = of_one_each_10_ms(sim::window_counter{.count = 30'000, .period = 1s}, 1'000);
  counted.law = r.law;
  auto const c = fit(counted);
  auto const* const counter = std::get_if<sim::window_counter>(&c.server.server.limits.at(0));
  ASSERT_TRUE(counter) << c.toml;
  EXPECT_EQ(counter->period, 1s);
  EXPECT_NEAR(static_cast<double>(counter->count), 30'000, 600);
}

/// Before: it tried 760,000 windows of each kind.
TEST(fit, tries_no_more_limits_where_requests_cost_much) {
  EXPECT_EQ(refused_with(of_one_each_10_ms(bucket(9'000'000, 10'000'000), 1'000'000)),
            "run.trace: no limit that a scenario may have explains its refusals");
}

TEST(fit, says_what_was_accepted_where_no_limit_was_met) {
  temporary file;
  auto const f = fit(recorded_without_limit(file.path));
  EXPECT_EQ(f.limit, "");
  EXPECT_EQ(f.unknown.at(0), "the limit: up to 31 in a second were all accepted");
}

TEST(fit, is_a_scenario_file_that_reads_back) {
  temporary file;
  auto b = fifty_a_second();
  b.failures = 0.05;
  auto const f = fit(recorded(b, "seek", 800, file.path));
  auto const again = parse_scenario(f.toml, f.server.name + ".toml");
  EXPECT_EQ(again, f.server) << f.toml;
  EXPECT_NEAR(f.server.server.failures, 0.05, 0.02);
}

/// Its answer came first, for it was a refusal.
TEST(recording, of_two_sent_at_one_instant_has_the_accepted_one_first) {
  temporary file;
  recorded(limited_by(sim::concurrency{.max_busy = 1}), "fixed(rate=1/s,burst=1000)", 6, file.path);
  auto const all = read_recording(file.path).attempts;
  int together = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].sent != all[i - 1].sent) continue;
    ++together;
    EXPECT_TRUE(all[i].refused()) << i;
  }
  EXPECT_GT(together, 0);
}

TEST(recording, of_a_long_run_keeps_the_first_attempts_and_the_newest) {
  recording r;
  auto const attempt_at = [](std::size_t i) {
    return recording::attempt{.sent = time_point(i * 1ms)};
  };
  std::size_t i = 0;
  for (; i < recording::attempts_max; ++i) r.take(attempt_at(i));
  EXPECT_EQ(r.newest().back().sent, attempt_at(i - 1).sent);
  EXPECT_EQ(r.newest().size(), recording::newest_max);
  for (; i < recording::attempts_max + 7 * recording::newest_max + 3; ++i) r.take(attempt_at(i));
  EXPECT_EQ(r.attempts.size(), recording::attempts_max);
  EXPECT_LE(r.last.size(), 2 * recording::newest_max);
  EXPECT_EQ(r.newest().size(), recording::newest_max);
  EXPECT_EQ(r.newest().back().sent, attempt_at(i - 1).sent);
}

TEST(recording, names_the_line_of_what_is_neither_a_trace_nor_results) {
  temporary file;
  auto const said = [&](std::string_view text) -> std::string {
    file.write(text);
    try {
      read_recording(file.path);
    } catch (fatal const& e) {
      return std::string(e.what()).substr(file.path.size());
    }
    return "nothing";
  };
  EXPECT_EQ(said(""), ": it is empty, not a trace");
  EXPECT_EQ(said("url\n"), ":1: neither a trace nor results");
  EXPECT_EQ(said("{}\n"),
            ":1: a result has outcome, attempts, throttled, waited_ms and latency_ms");
  temporary cut(".cut");
  recorded(limited_by(sim::token_bucket{}), "seek", 20, cut.path);
  auto const whole = cut.read();
  EXPECT_EQ(
      said(whole.substr(0, whole.size() / 2)),
      ":" +
          std::to_string(
              1 + std::count(whole.begin(),
                             whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2), '\n')) +
          ": not a line of a trace, a JSON object");
}

}  // namespace
}  // namespace headway::app
