#include "headway/driver/shared_pacer.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "headway/random.hpp"

namespace headway {
namespace {

template <class F>
void in_threads(int count, F f) {
  std::latch all_here(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      all_here.arrive_and_wait();
      f();
    });
}

TEST(shared_pacer, decides_as_gcra_does) {
  rng chance(1);
  gcra one = gcra::per(100, 1s, 5);
  shared_pacer shared(one);
  time_point now{1s};
  for (int i = 0; i < 10'000; ++i) {
    now += scale(20ms, chance());
    auto const cost = static_cast<std::int64_t>(1 + chance() % 7);
    auto const at = one.ready_at(cost);
    EXPECT_EQ(shared.admit(now, cost), at);
    if (at <= now) one.take(now, cost);
  }
}

TEST(shared_pacer, threads_together_get_the_burst_and_no_unit_more) {
  static constexpr int burst = 2'000'000;
  shared_pacer pace(gcra{.interval = 1us, .burst_tolerance = (burst - 1) * 1us});
  std::atomic<int> admitted = 0;
  in_threads(4, [&] {
    int mine = 0;
    for (int i = 0; i < burst; ++i) mine += pace.admit(time_point(1h)) <= time_point(1h);
    admitted += mine;
  });
  EXPECT_EQ(admitted, burst);
  EXPECT_EQ(pace.admit(time_point(1h)), time_point(1h + 1us));
}

TEST(shared_pacer, a_cost_beyond_the_burst_never_conforms) {
  shared_pacer pace(gcra::per(10, 1s, 3));
  EXPECT_LE(pace.admit(time_point(1s), 3), time_point(1s));
  EXPECT_EQ(pace.admit(time_point(1h), 4), never);
}

TEST(shared_pacer, no_more_slots_than_there_are) {
  shared_pacer pace(gcra{.interval = 1ns, .burst_tolerance = 1h}, 1);
  std::atomic<int> inside = 0, admitted = 0;
  std::atomic<bool> too_many = false;
  in_threads(4, [&] {
    for (int i = 0; i < 500'000; ++i) {
      if (pace.admit(time_point(2h)) == never) continue;
      if (++inside > 1) too_many = true;
      ++admitted;
      --inside;
      pace.release();
    }
  });
  EXPECT_FALSE(too_many);
  EXPECT_GT(admitted, 0);
  EXPECT_EQ(pace.in_flight(), 0);
}

TEST(shared_pacer, a_request_without_a_slot_took_no_units) {
  shared_pacer pace(gcra{.interval = 1s}, 1);
  EXPECT_LE(pace.admit(time_point(10s)), time_point(10s));
  EXPECT_EQ(pace.admit(time_point(20s)), never);
  pace.release();
  EXPECT_LE(pace.admit(time_point(20s)), time_point(20s));
}

}  // namespace
}  // namespace headway
