// Threads share a governor. What is asserted are counts, orders and answers, never speed.

#include "headway/driver/blocking.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "broken_governor.hpp"
#include "headway/backoff/constant.hpp"
#include "plain_governor.hpp"

namespace headway {
namespace {

using shared = blocking::shared_governor<plain>;

template <class Shared>
void until_waiting(Shared const& api, std::size_t count) {
  while (api.metrics().waiting != count) std::this_thread::yield();
}
using admitted = std::variant<shared::permit, refused>;

/// An API that answers 429 to more than `slots` calls at once, and counts.
class server {
 public:
  explicit server(int slots) : slots_(slots) {}
  bool throttles() {
    auto const inside = ++inside_;
    std::this_thread::sleep_for(200us);
    --inside_;
    ++(inside > slots_ ? throttled : served);
    return inside > slots_;
  }
  std::atomic<int> served = 0, throttled = 0;

 private:
  int slots_;
  std::atomic<int> inside_ = 0;
};

TEST(blocking_driver, sixteen_threads_get_every_call_served_once) {
  throttled api;
  server limit(3);
  std::atomic<int> returned = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&] {
        for (int call = 0; call < 50; ++call)
          returned += !api.call([&] { return limit.throttles(); },
                                [](bool refused_by_server) {
                                  return refused_by_server ? outcome::throttle : outcome::success;
                                });
      });
  }
  EXPECT_EQ(returned, 800);
  EXPECT_EQ(limit.served, 800);
  auto const m = api.metrics();
  EXPECT_EQ(m.succeeded, 800);
  EXPECT_EQ(m.throttled, limit.throttled);
  EXPECT_EQ(m.sent, m.succeeded + m.throttled);
  EXPECT_EQ(m.in_flight, 0);
  EXPECT_EQ(m.waiting, 0U);
}

TEST(blocking_driver, never_more_in_flight_than_it_may) {
  shared api(one_by_one());
  std::atomic<int> inside = 0, most = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int call = 0; call < 200; ++call)
          api.call(
              [&] {
                most = std::max(most.load(), ++inside);
                std::this_thread::yield();
                --inside;
              },
              always(outcome::success));
      });
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(api.metrics().sent, 1600);
}

TEST(blocking_driver, wakes_in_the_order_of_the_governor) {
  shared api(one_by_one());
  std::vector<int> order;
  auto first = std::get<shared::permit>(api.admit());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&api, &order, i] {
      api.call([&] { order.push_back(i); }, always(outcome::success));  // one at a time: no race
    });
    until_waiting(api, static_cast<std::size_t>(i) + 1);
  }
  first.settle();
  threads.clear();
  std::vector<int> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(blocking_driver, a_throttled_call_goes_before_those_that_wait) {
  shared api(one_by_one());
  api.call([] {}, always(outcome::success));
  std::vector<char> order;
  auto first = std::get<shared::permit>(api.admit());
  std::jthread const other(
      [&] { api.call([&] { order.push_back('b'); }, always(outcome::success)); });
  until_waiting(api, 1);
  order.push_back('a');
  EXPECT_EQ(first.settle({.what = outcome::throttle}).what, verdict::retry);
  order.push_back('a');
  first.settle();
  until_waiting(api, 0);
  while (api.metrics().succeeded != 3) std::this_thread::yield();
  EXPECT_EQ(std::string(order.begin(), order.end()), "aab");
}

TEST(blocking_driver, a_head_lets_others_go_and_the_end_frees) {
  blocking::shared_governor<> api;
  auto first = api.admit();
  auto& held = std::get<blocking::shared_governor<>::permit>(first);
  held.learn();  // else the second would wait, since the first of a scope flies alone
  auto second = api.admit({.deadline = steady_now() + 200ms});
  ASSERT_TRUE(std::holds_alternative<blocking::shared_governor<>::permit>(second));
  EXPECT_EQ(api.metrics().in_flight, 2);
  EXPECT_EQ(held.settle().what, verdict::done);
  EXPECT_EQ(api.metrics().in_flight, 1);
  EXPECT_EQ(api.metrics().succeeded, 1);
  EXPECT_EQ(api.governor().law_state().so_far.successes, 1U);
}

