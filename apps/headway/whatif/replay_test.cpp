#include "whatif/replay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <queue>
#include <regex>
#include <sstream>
#include <tuple>
#include <vector>

#include "base/fatal.hpp"
#include "pacing/trace.hpp"
#include "whatif/test_file.hpp"
#include "whatif/trace_reader.hpp"
#include "whatif/what_if.hpp"

namespace headway::app {
namespace {

constexpr time_point began{2h};  // laws may see that the machine was not started just now

shipped_law const& law(std::string_view name) {
  return *shipped_law_named(name);
}

using server = std::function<attempt_result(fraction)>;

/// One answer in five is a throttle, some with advice; one in ten is broken.
attempt_result moody(fraction u) {
  if (u % 5 == 0)
    return {.what = outcome::throttle,
            .short_of = resource::rate,
            .advice = {.retry_after = u % 3 == 0 ? std::optional<duration>(40ms) : std::nullopt,
                       .remaining = u % 5 == 0 ? std::optional<std::int64_t>(3) : std::nullopt,
                       .reset = u % 5 == 0 ? std::optional<duration>(300ms) : std::nullopt}};
  if (u % 10 == 1) return {.what = outcome::failure, .may_retry = u % 4 != 1};
  return {};
}
attempt_result kind(fraction) {
  return {};
}

/// Two scopes one after the other, each sends `requests`, at most queue_max at once, whose answers
/// take 10 to 30 ms; the heads of every other good one come at half time.
void record(std::string const& path, shipped_law const& l, server const& answer,
            governor_settings settings = {}, int requests = 100) {
  settings.throttled = l.throttled;
  trace to(path);
  to.head({.law = l, .settings = settings, .began = began});
  rng chance(7);
  auto now = began + 1ms;
  for (int scope = 0; scope < 2; ++scope) {
    traced_governor g(&to, scope, "http://host \"a\"", l, settings);
    using flight = std::tuple<time_point, ticket, attempt_result, bool>;
    auto const later_first = [](auto const& a, auto const& b) {
      return std::get<0>(a) > std::get<0>(b);
    };
    std::priority_queue<flight, std::vector<flight>, decltype(later_first)> flying(later_first);
    int submitted = 0;
    std::size_t live = 0;
    while (submitted < requests || live > 0) {
      for (; submitted < requests && live < settings.queue_max; ++submitted, ++live)
        g.submit(now, {.cost = 1 + submitted % 2 * (settings.rate_ceiling ? 0 : 1)});
      while (auto const t = g.next(now)) {
        g.start(now, *t, chance());
        auto const takes = 10ms + scale(20ms, chance());
        auto const result = answer(chance());
        if (result.what == outcome::success && static_cast<std::uint32_t>(*t) % 2 == 1)
          flying.emplace(now + takes / 2, *t, result, true);
        flying.emplace(now + takes, *t, result, false);
      }
      auto const wake = g.wakeup(now);
      if (flying.empty() || wake < std::get<0>(flying.top())) {
        now = wake;
        continue;
      }
      auto const [at, id, result, is_head] = flying.top();
      flying.pop();
      now = at;
      if (is_head) {
        g.learn(now, id, result, chance());
        continue;
      }
      auto const v = g.finish(now, id, result, chance()).what;
      if (v == verdict::done || v == verdict::give_up) --live;
      if (v == verdict::retry && result.what == outcome::failure && chance() % 4 == 0) {
        g.cancel(now, id);
        --live;
      }
    }
  }
  to.flush();
}

std::int64_t line_of(std::string const& text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

TEST(trace, reads_back_every_call) {
  temporary file;
  governor_settings const settings{.attempts_max = 9,
                                   .queue_max = 17,
                                   .hint_max = 3s,
                                   .first_alone = 1ms,
                                   .throttled = after_throttle::share_level,
                                   .quiet_successes = 3,
                                   .rate_ceiling = gcra{.interval = 7ms, .burst_tolerance = 2ms},
                                   .in_flight_max = 5,
                                   .budget = {0.25, 3, 40, 30.5}};
  attempt_result const told{outcome::throttle, resource::quota, {2s}, false, true};
  {
    trace to(file.path);
    to.head({.law = law("reno-0.9"), .settings = settings, .began = began});
    to.scope(3, "é\"\\");
    to.submit(3, began + 1ns, {.cost = 4, .deadline = began + 5s, .failures = 2, .throttles = 3},
              ticket{1ULL << 40});
    to.submit(3, began + 2ns, {}, refused{reason::quota, never});
    to.start(3, began + 3ns, ticket{7}, ~fraction{0});
    to.learn(3, began + 4ns, ticket{7}, {.advice = {.remaining = 5, .reset = 1s, .shared = true}},
             10, true);
    to.finish(3, began + 5ns, ticket{7}, told, 11, {verdict::retry, reason::backoff, began + 1s},
              {});
    to.finish(3, began + 6ns, ticket{7}, {}, 12, {}, {});
    to.cancel(3, began + 7ns, ticket{8});
    to.wakeup(3, began + 8ns, never, reason::window);
    to.end(3, began + 9ns, scope_governor{});
  }
  trace_reader reader(file.path);
  EXPECT_EQ(reader.head().law.name, "reno-0.9");
  EXPECT_EQ(reader.head().settings, settings);
  EXPECT_EQ(reader.head().began, began);

  using call = traced_call::kind;
  std::vector<traced_call> read;
  while (auto c = reader.next()) read.push_back(*c);
  ASSERT_EQ(read.size(), 10U);
  call const kinds[] = {call::scope,  call::submit, call::submit, call::start,  call::learn,
                        call::finish, call::finish, call::cancel, call::wakeup, call::end};
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].what, kinds[i]);
    EXPECT_EQ(read[i].scope, 3);
    EXPECT_EQ(read[i].at, i == 0 ? time_point{} : began + duration(i));
  }
  EXPECT_EQ(read[0].name, "é\"\\");
  EXPECT_EQ(read[1].terms,
            (request_terms{.cost = 4, .deadline = began + 5s, .failures = 2, .throttles = 3}));
  EXPECT_EQ(read[1].id, ticket{1ULL << 40});
  EXPECT_FALSE(read[1].ended);
  EXPECT_TRUE(read[2].ended);
  EXPECT_EQ(read[3].u, ~fraction{0});
  EXPECT_EQ(read[4].result.advice, (hint{.remaining = 5, .reset = 1s, .shared = true}));
  EXPECT_EQ(read[4].u, 10U);
  EXPECT_FALSE(read[4].ended);
  EXPECT_EQ(read[5].result.what, told.what);
  EXPECT_EQ(read[5].result.short_of, told.short_of);
  EXPECT_EQ(read[5].result.advice, told.advice);
  EXPECT_FALSE(read[5].result.may_retry);
  EXPECT_TRUE(read[5].result.held_elsewhere);
  EXPECT_EQ(read[5].u, 11U);
  EXPECT_FALSE(read[5].ended);
  EXPECT_TRUE(read[6].result.may_retry);
  EXPECT_FALSE(read[6].result.held_elsewhere);
  EXPECT_TRUE(read[6].ended);
  EXPECT_EQ(read[7].id, ticket{8});
}

