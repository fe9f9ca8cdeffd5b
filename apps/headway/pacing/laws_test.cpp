#include "pacing/laws.hpp"

#include <gtest/gtest.h>

#include <array>

namespace headway::app {
namespace {

constexpr learned known{.rate = 50, .slots = 0, .latency = 0.2};

any_law named(std::string_view name) {
  return law_named(name).law;
}
/// A law with answers behind it.
any_law after(int successes, any_law l) {
  for (int i = 0; i < successes; ++i) {
    time_point const now{std::chrono::seconds(i)};
    auto const sent = l.take(now, 1, 0);
    l.on_success(now + 200ms, {.sent = sent, .rtt = 200ms}, 0);
  }
  return l;
}

TEST(laws, what_the_default_law_remembers_it_knows_again) {
  auto l = named("seek");
  remember(l, known, {});
  EXPECT_EQ(knowledge_of(l), std::nullopt) << "no answer has confirmed it";
  EXPECT_EQ(knowledge_of(after(2, l)), std::nullopt);
  auto const again = knowledge_of(after(3, l));
  ASSERT_TRUE(again);
  EXPECT_NEAR(again->rate, known.rate, 5);
  EXPECT_EQ(knowledge_of(after(3, named("seek"))), std::nullopt) << "it has met no limit";
}

TEST(laws, the_others_keep_nothing_and_leave_nothing) {
  for (auto const& each : shipped_laws()) {
    if (each.name == "seek") continue;
    auto l = each.law;
    remember(l, known, {});
    EXPECT_EQ(l, each.law) << each.name;
    EXPECT_EQ(knowledge_of(after(3, l)), std::nullopt) << each.name;
    EXPECT_FALSE(leave(l, 0.5)) << each.name;
    EXPECT_EQ(leave_of(l), std::nullopt) << each.name;
  }
}

TEST(laws, the_default_law_leaves_what_it_is_told_to) {
  auto l = named("seek");
  EXPECT_EQ(leave_of(l), 0);
  EXPECT_TRUE(leave(l, 0.3));
  EXPECT_EQ(leave_of(l), 0.3);
}

TEST(laws, findings_name_the_limit) {
  auto l = named("seek");
  EXPECT_EQ(findings(l), "");
  remember(l, known, {});
  EXPECT_EQ(findings(l), "a limit of about 50/s, latency 200 ms");
  remember(l, {.rate = 50, .slots = 10, .latency = 0.2}, {});
  EXPECT_EQ(findings(l), "9 to 10 at once, latency 200 ms") << "refusals began there";
  EXPECT_EQ(findings(named("reno")).substr(0, 11), "a window of");
  EXPECT_EQ(findings(named("fixed")), "");
}

TEST(laws, findings_name_a_window_that_is_told_and_no_rate_within_it) {
  auto l = named("seek");
  remember(l, known, {});
  told_window told;
  auto const tell = [&](double remaining, duration reset) {
    told.look(
        std::array{http::quota{.name = "", .limit = 100, .remaining = remaining, .reset = reset}});
    return findings(l, {.window = told});
  };
  EXPECT_EQ(tell(9, 3s), "a limit of about 50/s, latency 200 ms");
  EXPECT_EQ(tell(0, 2s), "latency 200 ms");
  EXPECT_EQ(tell(99, 20s), "100 in 20 s, latency 200 ms");
}

TEST(laws, findings_name_a_window_that_gives_as_many_each_time) {
  auto l = named("seek");
  remember(l, known, {});
  auto& window = std::get<seek>(l.choice).others.window;
  window = {.seconds = 20, .units = 100, .equal = 1};
  EXPECT_EQ(findings(l), "about 100 in 20 s, latency 200 ms");
  window.units = 900;
  EXPECT_EQ(findings(l), "a limit of about 50/s, latency 200 ms") << "as the window tells";
  window = {.seconds = 20, .units = 100, .equal = 0};
  EXPECT_EQ(findings(l), "a limit of about 50/s, latency 200 ms") << "it was away";
}

/// So much a second was accepted for 20 s, in which requests waited; each other answer within 1 ms.
throughput kept_up(int per_second) {
  throughput t;
  time_point const begin{1s};
  t.waits(begin, true);
  for (int i = 0; i < 20 * per_second; ++i) {
    auto const at = begin + i / 2 * (duration(2s) / per_second) + i % 2 * 1ms;
    t.accepted(at, t.sent(at), at, 1);
  }
  t.waits(begin + 20s, true);
  return t;
}

TEST(laws, no_limit_met_names_a_rate_that_was_kept_up) {
  auto const l = after(3, named("seek"));
  EXPECT_EQ(findings(l, {.through = kept_up(20)}).substr(0, 24), "no limit met up to 20/s,");
  auto refused = kept_up(20);
  refused.refused(time_point{21s}, refused.sent(time_point{21s}), false);
  EXPECT_EQ(findings(l, {.through = refused}), "1 refused, at no certain rate, latency 200 ms");
  told_window told;
  told.look(std::array{http::quota{.name = "", .limit = 100, .remaining = 9, .reset = 3s}});
  EXPECT_EQ(findings(l, {.window = told, .through = kept_up(20)}),
            "20/s over 20 s, latency 200 ms");
  told.look(std::array{http::quota{.name = "", .limit = 100, .remaining = 0, .reset = 3s}});
  EXPECT_EQ(findings(l, {.window = told, .through = kept_up(20)}), "20/s over 20 s, latency 200 ms")
      << "spent, and its length is not known";
}

TEST(laws, a_limit_that_is_not_all_that_holds_comes_with_the_rate_that_was) {
  auto l = named("seek");
  remember(l, known, {});
  EXPECT_EQ(findings(l, {.through = kept_up(40)}), "a limit of about 50/s, latency 200 ms");
  EXPECT_EQ(findings(l, {.through = kept_up(20)}),
            "a limit of about 50/s, but 20/s over 20 s, latency 200 ms");
  EXPECT_EQ(findings(l, {.own = gcra::per(20, 1s), .through = kept_up(20)}),
            "a limit of about 50/s, latency 200 ms")
      << "by the caller's own will";
  EXPECT_EQ(findings(l, {.through = kept_up(20), .shared = true}),
            "a limit of about 50/s, latency 200 ms");
  leave(l, 0.5);
  EXPECT_EQ(findings(l, {.through = kept_up(20)}), "a limit of about 50/s, latency 200 ms");
}

TEST(laws, no_limit_met_is_a_finding_unless_quotas_bind) {
  auto const l = after(3, named("seek"));
  EXPECT_EQ(findings(l).substr(0, 18), "no limit met up to");
  EXPECT_EQ(findings(l, {.quotas_bind = true}), "latency 200 ms");
  EXPECT_EQ(findings(l, {.own = gcra::per(2, 1s), .through = kept_up(50)}).substr(0, 23),
            "no limit met up to 2/s,");
}

/// So many were refused, each after as many that were accepted, evenly.
throughput refused_at(int per_second, int rows, int between = 20) {
  throughput t;
  duration const gap = duration(1s) / per_second;
  auto now = time_point{1s};
  t.waits(now, true);
  for (int row = 0; row <= rows; ++row) {
    for (int i = 0; i < between; ++i, now += gap) t.accepted(now + 1ms, t.sent(now), now, 1);
    t.refused(now - gap / 2, t.sent(now - gap / 2), false);
  }
  t.waits(now, true);
  return t;
}

TEST(laws, findings_name_a_rate_only_where_the_law_and_what_was_accepted_agree) {
  auto l = named("seek");
  remember(l, known, {});
  EXPECT_EQ(findings(l, {.through = refused_at(48, 8)}), "a limit of about 49/s, latency 200 ms");
  EXPECT_EQ(findings(l, {.through = refused_at(30, 8)}), "a limit of at least 30/s, latency 200 ms")
      << "the law met it in a burst";
  EXPECT_EQ(findings(l, {.through = refused_at(48, 1)}).substr(0, 30),
            "a limit of at least 48/s, late")
      << "one row of refusals after another";
  EXPECT_EQ(findings(l, {.own = gcra::per(50, 1s), .through = refused_at(48, 8)}).substr(0, 29),
            "9 refused, at no certain rate")
      << "by the caller's own will";
}

TEST(laws, findings_name_what_an_earlier_run_had_learned_where_it_was_kept_up) {
  auto l = named("seek");
  remember(l, known, {});
  auto once = kept_up(48);
  once.refused(time_point{21s}, once.sent(time_point{21s}), false);
  EXPECT_EQ(findings(l, {.through = once}).substr(0, 29), "1 refused, at no certain rate");
  EXPECT_EQ(findings(l, {.through = once, .knew = true}), "a limit of about 50/s, latency 200 ms");
}

/// A server without a word that closes what is above 30 a second, as bursts of 5 allow; so many
/// requests.
any_law before_a_limit_that_closes(int requests) {
  auto l = named("seek");
  double room = 5;
  time_point seen{}, now{1s};
  for (int i = 0; i < requests; ++i) {
    now = std::max(now + 1us, l.ready_at(1));
    auto const sent = l.take(now, 1, 0);
    room = std::min(5.0, room + 30 * to_seconds(now - seen));
    seen = now;
    sample const s{.sent = sent, .rtt = 10ms};
    if (room < 1) {
      l.on_failure(now + 10ms, s, 0);
    } else {
      room -= 1;
      l.on_success(now + 10ms, s, 0);
    }
  }
  return l;
}

// One at a time, a second each; what waits for more than ten breaks.
TEST(laws, failures_behind_a_queue_are_named) {
  auto l = named("seek");
  auto const start = time_point{1s};
  std::vector<stamp> sent;
  auto now = start;
  for (; sent.size() < 60; now = l.ready_at(1)) sent.push_back(l.take(now, 1, 0));
  for (int i = 0; i < 60; ++i) {
    auto const at = start + (i + 1) * 1s;
    sample const s{.sent = sent[static_cast<std::size_t>(i)],
                   .in_flight = 60 - i,
                   .rtt = at - sent[static_cast<std::size_t>(i)].sent};
    if (i < 30)
      l.on_success(at, s, 0);
    else
      l.on_failure(at, s, 0);
  }
  EXPECT_NE(findings(l).find("which may tell one; the first answers took "), std::string::npos)
      << findings(l);
}

TEST(laws, failures_that_tell_a_limit_are_named) {
  auto const early = before_a_limit_that_closes(45);
  EXPECT_NE(findings(early).find("/s, but many failures, which may tell one, latency"),
            std::string::npos)
      << findings(early);
  EXPECT_EQ(knowledge_of(early), std::nullopt);
  auto const late = before_a_limit_that_closes(600);
  EXPECT_NE(findings(late).find("/s (told by failures), latency"), std::string::npos)
      << findings(late);
  EXPECT_TRUE(knowledge_of(late));
  auto throttled = late;
  throttled.on_throttle(time_point{1h}, {}, resource::unknown, 0);
  EXPECT_EQ(findings(throttled).find("told by failures"), std::string::npos);
}

}  // namespace
}  // namespace headway::app