TEST(blocking_driver, stop_wakes_a_thread_that_waits_for_ever) {
  shared api(one_by_one());
  auto const held = api.admit();
  std::stop_source stop;
  refused answer{};
  std::jthread waits([&] { answer = std::get<refused>(api.admit({}, stop.get_token())); });
  until_waiting(api, 1);
  stop.request_stop();
  waits.join();
  EXPECT_EQ(answer, (refused{reason::cancelled, never}));
  EXPECT_EQ(api.metrics().waiting, 0U);
  EXPECT_EQ(std::get<refused>(api.admit({}, stop.get_token())).why, reason::cancelled);
  EXPECT_EQ(api.metrics().refused, 2);
}

TEST(blocking_driver, stop_ends_the_wait_for_a_retry) {
  shared api(one_by_one());
  std::stop_source stop;
  std::jthread waits([&] {
    auto const last = api.call([] { return 7; },
                               [](int) {
                                 return attempt_result{.what = outcome::throttle,
                                                       .advice = {.retry_after = 1min}};
                               },
                               {}, stop.get_token());
    EXPECT_EQ(last, 7);
  });
  until_waiting(api, 1);
  EXPECT_EQ(api.metrics().held.why, reason::server_hint);
  stop.request_stop();
  waits.join();
  EXPECT_EQ(api.metrics().given_up, 1);
}

TEST(blocking_driver, a_deadline_ends_the_wait) {
  shared api(one_by_one());
  auto const held = api.admit();
  auto const late = api.admit({.deadline = steady_now() + 5ms});
  EXPECT_EQ(std::get<refused>(late).why, reason::deadline);
  EXPECT_EQ(
      api.try_call([] { return 1; }, always(outcome::success), {.deadline = steady_now() + 5ms}),
      std::nullopt);
  try {
    api.call([] {}, always(outcome::success), {.deadline = steady_now() + 5ms});
    ADD_FAILURE() << "not refused";
  } catch (refused const& no) {
    EXPECT_EQ(no.why, reason::deadline);
  }
  EXPECT_EQ(api.metrics().refused, 3);
  EXPECT_EQ(api.metrics().waiting, 0U);
}

TEST(blocking_driver, a_deadline_that_passed_behind_a_hint_lets_others_go_on) {
  shared api(one_by_one());
  auto held = std::get<shared::permit>(api.admit());
  std::jthread const late([&] {
    EXPECT_TRUE(std::holds_alternative<refused>(api.admit({.deadline = steady_now() + 20ms})));
  });
  auto const now = [&] { return api.metrics(); };
  while (now().waiting == 0 && now().refused == 0) std::this_thread::yield();  // in time, or not
  std::jthread const patient([&] { api.call([] {}, always(outcome::success)); });
  while (now().refused != 1) std::this_thread::yield();
  held.settle();
}

TEST(blocking_driver, a_queue_that_is_full_refuses_at_once) {
  shared api(one_by_one({.queue_max = 0}));
  EXPECT_EQ(std::get<refused>(api.admit()), (refused{reason::queue, never}));
  EXPECT_THROW(api.call([] {}, always(outcome::success)), refused_error);
}

TEST(blocking_driver, more_patience_than_we_have_is_refused_with_the_instant) {
  shared api(one_by_one({.hint_max = 1s}));
  auto const told_at = steady_now();
  auto const throttle = [](int) {
    return attempt_result{.what = outcome::throttle, .advice = {.retry_after = 1h}};
  };
  try {
    api.call([] { return 1; }, throttle);
    ADD_FAILURE() << "not refused";
  } catch (refused_error const& e) {
    EXPECT_EQ(e.why, reason::server_hint);
    EXPECT_GE(e.until, told_at + 1h);
    EXPECT_STREQ(e.what(), "headway: not sent: server hint");
  }
  EXPECT_EQ(api.metrics().waiting, 0U);
  EXPECT_EQ(api.metrics().in_flight, 0);
}

