#include "status/progress.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr time_point now{100s};

standing with(hindrance const& h) {
  return {.total = 3000,
          .success = 395,
          .failed = 5,
          .attempts = 500,
          .throttled = 5,
          .in_flight = 4,
          .waiting = {h}};
}

hindrance const dead{hindrance::kind::broken, "127.0.0.1:8080", "broken: connection refused",
                     "16 of 16", now + 12s};

TEST(progress_line, whole) {
  EXPECT_EQ(progress_line(with(dead), {50, 52}, now, 200),
            "400 / 3000 · 50/s · 52 s left · 5 failed · 127.0.0.1:8080 broken: connection refused "
            "(16 of 16), next try in 12 s · 5 throttled (1.0 %) · 4 in flight");
}

TEST(progress_line, the_reason_survives_where_there_is_little_room) {
  EXPECT_EQ(progress_line(with(dead), {50, 52}, now, 79),
            "400 / 3000 · 50/s · 127.0.0.1:8080 broken: connection refused, next try in 12 s");
  EXPECT_EQ(progress_line(with(dead), {50, 52}, now, 59),
            "400 / 3000 · 127.0.0.1:8080 broken: connection refused");
  EXPECT_EQ(progress_line(with(dead), {50, 52}, now, 49),
            "400 / 3000 · 50/s · broken: connection refused");
  for (std::size_t columns = 0; columns < 200; ++columns) {
    auto const text = progress_line(with(dead), {50, 52}, now, columns);
    EXPECT_LE(columns_of(text), columns);
    EXPECT_EQ(printable(text), text) << "a character is cut in two";
    if (columns > 40) {
      EXPECT_NE(text.find("connection refused"), text.npos) << columns;
    }
  }
}

TEST(progress_line, a_turn_is_waited_for_in_one_word) {
  EXPECT_EQ(
      progress_line(with({hindrance::kind::turn, "", "pace", "", now + 10ms}), {50, 52}, now, 60),
      "400 / 3000 · 50/s · 52 s left · 5 failed · waiting: pace");
}

TEST(progress_line, of_several_hosts_in_trouble_the_worst_and_how_many) {
  auto s = with(dead);
  s.waiting.push_back(
      {hindrance::kind::throttled, "h5:80", "throttled: status 429", "9 of 20", now});
  EXPECT_NE(progress_line(s, {50, 52}, now, 300)
                .find("h5:80 throttled: status 429 (9 of 20), trying now"),
            std::string::npos);
  EXPECT_NE(progress_line(s, {50, 52}, now, 95).find("(and 1 more)"), std::string::npos);
}

TEST(progress_json, names_host_reason_and_last_error) {
  auto s = with(dead);
  s.last_error = "h: status 500: \"x\"";
  auto const json = progress_json(s, {50, 52}, now, 4s);
  for (auto const* const part :
       {R"("per_second":50.000,"left_s":52.0,)",
        R"x("waiting_for":"broken: connection refused (16 of 16)","waiting_at":"127.0.0.1:8080",)x",
        R"("waiting_s":12.000,"last_error":"h: status 500: \"x\""})"})
    EXPECT_NE(json.find(part), json.npos) << json;
}

TEST(progress_line, forecasts_nothing_where_nothing_gets_on) {
  auto stalled = dead;
  stalled.stalls = true;
  auto const line = progress_line(with(stalled), {50, 52}, now, 500);
  EXPECT_EQ(line.find("left"), line.npos) << line;
  EXPECT_EQ(line.find("/s"), line.npos) << line;
  EXPECT_NE(progress_line(with(dead), {50, 52}, now, 500).find("left"), line.npos);
  EXPECT_NE(progress_json(with(stalled), {50, 52}, now, 1s).find(R"("left_s":null)"), line.npos);
}

TEST(summary, says_what_earlier_runs_left_and_what_to_do) {
  standing const s{.total = 10,
                   .before = 9,
                   .failed_before = 2,
                   .unknown_before = 1,
                   .success = 1,
                   .attempts = 1};
  EXPECT_EQ(summary(s, 2s),
            "1 succeeded, 0 failed, 0 unknown, 9 were done before (2 of them failed, 1 unknown) in "
            "2.0 s (30/min)\n1 attempts, 0 throttled (0.0 %), 0 broken, at most 0 in flight\n");
  EXPECT_EQ(next_step(s, true),
            "next: the same command with --again failed sends again what failed, with --again "
            "unknown what may have been carried out\n");
  EXPECT_EQ(next_step(s, false), "");
  EXPECT_EQ(next_step({.success = 3}, true), "");
}