TEST(trace, full_disk_is_an_io_error) {
  trace to("/dev/full");
  to.scope(0, "a");
  try {
    to.flush();
    FAIL() << "was written";
  } catch (fatal const& e) {
    EXPECT_EQ(e.code, exit_io);
  }
}

TEST(replay, every_law_decides_the_same) {
  for (auto const& l : shipped_laws()) {
    SCOPED_TRACE(l.name);
    temporary file;
    record(file.path, l, moody);
    auto const text = file.read();
    auto const r = replay(file.path);
    EXPECT_FALSE(r.first_difference) << r.first_difference->line << r.first_difference->replayed;
    EXPECT_TRUE(r.ended);
    EXPECT_EQ(r.decisions, std::count(text.begin(), text.end(), '\n') - 3);
  }
}

TEST(replay, a_trace_without_heads_is_read_as_before) {
  temporary file;
  record(file.path, law("seek"), moody);
  auto text = file.read();
  text = std::regex_replace(text, std::regex(R"re(,"(limit|slots)":[^,}]*)re"), "");  // nor beliefs
  std::string const format = R"("headway_trace":2)";
  text.replace(text.find(format), format.size(), R"("headway_trace":1)");
  file.write(text);
  auto const r = replay(file.path);
  EXPECT_FALSE(r.first_difference);
  EXPECT_TRUE(r.ended);
}

TEST(replay, a_run_that_was_killed_has_no_end) {
  temporary file;
  record(file.path, law("seek"), moody);
  auto const text = file.read();
  file.write(text.substr(0, text.rfind("{\"t\"")));
  auto const r = replay(file.path);
  EXPECT_FALSE(r.first_difference);
  EXPECT_FALSE(r.ended);
}

