#include "pacing/lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>
#include <variant>
#include <vector>

#include "pacing/test_lane.hpp"

namespace headway::app {
namespace {

using kind = lane::turn::kind;

/// A lane that only its quotas hold back: ten tokens a minute, six at once.
struct lane_test : testing::Test {
  ticket submit(double tokens, std::uint32_t number = 0) {
    return std::get<ticket>(l.submit(now, {.size = {.given = {{"tokens", tokens}}}}, number));
  }
  lane::settled answer(ticket t, judgement const& told, bool may_repeat = true) {
    return l.settle(now, t, told, {.status = 200, .may_repeat = may_repeat}, chance());
  }
  /// It goes, and is answered.
  void go(std::uint32_t number, ticket t) {
    auto const turn = l.next(now, chance);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->number, number);
    EXPECT_EQ(turn->what, kind::send);
    EXPECT_EQ(answer(t, {}).ruling.what, verdict::done);
  }

  time_point now{1h};
  rng chance{1};
  std::array<quota_ceiling, 1> quotas{
      {{.name = "tokens", .units = 10, .period = 1min, .burst = 6}}};
  lane l = test_lane("fixed", {.first_alone = 0ns}, quota_book(quotas), 29s);
};

TEST_F(lane_test, requests_go_in_their_order_as_far_as_the_quotas_allow) {
  auto const first = submit(3, 1), second = submit(3, 2), third = submit(1, 3);
  l.open(now, true);
  go(1, first);
  go(2, second);
  EXPECT_EQ(l.why(now), held_back{});
  EXPECT_FALSE(l.next(now, chance));
  EXPECT_EQ(l.why(now).why, reason::quota);
  l.rest(now, true);
  EXPECT_FALSE(l.parked());
  EXPECT_NEAR(to_seconds(l.wake() - now), 6, 1e-3);
  EXPECT_FALSE(l.due(now));
  now = l.wake();
  EXPECT_TRUE(l.due(now));
  l.open(now, true);
  go(3, third);
}

TEST_F(lane_test, a_ceiling_of_its_user_is_told_from_a_quota) {
  submit(6, 1), submit(1, 2);
  l.open(now, true);
  EXPECT_TRUE(l.next(now, chance));
  EXPECT_FALSE(l.next(now, chance));
  EXPECT_EQ(l.hindered(now).why, "quota");
  EXPECT_EQ(l.name_of(l.why(now).why), "quota");
  EXPECT_TRUE(l.hindered(now).told) << "it can go then";
  auto narrow = test_lane("fixed", {.first_alone = 0ns, .in_flight_max = 1});
  narrow.submit(now, {}, 1);
  narrow.submit(now, {}, 2);
  narrow.open(now, true);
  EXPECT_TRUE(narrow.next(now, chance));
  EXPECT_FALSE(narrow.next(now, chance));
  EXPECT_EQ(narrow.why(now).why, reason::quota);
  EXPECT_EQ(narrow.hindered(now).why, "own ceiling");
  EXPECT_EQ(narrow.name_of(narrow.why(now).why), "own ceiling");
}

TEST_F(lane_test, is_parked_where_the_quotas_ask_for_more_patience_than_we_have) {
  go(0, submit(6));
  submit(5);
  EXPECT_FALSE(l.next(now, chance));
  l.rest(now, true);
  EXPECT_TRUE(l.parked());
  EXPECT_NEAR(to_seconds(l.parked_until() - now), 30, 1e-3);
}

TEST_F(lane_test, what_can_never_go_does_not_wait) {
  submit(11, 7);
  auto const after_it = submit(1, 8);
  auto const turn = l.next(now, chance);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->number, 7U);
  EXPECT_EQ(turn->what, kind::never);
  EXPECT_EQ(turn->why, "it needs 11 tokens, but the limit is 10");
  EXPECT_EQ(l.waiting(), 1U);
  EXPECT_EQ(l.in_flight(), 0);
  go(8, after_it);
}

TEST_F(lane_test, what_did_not_go_costs_nothing) {
  auto const first = submit(6), second = submit(6);
  ASSERT_TRUE(l.next(now, chance));
  EXPECT_EQ(l.in_flight(), 1);
  l.cancel(now, first);
  EXPECT_EQ(l.in_flight(), 0);
  go(0, second);
}

