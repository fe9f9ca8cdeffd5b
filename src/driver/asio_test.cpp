// Asynchronous operations share a governor. What is asserted are counts, orders and answers, never
// speed. Compiled for Boost.Asio, and for Asio without Boost.

#include "headway/driver/asio.hpp"

#include <gtest/gtest.h>

#ifdef HEADWAY_ASIO_STANDALONE
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#else
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#endif

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "headway/backoff/constant.hpp"
#include "plain_governor.hpp"

namespace headway::asio {
namespace {

using shared = shared_governor<plain>;
template <class Result>
using awaitable = net::awaitable<Result>;
using net::experimental::deferred;

reason why(std::exception_ptr const& e) {
  try {
    if (e) std::rethrow_exception(e);
  } catch (refused const& no) {
    return no.why;
  } catch (system_error const& other) {
    if (other.code() == net::error::operation_aborted) return reason::cancelled;
  }
  return reason::none;
}
/// Runs what is ready, and not what waits.
void poll(net::io_context& io) {
  io.restart();
  io.poll();
}

/// An operation that completes with `answer` when the context comes to it.
auto answers(net::io_context& io, int& calls, error_code failed = {}) {
  return [&io, &calls, failed](auto token) {
    return net::async_compose<decltype(token), void(error_code, int)>(
        [&io, &calls, failed, begun = false](auto& self) mutable {
          if (std::exchange(begun, true)) return self.complete(failed, ++calls);
          net::post(io, std::move(self));
        },
        token, io);
  };
}
/// An operation that ends by being cancelled.
auto sleeps(net::steady_timer& timer) {
  return [&timer](auto token) { return timer.async_wait(std::move(token)); };
}

class asio_driver : public testing::Test {
 protected:
  net::io_context io;
  int calls = 0;
};

TEST_F(asio_driver, a_callback) {
  throttled api{io.get_executor()};
  int got = 0;
  api.async_call(answers(io, calls), always(outcome::success),
                 [&](std::exception_ptr const& e, int n) {
                   EXPECT_EQ(e, nullptr);
                   got = n;
                 });
  EXPECT_EQ(got, 0) << "a handler is never called from within the call that starts it";
  io.run();
  EXPECT_EQ(got, 1);
  EXPECT_EQ(api.metrics().succeeded, 1);
}

TEST_F(asio_driver, a_coroutine_waits_for_an_operation_and_for_an_awaitable) {
  throttled api{io.get_executor()};
  int sum = 0;
  auto const program = [&]() -> awaitable<void> {
    sum +=
        co_await api.async_call(answers(io, calls), always(outcome::success), net::use_awaitable);
    sum += co_await api.async_call([]() -> awaitable<int> { co_return 10; },
                                   always(outcome::success), net::use_awaitable);
    co_await api.async_call(
        [&]() -> awaitable<void> {
          sum += 100;
          co_return;
        },
        always(outcome::success), net::use_awaitable);
    co_await api.async_call([&](auto token) { return net::post(io, std::move(token)); },
                            always(outcome::success), net::use_awaitable);
  };
  net::co_spawn(io, program(), net::detached);
  io.run();
  EXPECT_EQ(sum, 111);
  EXPECT_EQ(api.metrics().succeeded, 4);
}

TEST_F(asio_driver, a_head_teaches_and_the_end_frees) {
  throttled api{io.get_executor()};
  shared_governor<>::permit held;
  api.async_admit([&](std::exception_ptr const&, auto permit) { held = std::move(permit); });
  poll(io);
  held.learn();
  EXPECT_EQ(api.governor().law_state().so_far.successes, 1U);
  EXPECT_EQ(api.metrics().in_flight, 1);
  EXPECT_EQ(api.metrics().succeeded, 0);
  held.async_settle({}, [](decision d) { EXPECT_EQ(d.what, verdict::done); });
  poll(io);
  EXPECT_EQ(api.governor().law_state().so_far.successes, 1U);
  EXPECT_EQ(api.metrics().in_flight, 0);
  EXPECT_EQ(api.metrics().succeeded, 1);
}

TEST_F(asio_driver, a_future) {
  throttled api{io.get_executor()};
  auto got = api.async_call(answers(io, calls), always(outcome::success), net::use_future);
  auto no = api.async_call(answers(io, calls), always(outcome::success),
                           {.deadline = steady_now() - 1s}, net::use_future);
  io.run();
  EXPECT_EQ(got.get(), 1);
  EXPECT_THROW(no.get(), refused_error);
}

TEST_F(asio_driver, deferred_asks_when_it_is_started) {
  throttled api{io.get_executor()};
  auto later = api.async_call(answers(io, calls), always(outcome::success), deferred);
  io.run();
  EXPECT_EQ(api.metrics().sent, 0);
  int got = 0;
  std::move(later)([&](std::exception_ptr const&, int n) { got = n; });
  io.restart();
  io.run();
  EXPECT_EQ(got, 1);
}

TEST_F(asio_driver, turns_are_first_come_first_served) {
  shared api{io.get_executor(), one_by_one()};
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    api.async_call(answers(io, calls), always(outcome::success),
                   [&order, i](auto const&...) { order.push_back(i); });
  EXPECT_EQ(api.metrics().in_flight, 1);
  EXPECT_EQ(api.metrics().waiting, 19U);
  io.run();
  std::vector<int> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST_F(asio_driver, a_throttled_call_goes_again_before_those_that_wait) {
  shared api{io.get_executor(), one_by_one()};
  std::string order;
  auto const call = [&](char name) {
    api.async_call(
        [&, name](auto token) {
          order += name;
          return net::post(io, std::move(token));
        },
        [&] { return order == "-a" ? outcome::throttle : outcome::success; },
        [](std::exception_ptr const& e) { EXPECT_EQ(e, nullptr); });
  };
  call('-');
  io.run();
  io.restart();
  call('a');
  call('b');
  io.run();
  EXPECT_EQ(order, "-aab");
  EXPECT_EQ(api.metrics().throttled, 1);
}

TEST_F(asio_driver, failures_are_tried_again_and_the_last_result_returned) {
  shared api{io.get_executor(), one_by_one({.attempts_max = 3})};
  api.async_call(answers(io, calls), always(outcome::failure),
                 [](std::exception_ptr const& e, int n) {
                   EXPECT_EQ(e, nullptr);
                   EXPECT_EQ(n, 3);
                 });
  io.run();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(api.metrics().given_up, 1);
}

TEST_F(asio_driver, an_error_that_remains_is_a_system_error) {
  shared api{io.get_executor(), one_by_one()};
  auto got = api.async_call(
      answers(io, calls, net::error::connection_reset),
      [](error_code e, int) { return e ? outcome::ignore : outcome::success; }, net::use_future);
  io.run();
  try {
    got.get();
    ADD_FAILURE() << "no error";
  } catch (system_error const& e) {
    EXPECT_EQ(e.code(), net::error::connection_reset);
  }
}

TEST_F(asio_driver, exceptions_are_passed_on_and_a_classifier_may_see_them) {
  shared api{io.get_executor(), one_by_one({.attempts_max = 2})};
  auto const thrower = [&]() -> awaitable<int> {
    ++calls;
    throw std::runtime_error("down");
    co_return 0;
  };
  auto once = api.async_call(thrower, always(outcome::success), net::use_future);
  auto twice = api.async_call(
      thrower, classify_both{always(outcome::success), always(outcome::failure)}, net::use_future);
  auto unreadable = api.async_call(
      answers(io, calls), [](auto const&...) -> outcome { throw std::logic_error("unreadable"); },
      net::use_future);
  io.run();
  EXPECT_THROW(once.get(), std::runtime_error);
  EXPECT_THROW(twice.get(), std::runtime_error);
  EXPECT_THROW(unreadable.get(), std::logic_error);
  EXPECT_EQ(calls, 4);
  auto const m = api.metrics();
  EXPECT_EQ(m.in_flight, 0);
  EXPECT_EQ(m.ignored, 1);
  EXPECT_EQ(m.failed, 2);
}

TEST_F(asio_driver, cancelling_one_that_waits_takes_it_out_of_the_queue) {
  shared api{io.get_executor(), one_by_one()};
  net::steady_timer flight(io, 1h);
  api.async_call(sleeps(flight), always(outcome::success), [](std::exception_ptr const&) {});
  net::cancellation_signal signal;
  reason ended{};
  api.async_call(answers(io, calls), always(outcome::success),
                 net::bind_cancellation_slot(
                     signal.slot(), [&](std::exception_ptr const& e, int) { ended = why(e); }));
  poll(io);
  EXPECT_EQ(api.metrics().waiting, 1U);
  signal.emit(net::cancellation_type::total);
  poll(io);
  EXPECT_EQ(ended, reason::cancelled);
  EXPECT_EQ(api.metrics().waiting, 0U);
  EXPECT_EQ(api.metrics().refused, 1);
  flight.cancel();
  poll(io);
  EXPECT_EQ(calls, 0);
  signal.emit(net::cancellation_type::total);  // of an operation that is no more
}

TEST_F(asio_driver, cancelling_one_that_flies_cancels_its_attempt_and_sends_no_other) {
  shared api{io.get_executor(), one_by_one()};
  net::steady_timer flight(io, 1h);
  net::cancellation_signal signal;
  reason ended{};
  int judged = 0;
  api.async_call(
      sleeps(flight),
      [&](error_code) {
        ++judged;
        return outcome::failure;
      },
      net::bind_cancellation_slot(signal.slot(),
                                  [&](std::exception_ptr const& e) { ended = why(e); }));
  poll(io);
  EXPECT_EQ(api.metrics().in_flight, 1);
  signal.emit(net::cancellation_type::partial);
  io.restart();
  io.run();
  EXPECT_EQ(ended, reason::cancelled);
  EXPECT_EQ(judged, 1);
  auto const m = api.metrics();
  EXPECT_EQ(m.sent, 1);
  EXPECT_EQ(m.ignored, 1) << "it taught nothing";
  EXPECT_EQ(m.in_flight, 0);
}

TEST_F(asio_driver, cancelling_a_coroutine_reaches_the_awaitable_that_it_waits_for) {
  shared api{io.get_executor(), one_by_one()};
  net::cancellation_signal signal;
  reason ended{};
  net::co_spawn(io,
                api.async_call(
                    [&]() -> awaitable<void> {
                      net::steady_timer forever(io, 1h);
                      co_await forever.async_wait(net::use_awaitable);
                    },
                    always(outcome::success), net::use_awaitable),
                net::bind_cancellation_slot(signal.slot(),
                                            [&](std::exception_ptr const& e) { ended = why(e); }));
  poll(io);
  EXPECT_EQ(api.metrics().in_flight, 1);
  signal.emit(net::cancellation_type::terminal);
  io.restart();
  io.run();
  EXPECT_EQ(ended, reason::cancelled);
  EXPECT_EQ(api.metrics().in_flight, 0);
}

TEST_F(asio_driver, cancelling_the_wait_for_a_retry) {
  shared api{io.get_executor(), one_by_one()};
  net::cancellation_signal signal;
  reason ended{};
  api.async_call(
      answers(io, calls),
      [](error_code, int) {
        return attempt_result{.what = outcome::throttle, .advice = {.retry_after = 1min}};
      },
      net::bind_cancellation_slot(signal.slot(),
                                  [&](std::exception_ptr const& e, int) { ended = why(e); }));
  poll(io);
  EXPECT_EQ(api.metrics().held.why, reason::server_hint);
  signal.emit(net::cancellation_type::terminal);
  io.restart();
  io.run();  // ends now, not in a minute: the alarm is cancelled
  EXPECT_EQ(ended, reason::cancelled);
  EXPECT_EQ(api.metrics().given_up, 1);
  EXPECT_EQ(api.metrics().waiting, 0U);
}

TEST_F(asio_driver, a_deadline_ends_the_wait) {
  shared api{io.get_executor(), one_by_one()};
  shared::permit held;
  api.async_admit([&](std::exception_ptr const&, shared::permit mine) { held = std::move(mine); });
  reason ended{};
  api.async_call(answers(io, calls), always(outcome::success), {.deadline = steady_now() + 5ms},
                 [&](std::exception_ptr const& e, int) { ended = why(e); });
  io.run();  // by the alarm alone
  EXPECT_EQ(ended, reason::deadline);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(api.metrics().refused, 1);
}

TEST_F(asio_driver, a_queue_that_is_full_refuses) {
  shared api{io.get_executor(), one_by_one({.queue_max = 0})};
  reason ended{};
  api.async_call(answers(io, calls), always(outcome::success),
                 [&](std::exception_ptr const& e, int) { ended = why(e); });
  EXPECT_EQ(ended, reason::none);
  io.run();
  EXPECT_EQ(ended, reason::queue);
}

TEST_F(asio_driver, more_patience_than_we_have_is_refused_with_the_instant) {
  shared api{io.get_executor(), one_by_one({.hint_max = 1s})};
  auto const told_at = steady_now();
  auto got = api.async_call(
      answers(io, calls),
      [](error_code, int) {
        return attempt_result{.what = outcome::throttle, .advice = {.retry_after = 1h}};
      },
      net::use_future);
  io.run();
  try {
    got.get();
    ADD_FAILURE() << "not refused";
  } catch (refused const& no) {
    EXPECT_EQ(no.why, reason::server_hint);
    EXPECT_GE(no.until, told_at + 1h);
  }
  EXPECT_EQ(api.metrics().waiting, 0U);
}

TEST_F(asio_driver, more_patience_than_we_have_is_refused_also_after_a_success) {
  for (auto const& advice :
       {hint{.retry_after = 50min}, hint{.remaining = 0, .reset = duration(50min)}}) {
    io.restart();
    shared api{io.get_executor(), one_by_one()};
    std::vector<reason> ended;
    for (int i = 0; i < 3; ++i)
      api.async_call(
          answers(io, calls), [&](error_code, int) { return attempt_result{.advice = advice}; },
          [&](std::exception_ptr const& e, int) { ended.push_back(e ? why(e) : reason::none); });
    io.run();
    EXPECT_EQ(ended, (std::vector{reason::none, reason::server_hint, reason::server_hint}));
  }
}

TEST_F(asio_driver, more_patience_than_we_have_is_refused_also_while_a_retry_waits) {
  attempt_result const throttled_for_a_while{.what = outcome::throttle,
                                             .advice = {.retry_after = 1min}};
  attempt_result const asks_for_more{.advice = {.retry_after = 50min}};
  shared api{io.get_executor(), plain({.wait = 1ms}, {}, {.first_alone = 0ns})};
  shared::permit other, third;
  for (auto* const permit : {&other, &third})
    api.async_admit(
        [permit](std::exception_ptr const&, shared::permit mine) { *permit = std::move(mine); });
  reason ended{};
  api.async_call(
      answers(io, calls), [&](error_code, int) { return throttled_for_a_while; },
      [&](std::exception_ptr const& e, int) { ended = why(e); });
  poll(io);
  decision settled{};
  third.async_settle(throttled_for_a_while, [&](decision d) { settled = d; });
  poll(io);
  EXPECT_EQ(api.metrics().waiting, 2U);
  other.async_settle(asks_for_more, [](decision d) { EXPECT_EQ(d.what, verdict::done); });
  io.restart();
  io.run();
  EXPECT_EQ(ended, reason::server_hint);
  EXPECT_EQ(settled.what, verdict::park);
  EXPECT_EQ(settled.why, reason::server_hint);
}

TEST_F(asio_driver, step_by_step) {
  shared api{io.get_executor(), one_by_one()};
  std::string text;
  auto const program = [&]() -> awaitable<void> {
    auto permit = co_await api.async_admit(net::use_awaitable);
    auto decided = co_await permit.async_settle({.what = outcome::throttle}, net::use_awaitable);
    text += decided.what == verdict::retry ? "retry " : "?";
    decided = co_await permit.async_settle({}, net::use_awaitable);
    text += decided.what == verdict::done ? "done " : "?";
    { auto const dropped = co_await api.async_admit(net::use_awaitable); }
    auto const next = co_await api.async_admit({.deadline = steady_now() + 1s}, net::use_awaitable);
    text += "next";
  };
  net::co_spawn(io, program(), net::detached);
  io.run();
  EXPECT_EQ(text, "retry done next");
  EXPECT_EQ(api.metrics().in_flight, 0);
}

TEST_F(asio_driver, what_the_server_said_elsewhere_holds_until_then) {
  shared api{io.get_executor(), one_by_one()};
  auto const until = steady_now() + 20ms;
  api.hold(until);
  api.async_call(answers(io, calls), always(outcome::success),
                 [&](auto const&...) { EXPECT_GE(steady_now(), until); });
  poll(io);
  EXPECT_TRUE(calls == 0 || steady_now() >= until);
  io.restart();
  io.run();
  EXPECT_EQ(calls, 1);
}

TEST(asio_driver_alone, a_context_that_is_destroyed_takes_along_waiting_and_flying_requests) {
  auto const alive = std::make_shared<int>();
  {
    net::io_context io;
    net::steady_timer flight(io, 1h);
    shared api{io.get_executor(), one_by_one()};
    // Frames that own what they wait for: nothing else would ever destroy them.
    auto const program = [](shared own, net::steady_timer& timer,
                            [[maybe_unused]] std::shared_ptr<int> const kept) -> awaitable<void> {
      auto const permit = co_await own.async_admit(net::use_awaitable);
      co_await timer.async_wait(net::use_awaitable);
    };
    auto const caller = [](shared own,
                           [[maybe_unused]] std::shared_ptr<int> const kept) -> awaitable<void> {
      // By name: GCC 12 destroys the captures of a temporary in a co_await expression twice.
      auto const attempt = [kept]() -> awaitable<void> { co_return; };
      co_await own.async_call(attempt, always(outcome::success), net::use_awaitable);
    };
    net::co_spawn(io, program(api, flight, alive), net::detached);
    for (int i = 0; i < 3; ++i) {
      net::co_spawn(io, program(api, flight, alive), net::detached);
      net::co_spawn(io, caller(api, alive), net::detached);
    }
    api.async_call([&](auto token) { return flight.async_wait(std::move(token)); },
                   always(outcome::success), [alive](std::exception_ptr const&) {});
    poll(io);
    EXPECT_EQ(api.metrics().in_flight, 1);
    EXPECT_EQ(api.metrics().waiting, 7U);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(asio_driver_alone, it_may_go_before_waiting_requests) {
  net::io_context io;
  int calls = 0;
  for (auto api = std::make_unique<shared>(io.get_executor(), one_by_one()); api; api.reset())
    for (int i = 0; i < 5; ++i)
      api->async_call(answers(io, calls), always(outcome::success), [](auto const&...) {});
  io.run();
  EXPECT_EQ(calls, 5);
}

TEST(asio_driver_alone, many_threads_that_cancel_expire_and_throttle_lose_nothing) {
  std::atomic<int> inside = 0, most = 0, ended = 0, went = 0, served = 0;
  net::thread_pool pool(4);
  shared api{pool.get_executor(), one_by_one({.queue_max = 64})};
  // Each on a strand of its own, as Asio demands for cancellation signals.
  auto const program = [&](unsigned seed) -> awaitable<void> {
    rng chance(seed);
    for (int call = 0; call < 100; ++call) {
      auto const deadline = chance() % 3 == 0 ? steady_now() + 100us : never;
      auto const what = chance() % 3 == 0 ? outcome::throttle : outcome::success;
      bool first = true;
      try {
        co_await api.async_call(
            [&]() -> awaitable<void> {
              most = std::max(most.load(), ++inside);
              ++went;
              co_await net::post(net::use_awaitable);
              --inside;
            },
            [&] { return std::exchange(first, false) ? what : outcome::success; },
            {.deadline = deadline}, net::use_awaitable);
        ++served;
      } catch (refused const&) {
      }
      ++ended;
    }
  };
  for (unsigned i = 0; i < 16; ++i) {
    net::co_spawn(net::make_strand(pool), program(i), net::detached);
    // One wait or flight that is cancelled as it may happen.
    net::co_spawn(
        net::make_strand(pool),
        [&]() -> awaitable<void> {
          auto const executor = co_await net::this_coro::executor;
          for (int call = 0; call < 20; ++call) {
            net::cancellation_signal stop;
            std::atomic<bool> over = false;
            api.async_call([&](auto token) { return net::post(executor, std::move(token)); },
                           always(outcome::success),
                           net::bind_cancellation_slot(
                               stop.slot(),
                               net::bind_executor(executor, [&](auto const&...) { over = true; })));
            co_await net::post(executor, net::use_awaitable);
            stop.emit(net::cancellation_type::total);
            while (!over) co_await net::post(executor, net::use_awaitable);
          }
        },
        net::detached);
  }
  pool.join();
  EXPECT_EQ(ended, 1600);
  EXPECT_EQ(most, 1);
  auto const m = api.metrics();
  EXPECT_GE(m.sent, went);
  EXPECT_EQ(m.sent, m.succeeded + m.throttled + m.ignored);
  EXPECT_EQ(m.in_flight, 0);
  EXPECT_EQ(m.waiting, 0U);
}

TEST_F(asio_driver, a_listener_hears_every_step_in_order) {
  std::string text;
  shared_governor<plain, diary> api{io.get_executor(), one_by_one(), 1, {{}, &text}};
  api.async_call(
      answers(io, calls),
      [](error_code, int n) { return n == 1 ? outcome::throttle : outcome::success; },
      [](auto const&...) {});
  io.run();
  api.async_admit({.deadline = steady_now() - 1s}, [](auto const&...) {});
  io.restart();
  io.run();
  EXPECT_EQ(text, "sent throttle again sent success done deadline");
}

TEST_F(asio_driver, scopes_have_governors_of_their_own) {
  throttled api{io.get_executor()};
  for (auto const* name : {"eu", "eu", "us"})
    api.scope(name).async_call(answers(io, calls), always(outcome::success), [](auto const&...) {});
  io.run();
  EXPECT_EQ(api.scope("eu").metrics().sent, 2);
  EXPECT_EQ(api.scope("us").metrics().sent, 1);
  EXPECT_EQ(api.metrics().sent, 0);
}

TEST_F(asio_driver, what_makes_governors_makes_one_of_each_key) {
  basic_throttled api(io.get_executor(), [](std::string_view key) {
    return one_by_one({.queue_max = key == "eu" ? std::size_t{0} : 1});
  });
  int refusals = 0;
  auto const count = [&](std::exception_ptr const& e, int) { refusals += why(e) == reason::queue; };
  api.scope("eu").async_call(answers(io, calls), always(outcome::success), count);
  api.scope("us").async_call(answers(io, calls), always(outcome::success), count);
  api.async_call(answers(io, calls), always(outcome::success), count);
  io.run();
  EXPECT_EQ(refusals, 1);
  EXPECT_EQ(calls, 2);
}

TEST_F(asio_driver, a_scope_with_a_request_in_flight_is_never_forgotten) {
  basic_throttled<plain> api{io.get_executor(), plain(), 1};
  api.scope("busy").async_call(answers(io, calls), always(outcome::success), [](auto const&...) {});
  EXPECT_THROW(api.scope("other"), refused_error);
  io.run();
  EXPECT_EQ(api.scope("other").metrics().sent, 0);
  EXPECT_EQ(api.scope("busy").metrics().sent, 0) << "it started anew";
}

TEST_F(asio_driver, a_hint_holds_a_prefix) {
  throttled api{io.get_executor()};
  auto const until = steady_now() + 1h;
  api.hold("eu/", until);
  EXPECT_EQ(api.scope("eu/a").held_until(), until);
  auto no = api.scope("eu/a").async_admit({.deadline = steady_now() + 1s}, net::use_future);
  auto yes = api.scope("us/a").async_admit(net::use_future);
  io.run();
  EXPECT_THROW(no.get(), refused_error);
  EXPECT_NO_THROW(yes.get());
}

}  // namespace
}  // namespace headway::asio