TEST(replay, a_changed_number_is_found_at_its_line) {
  struct {
    std::string_view law, line, number;
  } const rows[] = {
      {"seek", R"("call":"submit")", R"("ticket":)"},
      {"seek", R"("call":"start")", R"("ticket":)"},
      {"seek", R"("verdict":"retry","why":"backoff")", R"("until":)"},
      {"seek", R"("verdict":"retry","why":"backoff")", R"("u":)"},  // of the jitter
      {"seek", R"("retry_after")", R"("retry_after":)"},
      {"seek", R"("call":"learn")", R"("ticket":)"},
      {"seek", R"("call":"wakeup","why":"pace")", R"("at":)"},
      {"seek", R"("call":"end")", R"("held_until":)"},
      {"seek", R"("call":"end")", R"("state":"0 )"},
      {"tahoe", R"("call":"end")", R"("state":"2 )"},
      {"auto-sleeper", R"("call":"wakeup","why":"pace")", R"("at":)"},
      {"exponential", R"("verdict":"retry","why":"backoff")", R"("u":)"},
      {"seek", R"("headway_trace")", R"("backoff":"0 )"},  // the law is not what it was
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.law, row.line, row.number));
    temporary file;
    record(file.path, law(row.law), moody);
    auto text = file.read();
    auto begin = text.rfind('\n', text.find(row.line));
    begin = begin == text.npos ? 0 : begin + 1;
    auto const at = text.find(row.number, begin);
    ASSERT_LT(at, text.find('\n', begin));
    auto const first = at + row.number.size();
    auto const last = text.find_first_not_of("-0123456789", first) - 1;
    if (last > first)
      text.erase(last, 1);
    else
      text[first] = text[first] == '7' ? '8' : '7';
    file.write(text);
    auto const r = replay(file.path);
    ASSERT_TRUE(r.first_difference);
    EXPECT_EQ(r.first_difference->line, line_of(text, begin)) << r.first_difference->recorded;
  }
}

TEST(replay, holds_no_more_scopes_than_a_run_may) {
  temporary file;
  record(file.path, law("seek"), kind, {}, 1);
  std::istringstream lines(file.read());
  std::string head, scope;
  std::getline(lines, head);
  std::getline(lines, scope);
  auto text = head + "\n";
  for (int i = 0; i < 1100; ++i)
    text +=
        std::regex_replace(scope, std::regex("\"scope\":0"), fmt::format("\"scope\":{}", i)) + "\n";
  file.write(text);
  try {
    replay(file.path);
    ADD_FAILURE() << "no error";
  } catch (fatal const& e) {
    EXPECT_EQ(e.what(), file.path + ":1003: more than 1000 scopes at once");
  }
}

