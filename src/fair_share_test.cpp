#include "headway/fair_share.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace headway {
namespace {

constexpr auto none = time_point::min();
constexpr std::uint64_t all = 64;  // of each window

time_point at(duration d) {
  return time_point(d);
}

/// Takes a window of ten seconds, of which so many are sent within its first second; the last
/// answer says whether that was all of it.
void take(fair_share& s, duration begin, std::uint64_t units, bool spent) {
  s.begin(at(begin), 10s, 0);
  s.send(units);
  s.tell(at(begin + 1s), all, spent);
}

/// When what is left of a window of ten seconds is for all, for one that had such a part of it.
time_point free_after(duration begin, std::uint64_t part) {
  return at(begin + 8750ms + duration(625ms) / all * static_cast<std::int64_t>(part));
}

/// A window that others have taken half of, and the next one, which begins at 10 s.
fair_share shared() {
  fair_share s;
  take(s, 0s, all / 2, true);
  s.begin(at(10s), 10s, 0);
  return s;
}

TEST(fair_share, three_quarters_and_a_64th_of_it_more_go_before_one_asks_for_more) {
  auto s = shared();
  s.send(26);  // of 32 and of 64, and one
  EXPECT_EQ(s.held_until(0), none);
  EXPECT_EQ(s.held_until(1), at(17500ms));
}

TEST(fair_share, a_window_of_which_all_went_from_here_is_not_shared) {
  for (std::uint64_t others = 0; others < 6; ++others) {
    fair_share s;
    take(s, 0s, all - others, true);
    EXPECT_EQ(s.shared(), others > 3) << others;  // a 64th and two are none
    s.begin(at(10s), 10s, 0);
    EXPECT_EQ(s.held_until(all) != none, others > 3) << others;
  }
}

TEST(fair_share, nor_is_one_that_is_not_spent) {
  fair_share s;
  take(s, 0s, 1, false);
  EXPECT_FALSE(s.shared());
  s.begin(at(10s), 10s, 1);
  EXPECT_EQ(s.held_until(std::numeric_limits<std::uint64_t>::max()), none);
}

TEST(fair_share, what_flies_as_a_window_begins_is_of_the_new_one) {
  fair_share s;
  take(s, 0s, all / 2, true);
  s.send(8);  // after the end, and not heard of yet
  s.begin(at(10s), 10s, 8);
  EXPECT_EQ(s.held_until(26 - 8), none);
  EXPECT_EQ(s.held_until(27 - 8), at(17500ms));
}

// An answer that took half of what is left to the reset ends what is known of a window.
TEST(fair_share, a_window_that_is_told_of_anew_does_not_begin_again) {
  for (auto const again : {9374ms, 9375ms}) {
    fair_share s;
    take(s, 0s, all, false);
    s.begin(at(again), 10s - again, 1);
    s.tell(at(again), all, true);
    EXPECT_EQ(s.shared(), again == 9375ms) << again.count();
  }
}

TEST(fair_share, a_part_grows_with_each_window_that_is_not_spent_until_it_is_all) {
  auto s = shared();
  std::uint64_t part = 26;
  for (auto begin = 20s; (part += 2) < all; begin += 10s) {  // a 64th, and one
    s.tell(at(begin - 9s), all, false);
    s.begin(at(begin), 10s, 0);
    EXPECT_EQ(s.held_until(part), none);
    EXPECT_EQ(s.held_until(part + 1), at(begin + 7500ms));
  }
  s.tell(at(1000s), all, false);
  s.begin(at(1001s), 10s, 0);
  EXPECT_EQ(s.held_until(100 * all), none);
}

// What others take of the last eighth is no sign that the parts are too large.
TEST(fair_share, one_that_is_held_learns_by_the_first_answer_from_three_quarters_on) {
  for (bool const first : {true, false}) {
    auto s = shared();
    s.send(26);
    if (!first) s.tell(at(17500ms), all, false);
    s.tell(at(17501ms), all, true);
    EXPECT_EQ(s.shared(), first);
  }
}

TEST(fair_share, one_asks_and_the_others_wait_for_the_last_eighth) {
  auto s = shared();
  s.send(27);
  EXPECT_EQ(s.held_until(1), free_after(10s, 26));
  auto of_few = shared();  // it was told, before its part was sent
  of_few.tell(at(17500ms), all, false);
  EXPECT_EQ(of_few.held_until(27), free_after(10s, 26));
}

TEST(fair_share, a_small_part_has_the_last_eighth_sooner) {
  for (bool const small : {true, false}) {
    auto s = shared();
    s.tell(at(11s), all, small);
    s.begin(at(20s), 10s, 0);
    s.send(all);
    EXPECT_EQ(s.held_until(1), free_after(20s, small ? 2 : 28));
  }
}

TEST(fair_share, a_window_of_less_than_a_second_or_more_than_ten_minutes_has_no_parts) {
  for (auto const length : std::vector<duration>{999ms, 1s, 10min, 601s}) {
    auto s = shared();
    s.begin(at(20s), length, 0);
    s.tell(at(20s), all, true);
    s.begin(at(1000s), length, 0);
    EXPECT_EQ(s.held_until(all) != none, length == 1s || length == 10min) << length.count();
  }
}

TEST(fair_share, that_a_window_became_smaller_is_known_some_windows_later) {
  fair_share s;
  take(s, 0s, 0, false);
  int windows = 0;
  do {
    s.begin(at(++windows * 10s), 10s, 0);
    s.send(16);
    s.tell(at(windows * 10s), 16, true);
  } while (s.shared() && windows < 20);
  EXPECT_EQ(windows, 5);  // 64 (3/4)^5 < 16 + 2
}

}  // namespace
}  // namespace headway