TEST(summary, tells_what_other_hosts_did_from_what_was_done_before) {
  auto const told = [](std::int64_t elsewhere) {
    auto const all = summary({.total = 10, .before = 9, .elsewhere = elsewhere, .success = 1}, 2s);
    return all.substr(0, all.find(" in 2.0 s"));
  };
  EXPECT_EQ(
      told(7),
      "1 succeeded, 0 failed, 0 unknown, 2 were done before, 7 were done by other hosts meanwhile");
  EXPECT_EQ(told(9), "1 succeeded, 0 failed, 0 unknown, 9 were done by other hosts meanwhile");
}

/// A server that answers nothing for so long, then evenly.
double speed_after(duration all, duration first_answer, duration gap, duration tick) {
  speed s;
  std::int64_t ended = 0;
  for (duration at = tick; at <= all; at += tick) {
    auto const by_now = at < first_answer ? 0 : 1 + (at - first_answer) / gap;
    s.add(tick, by_now - ended);
    ended = by_now;
  }
  return s.per_second();
}

TEST(speed, is_near_the_truth_five_seconds_after_the_start) {
  EXPECT_NEAR(speed_after(5s, 20ms, 10ms, 125ms), 100, 10);
  EXPECT_NEAR(speed_after(5s, 2s, 10ms, 125ms), 100, 10);
  EXPECT_NEAR(speed_after(5s, 400ms, 400ms, 125ms), 2.5, 0.5);
  EXPECT_NEAR(speed_after(60s, 10s, 10s, 125ms), 0.1, 0.02);
  EXPECT_EQ(speed_after(5s, 10s, 10s, 125ms), 0);
}

TEST(speed, follows_a_change_within_some_seconds) {
  speed s;
  for (int i = 0; i < 480; ++i) s.add(125ms, 10);
  EXPECT_NEAR(s.per_second(), 80, 1);
  for (int i = 0; i < 80; ++i) s.add(125ms, 1);
  EXPECT_LT(s.per_second(), 20);
}

/// Seconds left when `second` is over, of a server that lets 100 of 300 go at the begin of each
/// 60 s.
double left_in_a_window(int second) {
  speed s;
  std::int64_t came = 0;
  for (int i = 0; i <= second; ++i) {
    came += i % 60 == 0 ? 100 : 0;
    s.add(1s, i % 60 == 0 ? 100 : 0);
    s.hold(std::chrono::seconds(59 - i % 60));
  }
  return s.foretell(300 - came).seconds_left;
}

TEST(speed, what_is_left_falls_while_nothing_can_come) {
  for (int second = 0; second < 119; ++second)
    EXPECT_NEAR(left_in_a_window(second), 120 - second, 1) << second;
  EXPECT_EQ(left_in_a_window(120), 0) << "all have come";
}

// A window of a minute that had begun 40 s before, and gives 60 at 6/s.
TEST(speed, what_is_left_knows_a_window_that_had_begun) {
  speed s;
  std::int64_t came = 0;
  auto const go_on = [&](int from, int to) {
    for (int now_s = from; now_s < to; ++now_s) {
      auto const into = (now_s + 40) % 60;
      auto const some = now_s < 10 || into < 10 ? 6 : 0;
      came += some;
      s.add(1s, some);
      s.hold(std::chrono::seconds(some == 0 ? 59 - into : 0));
    }
  };
  go_on(0, 31);
  for (int second = 31; second < 150; ++second) {
    if (second > 45) {
      EXPECT_NEAR(s.foretell(240 - came).seconds_left, 150 - second, 5) << second;
    }
    go_on(second, second + 1);
  }
  EXPECT_EQ(came, 240);
}

/// As many have come in so long, and then nothing could for as long as `shut`.
speed after_a_hold(duration open, std::int64_t came, duration shut) {
  speed s;
  s.add(open, came);
  s.hold(shut);
  s.add(shut, 0);
  return s;
}

TEST(speed, what_is_left_takes_no_less_than_nothing_can_come_for) {
  speed s;
  s.add(100s, 1000);
  s.hold(50s);
  EXPECT_EQ(s.foretell(1).seconds_left, 50);
  speed brief;
  for (int i = 0; i < 80; ++i) brief.add(125ms, 1);
  brief.hold(4s);
  EXPECT_EQ(brief.foretell(1).seconds_left, 4);
}

TEST(speed, what_is_left_goes_no_faster_than_between_holds) {
  auto s = after_a_hold(1s, 60, 59s);
  for (int i = 0; i < 6; ++i) {
    s.add(1s, 6);
    s.hold(0s);
  }
  EXPECT_NEAR(s.foretell(24).seconds_left, 4, 0.1);
}