TEST_F(lane_test, rests_until_something_happens) {
  l.rest(now, true);
  EXPECT_EQ(l.wake(), never);
  submit(1);
  EXPECT_EQ(l.wake(), now);
}

TEST(lane, gives_back_what_is_left_and_always_refused) {
  auto l = test_lane("fixed", {.hint_max = 10s, .first_alone = 0ns});
  rng chance{1};
  auto now = time_point{1h};
  auto const id = std::get<ticket>(l.submit(now, {}, 5));
  auto what = kind::send;
  while (now < time_point{2h}) {
    l.open(now, true);
    while (auto const turn = what == kind::send ? l.next(now, chance) : std::nullopt) {
      EXPECT_EQ(turn->number, 5U);
      what = turn->what;
      if (what != kind::send) break;
      now = now + 100ms;  // its answer's
      l.settle(now, id, {.what = reaction::rate}, {.status = 429, .may_repeat = true}, chance());
    }
    if (what != kind::send) break;
    l.rest(now, true);
    now = l.wake();
  }
  EXPECT_EQ(what, kind::refused);
  EXPECT_NEAR(to_seconds(now - time_point{1h}), 10, 0.3);
  EXPECT_EQ(l.waiting(), 0U);
}

/// How many go in a second under a ceiling of 5,000/s, and in how many rounds.
struct second_of {
  explicit second_of(std::int64_t burst, std::int64_t cost = 1) {
    auto l = test_lane(
        "fixed",
        {.queue_max = 10'000, .first_alone = 0ns, .rate_ceiling = gcra::per(5000, 1s, burst)});
    rng chance{1};
    time_point const begin{1h};
    for (int i = 0; i < 5200; ++i) l.submit(begin, {.cost = cost}, 0);
    for (auto now = begin; now < begin + 1s; now = l.wake(), ++rounds) {
      l.open(now, true);
      while (l.next(now, chance)) ++sent;
      l.rest(now, true);
    }
  }
  int sent = 0;
  int rounds = 0;
};

TEST(lane, turns_of_a_burst_wait_for_each_other_and_none_is_lost) {
  EXPECT_NEAR(second_of(50).sent, 5050, 7);
  EXPECT_LT(second_of(50).rounds, 1100);
  EXPECT_NEAR(second_of(1).sent, 5005, 2) << "a millisecond for wakes that come late";
  EXPECT_GT(second_of(1).rounds, 4900) << "no burst was asked for";
  EXPECT_NEAR(second_of(50, 50).sent, 101, 1);
  EXPECT_GT(second_of(50, 50).rounds, 99) << "a turn that takes the whole burst";
}

TEST(lane, an_answer_does_not_end_the_wait_for_the_turns_of_a_burst) {
  auto l = test_lane("fixed", {.first_alone = 0ns, .rate_ceiling = gcra::per(5000, 1s, 50)});
  rng chance{1};
  time_point const now{1h};
  auto const first = std::get<ticket>(l.submit(now, {}, 0));
  for (int i = 0; i < 51; ++i) l.submit(now, {}, 0);
  l.open(now, true);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(l.next(now, chance));
  l.rest(now, true);
  auto const wake = l.wake();
  EXPECT_EQ(wake, now + 200us + 1ms);
  l.settle(now, first, {}, {.status = 200}, chance());
  l.submit(now, {}, 0);
  EXPECT_EQ(l.wake(), wake);
}

TEST(lane, while_turns_of_a_burst_wait_for_each_other_the_ceiling_binds_and_not_the_law) {
  trace calls;
  auto l = test_lane("fixed", {.first_alone = 0ns, .rate_ceiling = gcra::per(100, 1s, 3)},
                     quota_book(), 15min, "api.example", &calls);
  rng chance{1};
  time_point const begin{1h};
  std::array<ticket, 4> t{};
  for (auto& one : t) one = std::get<ticket>(l.submit(begin, {}, 0));
  l.open(begin, true);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(l.next(begin, chance));
  l.rest(begin, true);
  ASSERT_EQ(l.wake(), begin + 11ms);
  auto const told_at = [&](duration at, ticket which) {
    calls.clear();
    l.settle(begin + at, which, {}, {.status = 200}, chance());
    return calls.lines().find(R"("held_elsewhere":true)") != std::string_view::npos;
  };
  EXPECT_TRUE(told_at(10500us, t[0])) << "by the ceiling it might go";
  EXPECT_FALSE(told_at(11500us, t[1]));
}

TEST_F(lane_test, a_turn_without_a_send_costs_no_quota) {
  go(0, submit(6));
  ASSERT_TRUE(std::holds_alternative<ticket>(l.submit(now, {.turn_only = true}, 4)));
  auto const turn = l.next(now, chance);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->number, 4U);
  EXPECT_EQ(turn->what, kind::elsewhere);
  EXPECT_EQ(l.in_flight(), 0);
}

TEST_F(lane_test, what_is_called_back_does_not_go) {
  l.call_back(submit(1, 5));
  auto const turn = l.next(now, chance);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->number, 5U);
  EXPECT_EQ(turn->what, kind::elsewhere);
  EXPECT_EQ(l.waiting() + static_cast<std::size_t>(l.in_flight()), 0U);
}

