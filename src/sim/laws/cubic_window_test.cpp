#include "headway/sim/laws/cubic_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace headway::sim {
namespace {

constexpr duration rtt = 100ms;

/// A window that is kept full: as many answers each rtt as it allows.
struct flow {
  cubic_window win{};
  time_point now{};

  void run(duration d, bool app_limited = false) {
    for (auto const end = now + d; now < end;) {
      now += std::max(from_seconds(to_seconds(rtt) / win.cwnd), duration(10us));
      win.on_success(now, {.rtt = rtt, .app_limited = app_limited});
    }
  }
};

flow cut_at(double cwnd) {
  flow f{.win = {.cwnd = cwnd}};
  f.win.on_throttle(f.now, {});
  return f;
}

TEST(cubic_window, slow_start_until_the_first_cut) {
  cubic_window win;
  for (int i = 0; i < 100; ++i) win.on_success({}, {});
  EXPECT_EQ(win.cwnd, 120);
  win.on_throttle({}, {});
  EXPECT_NEAR(win.cwnd, 84, 1e-12);
  win.on_success({}, {});
  EXPECT_LT(win.cwnd, 84.1);
}

// RFC 9438 figures 1 and 2: W_cubic(t) = C (t − K)³ + W_max, which answers aim at one rtt ahead.
TEST(cubic_window, follows_the_cubic) {
  auto const w_cubic = [k = cube_root((1000 - 700) / 0.4)](double t) {
    return 0.4 * (t - k) * (t - k) * (t - k) + 1000;
  };
  for (double const t : {1, 2, 5, 9, 10, 15}) {
    auto f = cut_at(1000);
    f.run(from_seconds(t));
    EXPECT_GE(f.win.cwnd, w_cubic(t) - 0.2) << t;
    EXPECT_LE(f.win.cwnd, w_cubic(t + to_seconds(rtt)) + 0.2) << t;
  }
}

// Figure 4: from 3, the cubic is slower than Reno.
TEST(cubic_window, is_not_slower_than_reno) {
  auto f = cut_at(3);
  EXPECT_NEAR(f.win.cwnd, 2.1, 1e-12);
  f.run(10 * rtt);
  EXPECT_NEAR(f.win.cwnd, 3 + (10 - 0.9 / f.win.alpha), 0.5) << "alpha up to 3, then 1";
  EXPECT_NEAR(f.win.alpha, 0.529, 0.001);
}

// §4.7: a second cut below the first peak leaves room to newcomers.
TEST(cubic_window, converges_fast) {
  auto f = cut_at(100);
  f.win.on_throttle(f.now, {});
  EXPECT_NEAR(f.win.cwnd, 49, 1e-12);
  EXPECT_NEAR(f.win.w_max, 59.5, 1e-12);
  EXPECT_NEAR(f.win.k, cube_root((59.5 - 49) / 0.4), 1e-12);
}

TEST(cubic_window, begins_anew_at_each_cut) {
  auto f = cut_at(100);
  f.run(10s);
  auto fresh = cut_at(f.win.cwnd);
  f.win.on_throttle(f.now, {});
  f.run(1s);
  fresh.run(1s);
  EXPECT_EQ(f.win.cwnd, fresh.win.cwnd);
}

// §4.2: the target is at most 1.5 windows.
TEST(cubic_window, no_answer_adds_more_than_a_half) {
  auto f = cut_at(100);
  f.win.on_success(f.now + 1h, {.rtt = 1h});
  EXPECT_NEAR(f.win.cwnd, 70.5, 1e-12);
}

// §5.8.
TEST(cubic_window, time_does_not_pass_while_the_application_is_the_bottleneck) {
  auto busy = cut_at(100), pausing = busy;
  busy.run(1s + rtt);
  pausing.run(1min, true);
  EXPECT_EQ(pausing.win.cwnd, 70);
  pausing.now += 1h;  // idle: not an answer in all that time
  pausing.run(1s);
  EXPECT_NEAR(pausing.win.cwnd, busy.win.cwnd, 0.2) << "the first answer's rtt counts in full";
}

TEST(cubic_window, allows_one_after_any_number_of_cuts) {
  cubic_window win;
  for (int i = 0; i < 10'000; ++i) win.on_throttle({}, {});
  EXPECT_EQ(win.allowed(), 1);
  win.on_success({}, {.rtt = rtt});
  EXPECT_GT(win.allowed(), 1);
}

}  // namespace
}  // namespace headway::sim