// A pause of a minute after two seconds of 10/s, and none after it.
TEST(speed, what_is_left_follows_when_the_holds_are_over) {
  auto s = after_a_hold(2s, 20, 60s);
  s.hold(0s);
  auto before = s.foretell(980).seconds_left;
  for (int i = 1; i <= 60; ++i) {
    s.add(1s, 10);
    s.hold(0s);
    auto const left = s.foretell(980 - 10 * i).seconds_left;
    EXPECT_LT(left, before) << i;
    before = left;
  }
  EXPECT_NEAR(before, 76, 1) << "twice what it is: of two minutes one was a hold";
}

TEST(speed, what_is_left_grows_where_nothing_comes_after_a_hold) {
  auto s = after_a_hold(1s, 60, 59s);
  s.hold(0s);
  EXPECT_NEAR(s.foretell(120).seconds_left, 61, 1);
  s.add(60s, 0);
  EXPECT_GT(s.foretell(120).seconds_left, 100);
}

// 100 in the first second of each 20: of late that is 100/s, or nothing.
TEST(speed, by_fits_and_starts_is_the_mean_of_all) {
  speed s;
  for (int window = 0; window < 3; ++window)
    for (int second = 0; second < 20; ++second) {
      s.add(1s, second == 0 ? 100 : 0);
      s.hold(std::chrono::seconds(19 - second));
      EXPECT_NEAR(s.per_second(), 5, 0.01) << window << ' ' << second;
    }
}

/// A server that lets so many go in each window, in its first second, refuses without a word
/// meanwhile, and is asked each 2 s.
struct silent_window {
  void second() {
    auto const into = at++ % period;
    for (int eighth = 0; eighth < 8; ++eighth) {
      auto const some = into == 0 ? count / 8 : 0;
      came += some;
      s.add(125ms, some, into == 0 ? eighth == 7 : eighth == 0 && into % 2 == 0);
      s.hold(0s);
    }
  }
  speed s{};
  int count = 64, period = 60, at = 0;
  std::int64_t came = 0;
};

// Before: 1 s, 2 s, 5 s …
TEST(speed, there_is_none_while_a_server_stands_that_says_not_for_how_long) {
  silent_window w;
  w.second();
  for (int second = 1; second < 60; ++second) {
    w.second();
    EXPECT_EQ(w.s.foretell(192).seconds_left, 0) << second;
    EXPECT_EQ(w.s.per_second(), 0) << second;
  }
}

// Of five windows the last is open at 240 s.
TEST(speed, what_is_left_is_known_once_such_a_hold_is_over) {
  silent_window w;
  for (int i = 0; i < 61; ++i) w.second();
  for (; w.at < 238; w.second()) {
    auto const told = w.s.foretell(320 - w.came).seconds_left, left = 241.0 - w.at;
    EXPECT_LE(told, 2 * left) << w.at;
    EXPECT_GE(told, left / 2) << w.at;
  }
}

TEST(speed, of_a_hold_that_takes_longer_than_the_last_there_is_none) {
  silent_window w;
  for (int i = 0; i < 61; ++i) w.second();
  w.period = 1000;
  for (int i = 0; i < 100; ++i) w.second();
  EXPECT_EQ(w.s.foretell(100).seconds_left, 0);
}

// 40 at once, then 4/s. Before: 8 times too fast in the first seconds.
TEST(speed, begins_anew_at_the_first_refusal) {
  speed s;
  for (int i = 0; i < 4; ++i) s.add(125ms, 10);
  s.add(125ms, 0, 1);
  EXPECT_EQ(s.foretell(100).seconds_left, 0);
  for (int i = 0; i < 5; ++i) {
    s.add(125ms, 0);
    s.add(125ms, 1, i % 2);
  }
  EXPECT_NEAR(s.foretell(100).seconds_left, 25, 8);
}

TEST(standing, is_held_only_as_long_as_is_told) {
  standing s{.waiting = {{hindrance::kind::throttled, "h", "throttled", "", now + 12s}}};
  EXPECT_EQ(s.held(now), 0s) << "the server may refuse the next one, too";
  s.waiting.front().told = true;
  EXPECT_EQ(s.held(now), 12s);
  s.waiting.front().until = never;
  EXPECT_EQ(s.held(now), 0s);
}

TEST(speed, a_short_hold_changes_nothing) {
  speed s;
  for (int i = 0; i < 480; ++i) {
    s.add(125ms, i < 240 ? 10 : 1);
    s.hold(1s);
  }
  EXPECT_NEAR(s.per_second(), 8, 1);
}

}  // namespace
}  // namespace headway::app