TEST_F(lane_test, nothing_more_goes_once_it_is_stopped) {
  auto const flying = submit(1), broken = submit(1), waiting = submit(1);
  l.open(now, true);
  ASSERT_TRUE(l.next(now, chance));
  ASSERT_TRUE(l.next(now, chance));
  l.stop();
  EXPECT_FALSE(l.next(now, chance));
  auto const no = l.submit(now, {}, 9);
  ASSERT_TRUE(std::holds_alternative<refused>(no));
  EXPECT_EQ(std::get<refused>(no).why, reason::cancelled);
  // What was in flight comes back refused, and broken: neither waits again.
  EXPECT_EQ(answer(flying, {.what = reaction::rate}).ruling.what, verdict::retry);
  EXPECT_EQ(answer(broken, {.what = reaction::transient}).ruling.what, verdict::retry);
  EXPECT_EQ(l.waiting(), 1U);
  l.cancel(now, waiting);
  EXPECT_EQ(l.waiting(), 0U);
  EXPECT_EQ(l.in_flight(), 0);
  now = now + 1h;
  EXPECT_FALSE(l.next(now, chance));
}

TEST_F(lane_test, a_head_tells_of_quotas_once_and_its_end_gives_the_permit_back) {
  auto with_law = test_lane("seek", {.first_alone = 0ns});
  auto const t = std::get<ticket>(with_law.submit(now, {}, 0));
  with_law.open(now, true);
  ASSERT_TRUE(with_law.next(now, chance));
  judgement told{.quotas = {{.name = "requests", .limit = 9, .remaining = 0, .reset = 20s}}};
  told.in_fields = 1;
  with_law.hear(now + 1s, t, told, 200, chance());
  EXPECT_EQ(with_law.in_flight(), 1);
  with_law.submit(now + 1s, {}, 1);
  with_law.settle(now + 15s, t, told, {.status = 200}, chance());
  EXPECT_EQ(with_law.in_flight(), 0);
  with_law.open(now + 15s, true);
  EXPECT_FALSE(with_law.next(now + 15s, chance));
  EXPECT_EQ(with_law.why(now + 15s).until, now + 21s) << "the reset is as old as the head";
}

/// Ten lines that go again and again, before a server that allows `second` in each second and
/// `minute` in each minute, and says nothing; for so long. Answers take 20 ms.
lane before_two_limits(int second, int minute, duration time) {
  auto l = test_lane();
  rng chance{1};
  time_point now{1h};
  std::vector<ticket> lines;
  for (std::uint32_t n = 0; n < 10; ++n) lines.push_back(std::get<ticket>(l.submit(now, {}, n)));
  std::queue<std::pair<time_point, std::uint32_t>> flying;
  std::pair<time_point, int> of_second{now, 0}, of_minute{now, 0};
  auto const counted = [&](auto& window, duration length) -> int& {
    if (now - window.first >= length) window = {now, 0};
    return window.second;
  };
  for (auto const end = now + time; now < end;) {
    l.open(now, true);
    while (auto const turn = l.next(now, chance)) flying.emplace(now, turn->number);
    l.rest(now, true);
    auto const answered = flying.empty() ? never : flying.front().first + 20ms;
    now = std::min(l.wake(), answered);
    if (now < answered) continue;
    auto const [sent, number] = flying.front();
    flying.pop();
    auto &a = counted(of_second, 1s), &b = counted(of_minute, 1min);
    auto const ok = a < second && b < minute;
    if (ok) ++a, ++b;
    auto const got = l.settle(now, lines[number], {.what = ok ? reaction::served : reaction::rate},
                              {.status = ok ? 200 : 429, .sent = sent}, chance());
    if (got.ruling.what == verdict::done)
      lines[number] = std::get<ticket>(l.submit(now, {}, number));
  }
  return l;
}