TEST(blocking_driver, more_patience_than_we_have_is_refused_also_after_a_success) {
  for (auto const& advice :
       {hint{.retry_after = 50min}, hint{.remaining = 0, .reset = duration(50min)}}) {
    shared api(one_by_one());
    auto held = std::get<shared::permit>(api.admit());
    auto const told_at = steady_now();
    std::jthread const waits([&] {
      auto const no = std::get<refused>(api.admit());
      EXPECT_EQ(no.why, reason::server_hint);
      EXPECT_GE(no.until, told_at + 50min);
    });
    until_waiting(api, 1);
    EXPECT_EQ(held.settle({.advice = advice}).what, verdict::done);
    EXPECT_EQ(std::get<refused>(api.admit()).why, reason::server_hint);
    while (api.metrics().waiting > 0) std::this_thread::yield();
  }
}

TEST(blocking_driver, more_patience_than_we_have_is_refused_also_while_a_retry_waits) {
  attempt_result const throttled_for_a_while{.what = outcome::throttle,
                                             .advice = {.retry_after = 1min}};
  attempt_result const asks_for_more{.advice = {.retry_after = 50min}};
  shared api(plain({.wait = 1ms}, {}, {.first_alone = 0ns}));
  auto other = std::get<shared::permit>(api.admit());
  auto third = std::get<shared::permit>(api.admit());
  std::jthread const calls([&] {
    try {
      api.call([] { return 1; }, [&](int) { return throttled_for_a_while; });
      ADD_FAILURE() << "not refused";
    } catch (refused_error const& e) {
      EXPECT_EQ(e.why, reason::server_hint);
      EXPECT_GT(e.until, steady_now() + 49min);
    }
  });
  until_waiting(api, 1);
  std::jthread const settles([&] {
    auto const decided = third.settle(throttled_for_a_while);
    EXPECT_EQ(decided.what, verdict::park);
    EXPECT_EQ(decided.why, reason::server_hint);
  });
  until_waiting(api, 2);
  EXPECT_EQ(other.settle(asks_for_more).what, verdict::done);
}

TEST(blocking_driver, a_server_that_is_broken_for_too_long_is_refused_and_parks) {
  blocking::shared_governor<seeking> api(broken_until_now());
  auto const no = std::get<refused>(api.admit());
  EXPECT_EQ(no.why, reason::server_broken);
  EXPECT_EQ(ended_by(no), (decision{verdict::park, no.why, no.until}));
  EXPECT_EQ(api.metrics().waiting, 0U);
}

TEST(blocking_driver, failures_are_tried_again_and_the_last_result_returned) {
  shared api(one_by_one({.attempts_max = 3}));
  int calls = 0;
  EXPECT_EQ(api.call([&] { return ++calls; }, always(outcome::failure)), 3);
  EXPECT_EQ(api.try_call([&] { return ++calls; }, always(outcome::failure)), 6);
  EXPECT_EQ(api.metrics().given_up, 2);
}

TEST(blocking_driver, an_exception_gives_the_permit_back) {
  shared api(one_by_one());
  EXPECT_THROW(api.call([]() -> int { throw std::runtime_error("down"); },
                        [](int) { return outcome::success; }),
               std::runtime_error);
  EXPECT_THROW(
      api.call([] { return 1; }, [](int) -> outcome { throw std::logic_error("unreadable"); }),
      std::logic_error);
  { auto const dropped = api.admit(); }
  auto const m = api.metrics();
  EXPECT_EQ(m.in_flight, 0);
  EXPECT_EQ(m.sent, 3);
  EXPECT_EQ(m.ignored, 1);
  EXPECT_EQ(api.call([] { return 5; }, always(outcome::success)), 5);
}

