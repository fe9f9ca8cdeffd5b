#include "headway/pacer/hesitant.hpp"

#include <gtest/gtest.h>

#include "headway/law/paced.hpp"
#include "headway/window/reno.hpp"

namespace headway {
namespace {

constexpr fraction half = fraction{1} << 63U;  // neither sooner nor later
constexpr time_point start{10s};

TEST(hesitant, waits_from_the_fifth_cut_in_a_row_on_ever_longer) {
  hesitant pace;
  for (int i = 0; i < pace.free; ++i) {
    pace.on_throttle(start, {}, half);
    EXPECT_LE(pace.ready_at(1), start);
  }
  for (auto const wait : {50ms, 100ms, 200ms, 400ms}) {
    pace.on_throttle(start, {}, half);
    EXPECT_EQ(pace.ready_at(1), start + wait);
  }
  for (int i = 0; i < 1000; ++i) pace.on_throttle(start, {}, half);
  EXPECT_EQ(pace.ready_at(1), start + 30s);
}

TEST(hesitant, a_success_ends_the_row) {
  hesitant pace;
  for (int i = 0; i < 10; ++i) pace.on_throttle(start, {}, half);
  pace.on_success(start, {});
  auto const before = pace.next;
  for (int i = 0; i < pace.free; ++i) pace.on_throttle(start + 1h, {}, half);
  EXPECT_EQ(pace.next, before);
  pace.on_throttle(start + 1h, {}, half);
  EXPECT_EQ(pace.next, start + 1h + 50ms);
}

TEST(hesitant, clients_of_one_server_do_not_wait_in_step) {
  hesitant a{.free = 0}, b{.free = 0};
  a.on_throttle(start, {}, 0);
  b.on_throttle(start, {}, half);
  EXPECT_NE(a.next, b.next);
}

// Without it a window of one asks as often as a refusal takes: 60,000 times a minute.
TEST(hesitant, a_window_asks_a_server_that_refuses_all_within_1_ms_some_times_a_minute) {
  paced<hesitant, reno> law;
  int asked = 0;
  for (auto now = start; now < start + 1min;) {
    auto const sent = law.take(now, 1, half);
    ++asked;
    now += 1ms;
    law.on_throttle(now, {.sent = sent}, resource::unknown, half);
    now = std::max(now, law.ready_at(1));
  }
  EXPECT_EQ(asked, 15);
}

}  // namespace
}  // namespace headway