TEST(lane, finds_no_limit_that_it_was_not_kept_to) {
  auto const one = before_two_limits(10, 1000, 5min).findings();
  EXPECT_EQ(one.find("a limit of about "), 0U) << one;
  EXPECT_EQ(one.find(", but "), one.npos) << one;
  auto const two = before_two_limits(10, 150, 2min).findings();
  EXPECT_EQ(two.find("a limit of "), two.npos) << two;
  EXPECT_NE(two.find("refused, at no certain rate, "), two.npos) << two;
  auto const none = before_two_limits(1000000, 1000000, 1s).findings();
  EXPECT_EQ(none.find("no limit met up to 1"), 0U) << none;
}

/// Sixteen in ten seconds. Of three windows the second is spent, though two went from here: of the
/// third three may go.
struct lane_of_many {
  explicit lane_of_many(duration wait_max = 15min)
      : l(test_lane("seek", {.first_alone = 0ns}, quota_book(), wait_max)) {}

  void ask(duration at, double remaining, duration reset) {
    auto const now = began + at;
    auto const t = std::get<ticket>(l.submit(now, {}, 0));
    l.open(now, true);
    EXPECT_TRUE(l.next(now, chance));
    judgement const told{
        .quotas = {{.name = "requests", .limit = 16, .remaining = remaining, .reset = reset}},
        .in_fields = 1};
    if (by_head) l.hear(now, t, told, 200, chance());
    l.settle(now, t, told, {.status = 200}, chance());
  }
  bool knows_others() const { return std::get<seek>(l.law_state().choice).others.shown; }
  void two_windows() {
    ask(0s, 15, 10s);
    ask(10s, 15, 10s);
    EXPECT_FALSE(knows_others());
    ask(11s, 0, 9s);
  }
  /// Returns whether a fourth one goes in the third.
  bool goes_on() {
    ask(20s, 15, 10s);
    ask(21s, 14, 9s);
    ask(22s, 13, 8s);
    l.submit(began + 23s, {}, 0);
    l.open(began + 23s, true);
    auto const goes = l.next(began + 23s, chance).has_value();
    l.rest(began + 23s, true);
    EXPECT_FALSE(l.parked());
    return goes;
  }

  time_point const began{1h};
  rng chance{1};
  bool by_head = false;
  lane l;
};

TEST(lane, leaves_a_part_of_a_quota_to_others_and_its_law_knows_of_them) {
  for (bool const by_head : {true, false}) {
    lane_of_many to;
    to.by_head = by_head;
    to.two_windows();
    EXPECT_TRUE(to.knows_others());
    EXPECT_FALSE(to.goes_on());
    auto& l = to.l;
    EXPECT_EQ(l.why(to.began + 23s), (held_back{reason::others, l.wake()}));
    auto const told = l.hindered(to.began + 23s);
    EXPECT_EQ(told.why, "the rest of this window is left to others that share it");
    EXPECT_EQ(told.until, l.wake());
    l.open(l.wake(), true);
    EXPECT_TRUE(l.next(l.wake(), to.chance));
  }
}

TEST(lane, leaves_nothing_to_others_for_longer_than_its_patience) {
  lane_of_many to(4s);
  to.two_windows();
  EXPECT_TRUE(to.goes_on());
}

/// A pace that others share, in which only their number matters.
struct accompanied final : pace {
  explicit accompanied(any_law l) : law_(std::move(l)) {}
  void refresh(time_point, int, int) noexcept override {}
  bool claim(time_point, std::int64_t, fraction) noexcept override { return true; }
  void hold(time_point) noexcept override {}
  time_point held_until() const noexcept override { return time_point::min(); }
  time_point look_again(time_point) const noexcept override { return never; }
  int company() const noexcept override { return 1; }
  any_law const& law() const noexcept override { return law_; }
  time_point ready_at(std::int64_t cost) const noexcept override { return law_.ready_at(cost); }
  double allowed() const noexcept override { return law_.allowed(); }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept override {
    return law_.take(now, cost, u);
  }
  void on_success(time_point, sample const&, fraction) noexcept override {}
  void on_throttle(time_point, sample const&, resource, fraction) noexcept override {}
  void on_failure(time_point, sample const&, fraction) noexcept override {}
  void on_hint(time_point, hint const&) noexcept override {}
  any_law law_;
};

