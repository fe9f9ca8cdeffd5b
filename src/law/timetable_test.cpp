#include "headway/law/timetable.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headway/random.hpp"

namespace headway {
namespace {

constexpr time_point start{10s};

/// Returns a timetable that has heard so many pairs, of each of which so many were accepted.
timetable after_pairs(int pairs, int accepted) {
  timetable t;
  for (int i = 0; i < pairs; ++i) t.heard(accepted);
  return t;
}

TEST(timetable, departures_come_again_each_period_and_no_sooner_than_the_interval) {
  timetable const t{.place = start};
  auto const period = duration(1 << 27);  // 134 ms
  auto at = start;
  for (int i = 1; i < 10; ++i) {
    at = t.after(at, 100ms);
    EXPECT_EQ(at, start + i * period);
  }
  EXPECT_EQ(t.after(start, period), start + period);
  EXPECT_EQ(t.after(start, period + 1ns), start + 2 * period);
}

TEST(timetable, a_slower_pace_keeps_some_of_the_departures_of_a_faster_one) {
  timetable const t{.place = start};
  std::set<time_point> fast;
  for (auto at = start; at < start + 100s;) fast.insert(at = t.after(at, 100ms));
  for (auto at = start; at < start + 90s;) {
    at = t.after(at, 900ms);
    EXPECT_TRUE(fast.contains(at));
  }
}

TEST(timetable, a_departure_that_was_late_is_followed_by_the_one_half_a_period_away_at_least) {
  timetable const t{.place = start};
  auto const period = duration(1 << 27);
  EXPECT_EQ(t.after(start + period / 2, 100ms), start + period);
  EXPECT_EQ(t.after(start + period / 2 + 1ns, 100ms), start + 2 * period);
  EXPECT_EQ(t.after(start - 1ns, 100ms), start + period) << "one that is early, too";
}

TEST(timetable, departures_before_its_place_are_as_good) {
  timetable const t{.place = time_point::max()};
  auto const at = t.after(time_point::min() + 1h, 100ms);
  EXPECT_EQ(t.after(at, 100ms), at + duration(1 << 27));
}

TEST(timetable, any_interval_is_waited_for) {
  timetable const t{.place = start};
  EXPECT_EQ(t.after(start, 0ns), start + 1ns);
  EXPECT_EQ(t.after(start, timetable::longest), start + timetable::longest);
  EXPECT_EQ(t.after(start, timetable::longest + 1ns), start + timetable::longest + 1ns);
  EXPECT_EQ(t.after(start, duration::max()), never);
}

TEST(timetable, another_place_is_anywhere_in_the_period) {
  timetable t{.place = start};
  auto const period = duration(1 << 27);
  std::set<std::int64_t> tenths;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    t.move(start, derive(7, i));
    tenths.insert((t.after(start + period, period) - start) % period / (period / 10));
  }
  EXPECT_EQ(tenths.size(), 10U);
  EXPECT_EQ(t.moves, timetable::moves_max);
}

TEST(timetable, pairs_of_which_one_is_accepted_show_that_there_is_no_burst) {
  for (int pairs = 0; pairs <= 5; ++pairs)
    EXPECT_EQ(after_pairs(pairs, 1).bare(), pairs >= timetable::enough) << pairs;
  EXPECT_FALSE(after_pairs(9, 0).bare()) << "a server that is shut refuses both";
  auto passed = after_pairs(2, 1);
  passed.heard(2);
  passed.heard(1);
  EXPECT_FALSE(passed.bare()) << "one that passes is enough";
}

/// Has a spaced pair heard: '1' for each of the two that was accepted, '0' for one that was not.
void hear(timetable& t, std::string_view two) {
  t.second = two[1] == '1';
  t.heard(static_cast<int>(std::ranges::count(two, '1')));
}

TEST(timetable, spaced_pairs_that_pass_one_after_another_show_others) {
  using texts = std::vector<std::string_view>;
  for (auto const& [heard, room, others] : {std::tuple{texts{"11"}, 1, false},
                                            {{"11", "11"}, 0, true},
                                            {{"10"}, -1, false},
                                            {{"10", "10"}, -2, false},
                                            {{"11", "10"}, -1, false},
                                            {{"10", "10", "11"}, 1, false},
                                            {{"11", "00"}, -1, false},
                                            {{"11", "01"}, -1, false}}) {
    auto t = after_pairs(timetable::enough, 1);
    for (auto const two : heard) {
      EXPECT_TRUE(t.spaced);
      hear(t, two);
      EXPECT_TRUE(t.bare());
    }
    EXPECT_EQ(t.room, room);
    EXPECT_EQ(t.shared(), others);
  }
}

/// Returns one that has been shown others, whose next pair goes apart.
timetable shared() {
  auto t = after_pairs(timetable::enough, 1);
  for (int i = 0; i < timetable::enough_apart; ++i) hear(t, "11");
  EXPECT_FALSE(t.spaced) << "by turns with one at once";
  t.heard(1);
  EXPECT_TRUE(t.spaced);
  return t;
}

TEST(timetable, others_are_asked_for_again_and_one_left_alone_is_told) {
  for (bool const alone : {true, false}) {
    auto t = shared();
    for (int i = 0; i < timetable::alone; ++i) {
      EXPECT_TRUE(t.shared()) << i;
      hear(t, alone || i % 3 ? "10" : i % 2 ? "11" : "01");
      if (t.shared()) t.heard(1);
    }
    EXPECT_EQ(t.shared(), !alone);
  }
}

TEST(timetable, a_pair_at_once_that_passes_takes_all_back) {
  auto t = shared();
  hear(t, "10");
  t.heard(2);
  EXPECT_EQ(t, (timetable{.due = timetable::rarely}));
}

TEST(timetable, a_doubted_ceiling_that_accepts_none_at_once_is_shared) {
  timetable t{.doubted = true};
  for (int i = 0; i < timetable::enough; ++i) {
    EXPECT_FALSE(t.shared());
    t.heard(1);
  }
  EXPECT_TRUE(t.shared());
}

TEST(timetable, a_pair_of_which_the_second_went_late_tells_nothing_and_goes_half_as_often_each) {
  timetable t;
  for (int times = 2; times <= timetable::rarely; times *= 2) {
    t.lapsed = true;
    t.heard(times % 3);
    EXPECT_EQ(t.due, times);
    EXPECT_EQ(t.halved, 0);
  }
  t.heard(1);
  EXPECT_EQ(t.due, 1);
  EXPECT_EQ(t.halved, 1);
  EXPECT_EQ(t.lapses, 0);
}

TEST(timetable,
     spaced_pairs_in_vain_are_asked_for_half_as_often_each_until_a_cut_of_one_hardly_served) {
  auto t = after_pairs(timetable::enough, 1);
  for (int times = 2; times <= timetable::rarely; times *= 2) {
    hear(t, "10");
    EXPECT_EQ(t.due, times);
  }
  EXPECT_EQ(t.room, -timetable::misses);
  auto const before = t;
  t.cut(false);
  EXPECT_EQ(t, before);
  t.cut(true);
  EXPECT_EQ(t.room, 0);
  EXPECT_TRUE(t.asks());
  t.room = 1;
  t.due = 5;
  t.cut(true);
  EXPECT_EQ(t.due, 5) << "none was in vain";
}

TEST(timetable, pairs_are_asked_for_again_rarely_once_they_have_told) {
  for (auto const& [pairs, accepted, times] :
       {std::array{1, 1, 1}, {3, 1, 1}, {1, 2, timetable::rarely}, {1, 0, 1}}) {
    auto t = after_pairs(pairs, accepted);
    int asked = 1;
    while (!t.asks()) ++asked;
    EXPECT_EQ(asked, times) << pairs << ' ' << accepted;
    EXPECT_TRUE(t.asks()) << "until one is heard";
  }
}

TEST(timetable, a_pair_that_passes_ends_the_doubt) {
  for (int accepted = 0; accepted <= 2; ++accepted) {
    timetable t{.doubted = true};
    t.heard(accepted);
    EXPECT_EQ(t.doubted, accepted < 2);
  }
}

}  // namespace
}  // namespace headway
