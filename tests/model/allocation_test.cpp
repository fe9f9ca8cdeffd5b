// Below its high-water mark the governor does not allocate, and a lack of memory does no harm:
// operator new, and what Asio takes for it, is counted, and fails when it is told to.

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "folder.hpp"
#include "headway/driver/blocking.hpp"
#include "headway/driver/machine_governor.hpp"
#include "headway/driver/polled.hpp"
#include "headway/headway.hpp"
#include "headway/http/advice.hpp"
#include "plain_governor.hpp"
#if __has_include(<boost/asio.hpp>)
#include <boost/asio/io_context.hpp>

#include "headway/driver/asio.hpp"
#endif

namespace {
thread_local long allocations = 0;
thread_local long fails_at = std::numeric_limits<long>::max();
thread_local long alive = 0;
}  // namespace

// Not inline: GCC would see malloc and delete meet, and take it for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (++allocations == fails_at) throw std::bad_alloc();
  if (void* const p = std::malloc(size)) return ++alive, p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  alive -= p != nullptr;
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  operator delete(p);
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* p = nullptr;
  if (++allocations == fails_at || posix_memalign(&p, alignment, size) != 0) return nullptr;
  return p;
}

namespace headway {
namespace {

TEST(governor, does_not_allocate_below_its_high_water_mark) {
  constexpr std::size_t mark = 1000;
  governor<full_jitter, paced<unpaced, fixed_window>> g;
  rng draw(9);
  time_point now{1s};
  std::vector<ticket> waiting, flying;
  waiting.reserve(mark);
  flying.reserve(mark);
  auto const submit = [&] {
    request_terms const terms{.deadline = now + 1h + scale(1h, draw())};
    waiting.push_back(std::get<ticket>(g.submit(now, terms)));
  };
  auto const take_any = [&](std::vector<ticket>& from) {
    std::swap(from[draw() % from.size()], from.back());
    auto const t = from.back();
    from.pop_back();
    return t;
  };
  while (waiting.size() < mark) submit();

  auto const before = allocations;
  for (int i = 0; i < 100'000; ++i) {
    now += 1ms;
    while (auto const t = g.next(now)) {
      g.start(now, *t, draw());
      std::erase(waiting, *t);
      flying.push_back(*t);
    }
    if (!waiting.empty() && draw() % 4 == 0) g.cancel(now, take_any(waiting));
    if (!flying.empty() && draw() % 4 == 0) {
      auto const t = take_any(flying);
      auto const what = draw() % 2 == 0 ? outcome::throttle : outcome::success;
      if (g.finish(now, t, {what}, draw()).what == verdict::retry) waiting.push_back(t);
    }
    // Up and down, so that the queue empties and fills again.
    auto const fill = i / 10'000 % 2 == 0 ? mark / 10 : mark;
    while (waiting.size() + flying.size() < fill) submit();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_GT(before, 0);
}

/// Calls `one(fail)` with the first allocation inside `fail(act)` failing, then the second, and so
/// on until there is none left to fail. `fail` answers whether `act` went through. Nothing may
/// leak.
template <class One>
long for_each_allocation(One one) {
  for (long n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    auto const alive_before = alive;
    bool went_through = true;
    one([&](auto act) {
      fails_at = allocations + n;
      try {
        act();
      } catch (std::bad_alloc const&) {
        went_through = false;
      }
      went_through = went_through && allocations < fails_at;
      fails_at = std::numeric_limits<long>::max();
      return went_through;
    });
    EXPECT_EQ(alive, alive_before) << "it leaks";
    if (went_through || testing::Test::HasFailure()) return n - 1;
  }
}

TEST(out_of_memory, a_governor_is_as_before) {
  time_point const now{1s};
  default_governor used;
  for (int i = 0; i < 7; ++i) used.submit(now, {.deadline = now + 1h});
  for (int i = 0; i < 3; ++i) used.cancel(now, *used.next(now));
  for (auto const& original : {default_governor(), used}) {
    auto const submit = [&](auto& g) { g.submit(now, {.deadline = now + 1s}); };
    auto const failed = for_each_allocation([&](auto fail) {
      auto g = original, expected = original;
      int submitted = 0;
      fail([&] {
        for (; submitted < 100; ++submitted) submit(g);
      });
      for (int i = 0; i < submitted; ++i) submit(expected);
      EXPECT_EQ(g, expected) << submitted;
      for (; submitted < 100; ++submitted) submit(g), submit(expected);
      EXPECT_EQ(g, expected);
    });
    EXPECT_GT(failed, 3 * 4) << "three blocks, and they grow";
  }
}

TEST(out_of_memory, a_polled_governor_is_as_before) {
  auto const failed = for_each_allocation([](auto fail) {
    basic_polled api{default_governor(), 1};
    auto const went = fail([&] { api.submit(); });
    EXPECT_EQ(api.state().waiting(), went ? 1U : 0U);
    auto const before = allocations;
    while (auto const id = api.next()) api.done(*id, {.what = outcome::throttle});
    EXPECT_EQ(allocations, before);
  });
  EXPECT_GT(failed, 0);
}

using scopes = keyed<default_governor>;
std::string in_order(scopes& all) {
  std::string text;
  for (auto const& [scope, governor] : all) text += scope + ' ';
  return text;
}

TEST(out_of_memory, keyed_scopes_are_as_before) {
  constexpr char const* long_name = "a scope whose name has no room in the string itself";
  time_point const now{1s};
  for (std::size_t const most : {2U, 40U}) {  // full, and such that the index grows
    auto const failed = for_each_allocation([&](auto fail) {
      scopes all(most, [](std::string_view) { return default_governor(); });
      for (auto const* name : {"a", "b"}) all.at(now, name)->submit(now);
      all.at(now, "a")->cancel(now, *all.at(now, "a")->next(now));
      auto const before = in_order(all);
      bool const went = fail([&] { all.at(now, long_name); });
      EXPECT_TRUE(went || in_order(all) == before);
      all.at(now, long_name);
      EXPECT_EQ(all.size(), most == 2 ? 2U : 3U);
      EXPECT_EQ(all.at(now, "b")->waiting(), 1U);
      EXPECT_EQ(in_order(all).substr(0, 2), "b ");
    });
    EXPECT_GT(failed, 2);
  }
}

TEST(out_of_memory, a_hold_is_kept_or_was_never_made) {
  time_point const now{1s};
  for (int const kept : {0, 3, static_cast<int>(scopes::holds_max)}) {
    auto const failed = for_each_allocation([&](auto fail) {
      scopes all(500, [](std::string_view) { return default_governor(); });
      auto const name = [](int i) { return "a prefix with a long name/" + std::to_string(i); };
      auto* const is = all.at(now, name(999));
      for (int i = 0; i < kept; ++i) all.hold(now, name(i) + '/', now + 10s);
      auto const went = fail([&] { all.hold(now, "a prefix with a long name/999", now + 5s); });
      EXPECT_EQ(is->held_until() > now, went);
      for (int i = 0; i < kept; ++i)
        EXPECT_EQ(all.at(now, name(i) + "/x")->held_until(), now + 10s) << i;
    });
    EXPECT_GT(failed, 0);
  }
}

using shared = blocking::shared_governor<plain>;
TEST(out_of_memory, a_thread_that_cannot_wait_is_gone_and_others_go_on) {
  auto const failed = for_each_allocation([](auto fail) {
    shared api(one_by_one(), 1);
    {
      auto const held = api.admit();
      fail([&] { api.admit({.deadline = steady_now() + 1ms}); });
      EXPECT_EQ(api.metrics().waiting, 0U);
      EXPECT_EQ(api.metrics().in_flight, 1);
    }
    EXPECT_EQ(api.call([] { return 5; }, [](int) { return outcome::success; }), 5);
  });
  EXPECT_GT(failed, 1) << "the queue's, and the place's among waiting ones";
}

TEST(out_of_memory, a_retry_that_cannot_wait_is_gone_and_others_go_on) {
  auto const failed = for_each_allocation([](auto fail) {
    shared api(one_by_one(), 1);
    int calls = 0;
    fail([&] {
      api.call([&] { return ++calls; },
               [](int n) { return n == 1 ? outcome::failure : outcome::success; });
    });
    EXPECT_EQ(api.metrics().waiting, 0U);
    EXPECT_EQ(api.metrics().in_flight, 0);
    EXPECT_EQ(api.call([] { return 5; }, [](int) { return outcome::success; }), 5);
  });
  EXPECT_GT(failed, 1);
}

TEST(out_of_memory, throttled_scopes_go_on) {
  auto const failed = for_each_allocation([](auto fail) {
    std::optional<throttled> api;
    if (!fail([&] {
          api.emplace(default_governor(), 4, 1);
          api->scope("one")->call([] {}, [] { return outcome::success; });
          api->hold("o", steady_now());
          api->metrics();
          api->governor();
        }))
      api.emplace(default_governor(), 4, 1);
    api->scope("one")->call([] {}, [] { return outcome::success; });
    EXPECT_EQ(api->scope("one")->metrics().in_flight, 0);
  });
  EXPECT_GT(failed, 5);
}

#if __has_include(<boost/asio.hpp>)
TEST(out_of_memory, an_operation_that_cannot_wait_is_gone_and_others_go_on) {
  auto const failed = for_each_allocation([](auto fail) {
    boost::asio::io_context io;
    asio::basic_throttled<plain> api{io.get_executor(), one_by_one(), 4, 1};
    int served = 0;
    auto const call = [&] {
      api.async_call(
          [&](auto token) { return boost::asio::post(io, std::move(token)); },
          [tries = 0]() mutable { return ++tries == 1 ? outcome::failure : outcome::success; },
          [&](std::exception_ptr const& e) { served += e == nullptr; });
    };
    call();
    bool const went = fail([&] {
      call();
      io.run();
    });
    io.restart();
    io.run();
    EXPECT_GE(served, went ? 2 : 1);
    EXPECT_EQ(api.metrics().waiting, 0U);
    EXPECT_EQ(api.metrics().in_flight, 0);
    call();
    io.restart();
    io.run();
    EXPECT_GE(served, went ? 3 : 2);
  });
  EXPECT_GT(failed, 5);
}
#endif

using out_of_memory_of_a_machine = folder_test;
TEST_F(out_of_memory_of_a_machine, its_limit_is_joined_or_not) {
  int keys = 0;
  auto const failed = for_each_allocation([&](auto fail) {
    auto const key = std::to_string(++keys);
    auto const call = [&] {
      blocking::shared_governor api(machine_governor(key, {}, {}, folder), 1);
      api.call([] {}, [] { return outcome::success; });
    };
    fail(call);
    call();
    machine_governor const after(key, {}, {}, folder);
    EXPECT_EQ(after.company(), 0) << "the other members are gone";
    EXPECT_EQ(after.in_flight(), 0);
  });
  EXPECT_GT(failed, 5);
}

TEST(out_of_memory, what_an_answer_says_is_read_or_not) {
  std::vector<http::field> const fields{
      {"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"},
      {"RateLimit", "\"a policy with a long name\";r=0;t=30, \"another with one\";r=1;t=60"},
      {"x-ratelimit-limit-input-tokens-of-a-model", "90000"},
      {"x-ratelimit-remaining-input-tokens-of-a-model", "0"},
      {"x-ratelimit-reset-input-tokens-of-a-model", "1m30s"}};
  constexpr auto text = "Rate limit reached on input tokens per min (TPM): Limit 90000, Used 89000";
  std::size_t const quotas = http::advice_of(fields, {}).quotas.size();
  EXPECT_GT(quotas, 0U);
  auto const failed = for_each_allocation([&](auto fail) {
    bool const went = fail([&] {
      EXPECT_EQ(http::advice_of(fields, {}).quotas.size(), quotas);
      EXPECT_FALSE(http::quotas_in_text(text).empty());
      http::time_in_text(text), http::period_in_name(text), http::never_fits(text);
      http::parse_reset("2026-10-21T07:28:00Z", {}), http::parse_go_duration("1m30s");
    });
    EXPECT_TRUE(went || http::advice_of(fields, {}).quotas.size() == quotas);
  });
  EXPECT_GT(failed, 2);
}

}  // namespace
}  // namespace headway