TEST(lane, leaves_nothing_to_those_that_share_its_pace) {
  lane_of_many to;
  to.l.leave(to.began, 0, {.with = std::make_shared<accompanied>(to.l.law_state())});
  to.two_windows();
  EXPECT_TRUE(to.goes_on());
}

/// Clients of one window that a policy tells, with seconds rounded up, as express-rate-limit does;
/// each has lines enough.
struct shared_server {
  struct client {
    lane l;
    std::vector<ticket> lines{};  // by their number
    std::vector<int> accepted{};  // in each window
  };
  struct answer {
    time_point at;
    std::size_t to;
    std::uint32_t line;
    time_point sent;
    judgement says;
    int status;
    bool operator<(answer const& b) const noexcept { return at > b.at; }
  };

  shared_server(int limit, duration window, std::size_t clients, std::uint64_t seed)
      : limit_(limit), window_(window), chance_{seed} {
    for (std::size_t i = 0; i < clients; ++i) {
      all_.push_back({.l = test_lane()});
      for (std::uint32_t n = 0; n < 50; ++n)
        all_[i].lines.push_back(std::get<ticket>(all_[i].l.submit(now_, {}, n)));
    }
  }

  /// Until so many windows are over.
  void run(std::size_t windows) {
    while (windows_ <= windows) {
      for (std::size_t i = 0; i < all_.size(); ++i) send(i);
      auto next = flying_.empty() ? never : flying_.top().at;
      for (auto const& c : all_) next = std::min(next, c.l.wake());
      ASSERT_GT(next, now_);
      ASSERT_NE(next, never);
      now_ = next;
      while (!flying_.empty() && flying_.top().at <= now_) hear();
    }
  }

  /// Of what was accepted in the later half of the windows.
  double jain() const {
    double sum = 0, squares = 0;
    for (auto const& c : all_) {
      auto const half = c.accepted.begin() + static_cast<std::ptrdiff_t>(c.accepted.size() / 2);
      auto const n = static_cast<double>(std::accumulate(half, c.accepted.end(), 0));
      sum += n, squares += n * n;
    }
    return sum * sum / (static_cast<double>(all_.size()) * squares);
  }

 private:
  void send(std::size_t i) {
    auto& l = all_[i].l;
    if (!l.due(now_)) return;
    l.open(now_, true);
    while (auto const turn = l.next(now_, chance_)) {
      if (now_ >= ends_) {
        ends_ = now_ + window_, left_ = limit_, ++windows_;
        for (auto& c : all_) c.accepted.resize(windows_);
      }
      auto const ok = left_ > 0;
      left_ -= ok, all_[i].accepted.back() += ok;
      auto const reset = std::chrono::ceil<std::chrono::seconds>(ends_ - now_);
      judgement says{.quotas = {{.name = "requests",
                                 .limit = limit_,
                                 .remaining = left_,
                                 .reset = reset,
                                 .window = window_}}};
      if (!ok) says.what = reaction::rate, says.hold = reset;
      auto const at = now_ + from_seconds(0.005 + 0.02 * unit(chance_()));
      flying_.push({at, i, turn->number, now_, std::move(says), ok ? 200 : 429});
    }
    l.rest(now_, true);
  }
  void hear() {
    auto const a = flying_.top();
    flying_.pop();
    auto& [l, lines, accepted] = all_[a.to];
    auto const got =
        l.settle(now_, lines[a.line], a.says, {.status = a.status, .sent = a.sent}, chance_());
    if (got.ruling.what == verdict::done)
      lines[a.line] = std::get<ticket>(l.submit(now_, {}, a.line));
  }

  int limit_;
  duration window_;
  rng chance_;
  time_point now_{1h}, ends_{};
  int left_ = 0;
  std::size_t windows_ = 0;
  std::vector<client> all_{};
  std::priority_queue<answer> flying_{};
};