TEST(blocking_driver, a_classifier_may_see_exceptions) {
  shared api(one_by_one({.attempts_max = 2}));
  struct slow_down {};
  classify_both const classify{always(outcome::success), [](std::exception_ptr const& thrown) {
                                 try {
                                   std::rethrow_exception(thrown);
                                 } catch (slow_down) {
                                   return outcome::throttle;
                                 } catch (...) {
                                   return outcome::failure;
                                 }
                               }};
  int calls = 0;
  api.call(
      [&] {
        if (++calls < 9) throw slow_down{};
      },
      classify);
  EXPECT_EQ(calls, 9) << "throttles never count as attempts";
  EXPECT_THROW(api.call([&]() -> int { throw std::to_string(++calls); }, classify), std::string);
  EXPECT_EQ(calls, 11);
  EXPECT_EQ(api.metrics().throttled, 8);
  EXPECT_EQ(api.metrics().failed, 2);
}

TEST(blocking_driver, the_readme_s_classifier_is_generic) {
  struct reply {
    bool throttled() const { return false; }
  };
  throttled api;
  api.call([] { return reply{}; },
           [](auto const& r) { return r.throttled() ? outcome::throttle : outcome::success; });
  EXPECT_EQ(api.metrics().succeeded, 1);
}

struct dice : paced<unpaced, fixed_window> {
  std::vector<fraction> drawn;
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    drawn.push_back(u);
    return paced::take(now, cost, u);
  }
  bool operator==(dice const&) const = default;
};

TEST(blocking_driver, the_same_seed_is_the_same_run) {
  auto const drawn = [](std::uint64_t seed) {
    blocking::shared_governor<governor<constant_backoff, dice>> api(
        governor<constant_backoff, dice>(), seed);
    for (int i = 0; i < 50; ++i) api.call([] {}, always(outcome::success));
    return api.governor().law_state().drawn;
  };
  EXPECT_EQ(drawn(1).size(), 50U);
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(blocking_driver, observing_delays_nothing) {
  using observer = observing_governor<constant_backoff, paced<gcra, fixed_window>>;
  blocking::shared_governor api(observer({}, {.pace = gcra{.interval = 1h}}));
  for (int i = 0; i < 4; ++i) api.call([] {}, always(outcome::success));
  EXPECT_EQ(api.metrics().observed.requests, 3);
}

TEST(blocking_driver, one_that_is_stopped_before_another_attempt_returns_its_last_result) {
  throttled api;
  std::stop_source stop;
  auto const answer = api.call(
      [&] {
        stop.request_stop();
        return 429;
      },
      [](int) {
        return attempt_result{.what = outcome::throttle, .advice = {.retry_after = 5min}};
      },
      {}, stop.get_token());
  EXPECT_EQ(answer, 429);
  EXPECT_EQ(api.metrics().sent, 1);
}

TEST(throttled_driver, a_listener_needs_no_governor_of_its_own) {
  struct deaf : no_listener {};
  basic_throttled<default_governor, deaf> api({}, 1024, 1);
  api.call([] {}, always(outcome::success));
  EXPECT_EQ(api.metrics().sent, 1);
}

TEST(blocking_driver, a_listener_hears_every_step_in_order) {
  std::string text;
  blocking::shared_governor<plain, diary> api(one_by_one(), 1, {{}, &text});
  int calls = 0;
  api.call([&] { return ++calls; },
           [](int n) { return n == 1 ? outcome::throttle : outcome::success; });
  std::stop_source stop;
  stop.request_stop();
  api.admit({}, stop.get_token());
  EXPECT_EQ(text, "sent throttle again sent success done cancelled");
}

TEST(blocking_driver, threads_that_stop_expire_throttle_and_drop_lose_nothing) {
  shared api(one_by_one({.queue_max = 6}));
  std::atomic<std::int64_t> went = 0, refusals = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 8; ++i)
      threads.emplace_back([&, i](std::stop_token const&) {
        rng chance(i);
        for (int call = 0; call < 300; ++call) {
          std::stop_source stop;
          std::jthread const stopper([&, late = chance() % 4 == 0] {
            if (late) stop.request_stop();
          });
          auto const deadline = chance() % 3 == 0 ? steady_now() + 100us : never;
          auto got = api.admit({.deadline = deadline}, stop.get_token());
          if (std::holds_alternative<refused>(got)) {
            ++refusals;
            continue;
          }
          ++went;
          auto& held = std::get<shared::permit>(got);
          if (chance() % 5 == 0) continue;  // dropped
          held.settle({.what = chance() % 3 == 0 ? outcome::throttle : outcome::success},
                      stop.get_token());
        }
      });
  }
  auto const m = api.metrics();
  EXPECT_EQ(went + refusals, 2400);
  EXPECT_EQ(m.refused, refusals);
  EXPECT_GE(m.sent, went);
  EXPECT_EQ(m.in_flight, 0);
  EXPECT_EQ(m.waiting, 0U);
}

