#include "pacing/cycles.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

constexpr time_point begin{100s};

/// Attempts so many milliseconds after the begin, answered within one.
struct recorder {
  void accept(std::int64_t ms) { all.take({.sent = at(ms), .answered = at(ms + 1)}); }
  void refuse(std::int64_t ms, bool hinted = false) {
    all.take({.sent = at(ms), .answered = at(ms + 1), .refused = true, .hinted = hinted});
  }
  /// So many at once from `ms` on, then it refuses, and is asked each `every` until `until`.
  void window(int count, std::int64_t ms, std::int64_t every, std::int64_t until) {
    for (int i = 0; i < count; ++i) accept(ms + 2 * i);
    for (auto t = ms + 2 * count; t < until; t += every) refuse(t);
  }
  static time_point at(std::int64_t ms) { return begin + std::chrono::milliseconds(ms); }
  cycles all{};
};

TEST(cycles, know_the_rate_that_was_kept_up_without_what_was_saved_before) {
  recorder r;
  for (int i = 0; i < 40; ++i) r.accept(i);  // a full bucket
  for (int row = 0; row < 5; ++row) {
    r.refuse(100 + row * 1000);
    for (int i = 1; i <= 20; ++i) r.accept(100 + row * 1000 + i * 49);
  }
  auto const kept = r.all.kept_up();
  ASSERT_TRUE(kept);
  EXPECT_NEAR(kept->per_second, 20, 0.5);
  EXPECT_EQ(kept->over, 4s);
  EXPECT_EQ(kept->rows, 4);
  EXPECT_TRUE(kept->certain);
  EXPECT_TRUE(kept->steady);
}

TEST(cycles, are_not_steady_where_each_tells_another_rate) {
  recorder r;
  int t = 0;
  for (int const ms : {50, 90, 30, 100, 40, 80}) {
    for (int i = 0; i < 20; ++i) r.accept(t += ms);
    r.refuse(t += ms / 2);
  }
  ASSERT_TRUE(r.all.kept_up());
  EXPECT_FALSE(r.all.kept_up()->steady);
}

TEST(cycles, of_one_row_of_refusals_tell_no_rate_but_how_long_it_stood) {
  recorder r;
  r.window(60, 0, 5000, 60'000);
  for (int i = 0; i < 30; ++i) r.accept(60'000 + i);
  EXPECT_FALSE(r.all.kept_up());
  EXPECT_FALSE(r.all.shown());
  auto const stood = r.all.stood();
  ASSERT_TRUE(stood);
  EXPECT_EQ(stood->units, 60);
  EXPECT_NEAR(to_seconds(stood->lasted), 60, 0.2);
}

TEST(cycles, show_a_window_that_gives_as_many_each_time) {
  recorder r;
  for (int n = 0; n < 3; ++n) r.window(300, n * 10'000, 500, (n + 1) * 10'000);
  auto const w = r.all.shown();
  ASSERT_TRUE(w);
  EXPECT_EQ(w->units, 300);
  EXPECT_EQ(w->period, 10s);
  EXPECT_TRUE(w->shut);
}

TEST(cycles, show_a_window_that_a_pace_fills_just_in_time) {
  recorder r;
  for (int n = 0; n < 5; ++n) {
    for (int i = 0; i < 30; ++i) r.accept(n * 10'000 + i * 300);
    for (int i = 0; i < 4; ++i) r.refuse(n * 10'000 + 9000 + i * 250);
  }
  auto const w = r.all.shown();
  ASSERT_TRUE(w);
  EXPECT_EQ(w->units, 30);
  EXPECT_EQ(w->period, 10s);
  EXPECT_FALSE(w->shut);
}

// The probe that found it open came half a second late.
TEST(cycles, show_the_length_that_people_write) {
  recorder r;
  for (int n = 0; n < 4; ++n) r.window(60, n * 60'500, 3000, n * 60'500 + 59'000);
  ASSERT_TRUE(r.all.shown());
  EXPECT_EQ(r.all.shown()->period, 1min);
}

// 10 s later the second one may have begun at any time since the last probe.
TEST(cycles, show_no_window_whose_end_nothing_has_asked_for) {
  recorder r;
  for (int n = 0; n < 4; ++n) r.window(300, n * 10'000, 6000, (n + 1) * 10'000);
  EXPECT_FALSE(r.all.shown());
}

// As many in as long, but for a clock's minute that had begun before.
TEST(cycles, show_no_window_of_which_one_length_is_another) {
  recorder r;
  r.window(40, 0, 100, 10'000);
  r.window(40, 10'000, 100, 25'000);
  r.accept(25'000);
  EXPECT_FALSE(r.all.shown());
}

TEST(cycles, tell_what_a_hint_in_whole_seconds_may_have_lost) {
  recorder r;
  for (int n = 0; n < 6; ++n) {
    for (int i = 0; i < 5; ++i) r.accept(n * 1100 + i * 20);
    r.refuse(n * 1100 + 100, true);
  }
  auto const kept = r.all.kept_up();
  ASSERT_TRUE(kept);
  EXPECT_NEAR(kept->per_second, 5 / 1.1, 0.1);
  EXPECT_NEAR(kept->most, 50, 1) << "of each 1.1 s it waited 1 s, as it was told to";
  EXPECT_FALSE(r.all.shown());
}

TEST(cycles, leave_out_those_in_which_no_request_waited) {
  recorder r;
  for (int row = 0; row < 8; ++row) {
    auto const begins = row * 1000 + (row > 3 ? 60'000 : 0);
    if (row == 4) r.all.idle();
    for (int i = 0; i < 20; ++i) r.accept(begins + i * 49);
    r.refuse(begins + 990);
  }
  auto const kept = r.all.kept_up();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->rows, 6);
  EXPECT_NEAR(kept->per_second, 20, 1);
}

TEST(cycles, keep_the_latest) {
  recorder r;
  for (int row = 0; row < 100; ++row) {
    for (int i = 0; i < 20; ++i) r.accept(row * 1000 + i * 49);
    r.refuse(row * 1000 + 990);
  }
  EXPECT_EQ(r.all.kept_up()->rows, static_cast<int>(cycles::most) - 1);
}

}  // namespace
}  // namespace headway::app