// HEADWAY_WINDOW_SEEDS=n for n seeds of each.
TEST(lane, shares_a_window_that_a_policy_tells) {
  auto const* const wanted = std::getenv("HEADWAY_WINDOW_SEEDS");
  auto const seeds = wanted ? std::strtoull(wanted, nullptr, 10) : 10;
  struct {
    int limit;
    duration window;
    std::size_t clients;
  } const servers[] = {{50, 2s, 2}, {50, 2s, 3}, {100, 10s, 2}, {100, 10s, 4}, {300, 1min, 2}};
  for (auto const& [limit, window, clients] : servers)
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      shared_server server(limit, window, clients, seed);
      server.run(80);  // after 40 two of 300 runs are below .9
      EXPECT_GE(server.jain(), 0.9) << limit << " for " << clients << ", seed " << seed;
    }
}

// ── a ban ───────────────────────────────────────────────────────────────────────────────────────

TEST(ban, is_a_403_right_after_throttles_where_requests_were_served_before) {
  time_point const begin{1h};
  auto const at = [&](duration d) { return begin + d; };
  ban b;
  b.throttled(at(0s), at(0s));
  EXPECT_FALSE(b.says(403, at(1s), 1min)) << "nothing was ever served";
  b.served(at(1s));
  EXPECT_FALSE(b.says(403, at(2s), 1min)) << "it is the request's own";
  b.throttled(at(3s), at(2s));
  EXPECT_TRUE(b.says(403, at(4s), 1min));
  EXPECT_TRUE(b.says(418, at(4s), 1min));
  EXPECT_FALSE(b.says(401, at(4s), 1min));
  EXPECT_FALSE(b.says(404, at(4s), 1min));
  b.served(at(1s));
  EXPECT_TRUE(b.says(403, at(5s), 1min)) << "what was sent before the throttle says nothing";
  b.throttled(at(30s), at(29s));
  EXPECT_FALSE(b.says(403, at(64s), 1min)) << "it has lasted for longer than we have patience";
  b.served(at(65s));
  EXPECT_FALSE(b.says(403, at(66s), 1min)) << "it is over";
}

TEST_F(lane_test, is_not_idle_while_a_request_will_come_back) {
  EXPECT_EQ(l.in_flight(), 0);
  lane_pin pin(l);
  EXPECT_EQ(l.in_flight(), 1);
  auto other = std::move(pin);
  EXPECT_EQ(l.in_flight(), 1);
  other = {};
  EXPECT_EQ(l.in_flight(), 0);
}

// ── what an answer teaches ──────────────────────────────────────────────────────────────────────

struct settle_test : testing::Test {
  explicit settle_test(lane of = test_lane()) : l(std::move(of)) {}
  void send() {
    t = std::get<ticket>(l.submit(now, {}, 0));
    l.open(now, true);
    ASSERT_TRUE(l.next(now, chance));
  }
  lane::settled settle(judgement const& told, int status = 200, bool may_repeat = true) {
    return l.settle(now, t, told, {.status = status, .may_repeat = may_repeat}, chance());
  }

  time_point now{1h};
  rng chance{1};
  lane l;
  ticket t{};
};

TEST_F(settle_test, an_answer_is_a_success_whatever_the_caller_thinks_of_it) {
  for (auto const what : {reaction::served, reaction::permanent}) {
    send();
    auto const got = settle({.what = what}, 404);
    EXPECT_EQ(got.taught, outcome::success);
    EXPECT_EQ(got.ruling.what, verdict::done);
    now = now + 1min;
  }
}

TEST_F(settle_test, a_throttle_holds_as_long_as_the_server_says) {
  send();
  auto const got = settle({.what = reaction::rate, .hold = duration(7s)}, 429);
  EXPECT_EQ(got.taught, outcome::throttle);
  EXPECT_EQ(got.ruling.what, verdict::retry);
  EXPECT_GE(got.ruling.until, now + 7s);
  EXPECT_EQ(l.why(now).why, reason::server_hint);
}

TEST_F(settle_test, a_success_holds_as_long_as_the_server_says) {
  send();
  EXPECT_EQ(settle({.what = reaction::served, .hold = duration(7s)}).taught, outcome::success);
  l.submit(now, {}, 0);
  EXPECT_EQ(l.why(now), (held_back{reason::server_hint, now + 7s}));
}

TEST_F(settle_test, only_what_is_safe_may_go_again) {
  send();
  EXPECT_EQ(settle({.what = reaction::transient}, 0).ruling.what, verdict::retry);
  l.cancel(now, t);
  now = now + 1min;
  send();
  EXPECT_EQ(settle({.what = reaction::transient}, 0, false).ruling.what, verdict::give_up);
}

