// Threads at one another's throats, for ThreadSanitizer to watch: two seconds a test, or five
// minutes with HEADWAY_LONG=1. What is asserted are counts.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "headway/backoff/constant.hpp"
#include "headway/driver/blocking.hpp"
#include "headway/driver/shared_pacer.hpp"
#include "seeds.hpp"

namespace headway {
namespace {

/// Calls `act(draw)` in as many threads, again and again until the time is over.
template <class Act>
void contend(unsigned threads, Act act) {
  auto const until = steady_now() + (std::getenv("HEADWAY_LONG") ? duration(5min) : duration(2s));
  std::vector<std::jthread> all;
  for (unsigned i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      rng draw(seeds(1).front() * 1000 + i);
      while (steady_now() < until) act(draw);
    });
}

TEST(contention, threads_of_a_throttled_object_lose_nothing) {
  SCOPED_TRACE(rerun(seeds(1).front()));
  using plain = governor<constant_backoff, paced<gcra, reno>>;
  using api = basic_throttled<plain>;
  using line = api::line;
  plain const start({.wait = 50us}, {.pace = {.interval = 2us, .burst_tolerance = 1ms}},
                    {.queue_max = 24, .first_alone = 1ms, .in_flight_max = 6});
  api one(start, 3, 1);
  std::atomic<std::int64_t> went = 0, settled = 0, refusals = 0;
  std::atomic<int> inside = 0, most = 0;
  contend(16, [&](rng& draw) {
    constexpr char const* names[] = {"a", "b", "c", "d"};
    std::shared_ptr<line> scope;
    if (draw() % 2 == 0) {
      try {
        scope = one.scope(names[draw() % 4]);
      } catch (refused_error const&) {
        ++refusals;
        return;
      }
    }
    line& to = scope ? *scope : one;
    switch (draw() % 64) {
      case 0:
        return to.hold(steady_now() + 100us);
      case 1:
        return one.hold("a", steady_now() + 50us);
      case 2:
        return void(to.metrics());
      case 3:
        return void(to.governor());
      default:
        break;
    }
    std::stop_source stop;
    std::jthread stopper;
    if (draw() % 32 == 0) stopper = std::jthread([&] { stop.request_stop(); });
    auto got =
        to.admit({.deadline = draw() % 4 == 0 ? steady_now() + 200us : never}, stop.get_token());
    auto* const held = std::get_if<line::permit>(&got);
    if (!held) {
      ++refusals;
      return;
    }
    ++went;
    if (!scope) {
      auto const now = ++inside;
      for (auto before = most.load(); now > before && !most.compare_exchange_weak(before, now);) {
      }
      --inside;
    }
    if (draw() % 8 == 0) return;  // dropped
    auto const kind = draw() % 8;
    held->settle({.what = kind == 0   ? outcome::throttle
                          : kind == 1 ? outcome::failure
                                      : outcome::success},
                 stop.get_token());
    ++settled;
  });
  auto const m = one.metrics();
  EXPECT_EQ(m.waiting, 0U);
  EXPECT_EQ(m.in_flight, 0);
  EXPECT_LE(most, 6);
  EXPECT_GT(settled, 0);
  EXPECT_GT(refusals, 0);
  std::printf("%ld went, %ld were refused\n", static_cast<long>(went), static_cast<long>(refusals));
}

TEST(contention, a_shared_pacer_admits_the_rate_and_no_unit_more) {
  constexpr duration interval = 5us;
  constexpr int slots = 3;
  auto const begin = steady_now();
  shared_pacer pace({.interval = interval, .burst_tolerance = 100us}, slots);
  std::atomic<std::int64_t> units = 0;
  std::atomic<int> inside = 0;
  std::atomic<bool> too_many = false;
  contend(8, [&](rng& draw) {
    auto const cost = static_cast<std::int64_t>(1 + draw() % 4);
    auto const now = steady_now();
    if (pace.admit(now, cost) > now) return;
    if (++inside > slots) too_many = true;
    units += cost;
    --inside;
    pace.release();
  });
  auto const conform = (steady_now() - begin + 100us) / interval + 1;
  EXPECT_FALSE(too_many);
  EXPECT_EQ(pace.in_flight(), 0);
  EXPECT_GT(units, 0);
  EXPECT_LE(units, conform);
  std::printf("%ld of at most %ld units\n", static_cast<long>(units), static_cast<long>(conform));
}

}  // namespace
}  // namespace headway