TEST(replay, what_is_no_trace_is_named_by_line) {
  temporary file;
  record(file.path, law("seek"), kind, {}, 1);
  auto const text = file.read();
  auto const changed = [&](std::string_view from, std::string_view to) {
    auto copy = text;
    return copy.replace(copy.find(from), from.size(), to);
  };
  struct {
    std::string text, error;
  } const rows[] = {
      {"", ": it is empty, not a trace"},
      {"x\n", ":1: not a line of a trace, a JSON object"},
      {"{}\n", ":1: no trace begins so: see headway run --trace"},
      {changed(R"("headway_trace":2)", R"("headway_trace":3)"),
       R"(:1: "headway_trace" is not a whole number from 1 to 2)"},
      {changed(R"("headway_trace":2)", R"("headway_trace":2,"leave":7)"),
       ":1: \"leave\" is not from 0 to 1"},
      {changed(R"("stand_in_line")", R"("sit")"),
       R"(:1: "throttled" is not one of stand_in_line, back_off, share_level)"},
      {changed(R"("scope":0,"call")", R"("scope":1,"call")"), ":3: there is no scope 1 here"},
      {changed(R"("cost":1)", R"("cost":0)"),
       R"(:3: "cost" is not a whole number from 1 to 9223372036854775807)"},
      {changed(R"({"t":1000000,)", "{"),
       R"(:3: "t" is not a whole number from 0 to 4000000000000000000)"},
      {changed(R"("call":"start")", R"("call":"stop")"),
       ":4: \"call\" is not one of scope, submit, start, learn, finish, cancel, wakeup, look, "
       "claim, limit, leave, end"},
      {changed("}\n{\"t\"", "}" + std::string(300'000, ' ') + "\n{\"t\""),
       ":2: the line has more than 262142 bytes"},
  };
  for (auto const& row : rows) {
    file.write(row.text);
    try {
      replay(file.path);
      ADD_FAILURE() << "no error: " << row.error;
    } catch (fatal const& e) {
      EXPECT_EQ(e.code, exit_usage);
      EXPECT_EQ(e.what(), file.path + row.error);
    }
  }
}

TEST(what_if, answers_stay_with_their_place) {
  temporary file;
  record(file.path, law("seek"), moody);
  for (auto const& l : shipped_laws()) {
    SCOPED_TRACE(l.name);
    auto const r = what_if(file.path, std::string(l.name));
    EXPECT_EQ(r.law, "seek");
    EXPECT_EQ(r.recorded.requests, 200);
    EXPECT_EQ(r.other.requests + r.unanswered, 200);
    EXPECT_LE(r.other.attempts, r.recorded.attempts);
    EXPECT_LE(r.other.throttled, r.recorded.throttled);
    EXPECT_GE(r.other.attempts, r.recorded.attempts - 20);  // gives up others than the run did
    EXPECT_EQ(r.ahead > 0, r.ahead_max > 0ns);
  }
}

TEST(what_if, the_recorded_law_sends_as_it_did) {
  temporary file;
  record(file.path, law("seek"), kind);
  auto const r = what_if(file.path, "seek");
  EXPECT_EQ(r.other, r.recorded);
  EXPECT_EQ(r.ahead, 0);
}

TEST(what_if, one_worker_has_one_in_flight_for_each_scope) {
  temporary file;
  record(file.path, law("reno"), kind);
  auto const r = what_if(file.path, "auto-sleeper");
  EXPECT_GT(r.recorded.in_flight_max, 10);
  EXPECT_EQ(r.other.in_flight_max, 2);  // one for each scope
  EXPECT_EQ(r.other.attempts, 200);
}

TEST(what_if, ceilings_of_the_run_hold) {
  temporary file;
  record(file.path, law("auto-sleeper"), kind, {.rate_ceiling = gcra{.interval = 100ms}}, 30);
  auto const r = what_if(file.path, "fixed");
  EXPECT_EQ(r.other.attempts, 60);
  EXPECT_LE(r.other.peak, 11U);
  EXPECT_EQ(r.other.last, r.recorded.last);  // the ceiling bound both
}

TEST(what_if, a_full_run_has_the_next_request_at_hand) {
  temporary file;
  record(file.path, law("auto-sleeper"), kind, {.queue_max = 4}, 40);
  auto const r = what_if(file.path, "fixed");
  EXPECT_EQ(r.other.in_flight_max, 4);
  EXPECT_LT(r.other.last, r.recorded.last / 3);
}

/// Ten requests that a quota let go a second apart.
void record_of_quota(std::string const& path) {
  trace to(path);
  to.head({.law = law("fixed"), .settings = {}, .began = began});
  traced_governor g(&to, 0, "h", law("fixed"), {});
  for (int i = 0; i < 10; ++i) g.submit(began, {});
  for (int i = 0; i < 10; ++i) {
    auto const now = began + i * duration(1s);
    auto const t = g.next(now).value();
    g.start(now, t, 1, i > 0 ? std::optional(now) : std::nullopt);
    g.finish(now + 10ms, t, {}, 1);
  }
  g.end();
  to.flush();
}

TEST(what_if, no_law_is_ahead_of_the_quotas_of_the_run) {
  temporary file;
  record_of_quota(file.path);
  EXPECT_FALSE(replay(file.path).first_difference);
  for (auto const* const name : {"seek", "reno", "hammer", "aws-adaptive", "exponential-full"}) {
    auto const r = what_if(file.path, name);
    EXPECT_EQ(r.other.requests, 10) << name;
    EXPECT_GE(r.other.last, 9s) << name;
    EXPECT_EQ(r.ahead, 0) << name;
  }
}

TEST(what_if, knows_each_law_that_needs_no_limit) {
  temporary file;
  record_of_quota(file.path);
  EXPECT_GT(laws_of_what_if().size(), 25U);
  for (auto const& name : laws_of_what_if())
    EXPECT_EQ(what_if(file.path, name).other.requests, 10) << name;
  EXPECT_THROW(what_if(file.path, "told"), fatal);
  EXPECT_THROW(what_if(file.path, "sek"), fatal);
}

}  // namespace
}  // namespace headway::app