TEST_F(settle_test, what_says_nothing_teaches_nothing) {
  send();
  auto const before = l.law_state();
  auto const got =
      l.settle(now, t, {.what = reaction::transient}, {.says_nothing = true}, chance());
  EXPECT_EQ(got.taught, outcome::ignore);
  EXPECT_EQ(got.ruling.what, verdict::done);
  EXPECT_EQ(l.law_state(), before);
}

TEST_F(settle_test, a_long_quota_parks) {
  send();
  auto const got = settle({.what = reaction::long_quota}, 429);
  EXPECT_EQ(got.taught, outcome::throttle);
  EXPECT_EQ(got.ruling.what, verdict::park);
  EXPECT_TRUE(l.parked());
  EXPECT_EQ(l.parked_until(), got.ruling.until);
}

TEST_F(settle_test, a_long_hint_parks_also_with_a_success) {
  send();
  EXPECT_EQ(settle({.what = reaction::served,
                    .quotas = {{.name = "", .limit = 100, .remaining = 0, .reset = duration(24h)}}})
                .ruling.what,
            verdict::done);
  EXPECT_FALSE(l.parked()) << "nothing waits";
  EXPECT_TRUE(std::holds_alternative<ticket>(l.submit(now, {}, 0)));
  l.open(now, true);
  EXPECT_FALSE(l.next(now, chance));
  l.rest(now, true);
  EXPECT_TRUE(l.parked());
  EXPECT_EQ(l.parked_until(), now + 24h);
}

TEST_F(settle_test, a_reset_in_milliseconds_is_waited_for_as_that) {
  auto const ends = now + 20s;
  for (double remaining = 5; remaining >= 0; --remaining) {
    send();
    settle({.what = reaction::served,
            .quotas = {
                {.name = "", .limit = 6, .remaining = remaining, .reset = 1000 * (ends - now)}}});
    now += 50ms;
  }
  EXPECT_TRUE(std::holds_alternative<ticket>(l.submit(now, {}, 0)));
  l.open(now, true);
  EXPECT_FALSE(l.next(now, chance));
  l.rest(now, true);
  EXPECT_FALSE(l.parked());
  EXPECT_EQ(l.why(now).why, reason::server_hint);
  EXPECT_EQ(l.why(now).until, ends + 1ms);
}

struct unpaced_settle_test : settle_test {
  unpaced_settle_test() : settle_test(test_lane("exponential")) {}
};

TEST_F(unpaced_settle_test, the_quotas_are_waited_for_until_they_have_been_wrong_too_often) {
  judgement const told{
      .what = reaction::quota,
      .hold = duration(5s),
      .quotas = {{.name = "requests", .limit = 100, .remaining = 0, .reset = duration(5s)}}};
  std::vector<reason> held;
  for (int i = 0; i < 10; ++i) {
    send();
    settle(told, 429);
    held.push_back(l.why(now).why);
    l.cancel(now, t);
    now = now + 6s;
  }
  EXPECT_EQ(held[0], reason::server_hint);  // which tells the quotas
  for (std::size_t i = 1; i < 8; ++i) EXPECT_NE(held[i], reason::server_hint) << i;
  EXPECT_EQ(held[8], reason::server_hint);
}

/// A server that wants to be left alone for 31 years, where an hour of that is believed.
struct exaggeration_test : testing::TestWithParam<judgement> {
  ticket submit() { return std::get<ticket>(l.submit(now, {}, 0)); }
  bool goes() {
    l.resume(now);
    l.open(now, true);
    auto const turn = l.next(now, chance);
    l.rest(now, true);
    return turn.has_value();
  }
  time_point now{1h};
  rng chance{1};
  lane l =
      test_lane("fixed", {.first_alone = 0ns}, quota_book(), 15min, "api.example", nullptr, 1h);
};