TEST(throttled_driver, scopes_have_governors_of_their_own) {
  throttled api;
  api.scope("eu")->call([] {}, always(outcome::success));
  api.scope("eu")->call([] {}, always(outcome::success));
  EXPECT_EQ(api.scope("eu")->metrics().sent, 2);
  EXPECT_EQ(api.scope("us")->metrics().sent, 0);
  EXPECT_EQ(api.metrics().sent, 0);
}

TEST(throttled_driver, a_scope_in_use_is_never_forgotten) {
  throttled api(default_governor(), 2);
  auto const kept = api.scope("kept");
  auto const also = api.scope("also");
  EXPECT_THROW(api.scope("third"), refused_error);
  EXPECT_EQ(api.scope("kept"), kept);
}

TEST(throttled_driver, a_held_scope_is_not_forgotten_when_let_go) {
  throttled api(default_governor(), 1);
  api.scope("held")->hold(steady_now() + 1h);
  EXPECT_THROW(api.scope("other"), refused_error);
  EXPECT_GT(api.scope("held")->held_until(), steady_now());
}

TEST(throttled_driver, a_paced_scope_is_not_forgotten_and_says_when) {
  throttled api(default_governor({}, {}, {.rate_ceiling = gcra::per(1, 1h)}), 1);
  auto const began = steady_now();
  api.scope("once an hour")->call([] {}, always(outcome::success));
  try {
    api.scope("other");
    FAIL() << "it would be made anew, and not wait";
  } catch (refused const& no) {
    EXPECT_EQ(no.why, reason::queue);
    EXPECT_GE(no.until, began + 1h);
    EXPECT_LE(no.until, steady_now() + 1h);
  }
}

TEST(throttled_driver, an_idle_scope_makes_room) {
  basic_throttled<plain> api(plain(), 1);
  api.scope("old")->call([] {}, always(outcome::success));
  EXPECT_EQ(api.scope("new")->metrics().sent, 0);
  EXPECT_EQ(api.scope("old")->metrics().sent, 0) << "it started anew";
}

TEST(throttled_driver, a_hint_holds_a_prefix) {
  throttled api;
  auto const was = api.scope("eu/a");
  auto const until = steady_now() + 1h;
  api.hold("eu/", until);
  EXPECT_EQ(was->held_until(), until);
  EXPECT_EQ(api.scope("eu/b")->held_until(), until);
  EXPECT_EQ(
      api.scope("eu/b")->try_call([] {}, always(outcome::success), {.deadline = steady_now() + 1s}),
      std::nullopt);
  EXPECT_NE(api.scope("us/b")->try_call([] {}, always(outcome::success)), std::nullopt);
}

}  // namespace
}  // namespace headway