TEST_P(exaggeration_test, is_asked_again_by_one_request_after_what_is_believed) {
  auto const first = submit();
  ASSERT_TRUE(goes());
  l.settle(now, first, GetParam(), {.status = 429}, chance());
  l.cancel(now, first);
  auto const again = submit(), behind = submit();
  EXPECT_FALSE(goes());
  EXPECT_TRUE(l.parked());
  EXPECT_LE(l.parked_until(), now + 1h);
  EXPECT_GT(l.asks_until(), now + 24h * 9000);
  now = now + 1h + 1s;
  EXPECT_TRUE(goes());
  EXPECT_FALSE(goes()) << "one asks";
  EXPECT_EQ(l.why(now).why, reason::server_hint);
  l.settle(now, again, GetParam(), {.status = 429}, chance());
  l.cancel(now, again);
  EXPECT_FALSE(goes()) << "it asks for the same once more";
  now = now + 1h + 1s;
  EXPECT_TRUE(goes());
  l.settle(now, behind, {}, {.status = 200}, chance());
  for (int i = 0; i < 3; ++i) {
    submit();
    EXPECT_TRUE(goes()) << "it is as before";
  }
}

constexpr duration years = 24h * 9999;
INSTANTIATE_TEST_SUITE_P(
    lane, exaggeration_test,
    testing::Values(
        judgement{.what = reaction::rate, .hold = years},
        judgement{.what = reaction::long_quota, .hold = years},
        judgement{.what = reaction::rate,
                  .quotas = {{.name = "requests", .limit = 10, .remaining = 0, .reset = years}}}));

TEST(hindrance, says_what_goes_wrong_rather_than_that_it_waits) {
  rng chance(1);
  auto l = test_lane("fixed"), other = test_lane();
  time_point now{0s};
  auto const attempt = [&](lane& at, judgement const& told, int status, std::string_view error) {
    auto const t = std::get<ticket>(at.submit(now, {}, 0));
    at.open(now, true);
    ASSERT_TRUE(at.next(now, chance));
    at.settle(now, t, told, {.status = status, .error = error}, chance());
  };
  EXPECT_EQ(l.hindered(now).what, hindrance::kind::none) << "nothing waits";
  attempt(l, {.what = reaction::transient}, 500, "status 500: \x1b[2J");
  auto const broken = l.hindered(now);
  EXPECT_EQ(broken.what, hindrance::kind::broken);
  EXPECT_EQ(broken.why, "broken: status 500: \\x1b[2J");
  EXPECT_EQ(broken.how_often, "1 of 1");
  EXPECT_GT(broken.until, now);
  EXPECT_TRUE(l.in_trouble(l.why(now).why));

  attempt(other, {.what = reaction::rate, .hold = duration(9s)}, 429, "status 429");
  auto const throttled = other.hindered(now);
  EXPECT_EQ(throttled.what, hindrance::kind::throttled);
  EXPECT_EQ(throttled.why, "asks to wait: status 429");
  EXPECT_EQ(throttled.until, now + 9s);
  EXPECT_FALSE(throttled.stalls);
}

TEST(hindrance, of_a_server_that_refused_the_last_eight_is_not_the_pace) {
  rng chance(1);
  auto l = test_lane("fixed");
  time_point now{0s};
  auto const attempt = [&](judgement const& told, int status) {
    auto const t = std::get<ticket>(l.submit(now, {}, 0));
    for (;; now += 1s) {
      l.open(now, true);
      if (l.next(now, chance)) break;
    }
    auto const ruling =
        l.settle(now, t, told, {.status = status, .error = "status 429"}, chance()).ruling;
    if (ruling.what == verdict::retry) l.cancel(now, t);
  };
  for (int n = 0; n < 20; ++n) attempt({.what = reaction::served}, 200);
  auto const accepted_at = now;
  for (int n = 0; n < 8; ++n) {
    EXPECT_FALSE(l.refuses_all());
    now += 1s;
    attempt({.what = reaction::rate}, 429);
  }
  EXPECT_TRUE(l.refuses_all());
  EXPECT_EQ(l.accepted_at(), accepted_at);
  ASSERT_TRUE(std::holds_alternative<ticket>(l.submit(now, {}, 0)));
  auto const h = l.hindered(now);
  EXPECT_EQ(h.what, hindrance::kind::throttled) << "8 of 20: more were accepted";
  EXPECT_EQ(h.how_often, "the last 8");
  EXPECT_TRUE(h.stalls);
  EXPECT_FALSE(h.told) << "the next one may be refused, too";
  now += 1min;
  attempt({.what = reaction::served}, 200);
  EXPECT_FALSE(l.refuses_all());
}

}  // namespace
}  // namespace headway::app
