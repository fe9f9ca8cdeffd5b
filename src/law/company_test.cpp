#include "headway/law/company.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <tuple>
#include <utility>

namespace headway {
namespace {

company after(std::initializer_list<double> ceilings, double count = 1000, bool slots = false) {
  company c;
  for (auto const ceiling : ceilings) c.met(ceiling, count, slots, 1, 0);
  return c;
}

TEST(company, a_ceiling_that_stays_where_it_was_is_not_shared) {
  auto const c = after({100, 100.1, 99.9, 100, 100.1, 99.8});
  EXPECT_FALSE(c.varies());
  EXPECT_EQ(c.stride(), company::stride_min);
}

TEST(company, a_ceiling_that_varies_is_a_crowds) {
  auto const c = after({100, 92, 101, 95, 106, 97, 104, 93, 100});
  EXPECT_TRUE(c.varies());
  EXPECT_LT(c.stride(), company::stride_max);
}

TEST(company, a_limit_that_moves_once_is_no_crowd) {
  EXPECT_FALSE(after({100, 100, 100, 20, 20, 20}).varies());
  EXPECT_FALSE(after({20, 20, 20, 100, 100, 100}).varies());
}

TEST(company, a_count_of_few_requests_may_differ_by_one) {
  EXPECT_FALSE(after({5, 6, 5, 6, 5, 6, 5, 6, 5, 6}, 5).varies());
  EXPECT_TRUE(after({5, 6, 5, 6, 5, 6, 5, 6, 5, 6}, 500).varies());
}

TEST(company, slots_are_counted_without_an_error) {
  EXPECT_FALSE(after({50, 49, 48, 47, 46, 47}, 25, false).varies());
  EXPECT_TRUE(after({50, 49, 48, 47, 46, 47}, 25, true).varies());
  EXPECT_FALSE(after({50, 50, 50, 50, 50, 50}, 25, true).varies());
  EXPECT_FALSE(after({50, 50, 20, 20}, 25, true).varies()) << "it moved once";
}

TEST(company, ceilings_of_another_unit_are_not_compared) {
  for (bool const changes : {false, true}) {
    auto c = after({50, 50, 50}, 25, true);
    if (changes) c.change_unit();
    c.met(100, 1000, false, 1, 0);
    EXPECT_EQ(c.all.variation == 0, changes);
    EXPECT_EQ(c.lasting.variation == 0, changes);
  }
}

/// A company after ceilings that vary by a fifth, each counted for so long.
company varied(double seconds, double answer) {
  company c;
  for (int i = 0; i < 10; ++i) c.met(i % 2 == 0 ? 90 : 110, 1000, false, seconds, answer);
  return c;
}

TEST(company, what_short_counts_say_holds_while_they_follow_each_other) {
  auto c = varied(0.4, 0.05);
  EXPECT_TRUE(c.varies());
  c.accepted(0.49, 0.05);
  EXPECT_TRUE(c.varies());
  c.accepted(0.51, 0.05);
  EXPECT_FALSE(c.varies());
  c.met(100, 1000, false, 0.4, 0.05);
  EXPECT_TRUE(c.varies());
}

TEST(company, what_longer_counts_say_stays) {
  for (auto const& [seconds, answer] : {std::pair{0.6, 0.05}, {1.1, 3.0}}) {
    auto c = varied(seconds, answer);
    c.accepted(60, answer);
    EXPECT_TRUE(c.varies());
  }
}

TEST(company, that_a_spurt_has_shown_lasts_until_ceilings_stay) {
  company c;
  c.show();
  EXPECT_TRUE(c.varies());
  for (int i = 0; i < 100; ++i) c.met(100, 1000, false, 10, 0.05);
  EXPECT_FALSE(c.varies());
  EXPECT_FALSE(c.shown);
}

TEST(company, is_shown_by_a_refusal_at_half_of_what_a_cycle_told) {
  auto const refused = [](double told, double rate, double unit) {
    company c;
    c.tell(told);
    c.tell(told / 2);  // the most counts
    c.refused(rate, unit);
    return c.varies();
  };
  EXPECT_TRUE(refused(0.25, 0.12, 1));
  EXPECT_FALSE(refused(0.25, 0.13, 1));
  EXPECT_FALSE(refused(0, 0.12, 1)) << "none told";
  EXPECT_FALSE(refused(10, company::seldom / company::seconds, 1)) << "shares are known so well";
  EXPECT_TRUE(refused(10, company::seldom / company::seconds, 2)) << "requests of two units";
}

TEST(company, that_was_shown_by_a_refusal_is_shown_again_by_half_of_that) {
  company c;
  c.tell(0.25);
  c.refused(0.1, 1);
  c.all.variation = c.lasting.variation = 0;
  c.refused(0.06, 1);
  EXPECT_FALSE(c.varies());
  c.refused(0.049, 1);
  EXPECT_TRUE(c.varies());
}

TEST(company, counts_what_few_requests_say_together_and_forgets_others_that_are_not_there) {
  company c;
  c.show();
  auto const before = c;
  for (int i = 1; i < company::enough; ++i) c.met_few(1, 2, 20, 0.05);
  EXPECT_EQ(c.all, before.all) << "no count yet";
  c.met_few(1, 2, 20, 0.05);
  EXPECT_DOUBLE_EQ(c.lasting.found, 0.1) << "units per second";
  for (int i = 0; i < 12 * company::enough; ++i) c.met_few(1, 2, 20, 0.05);
  EXPECT_FALSE(c.varies());
  EXPECT_FALSE(c.shown);
}

TEST(company, a_count_or_another_unit_ends_what_few_requests_say) {
  company const counted = [] {
    company c;
    c.met_few(2, 1, 20, 0.05);
    c.met(0.1, 4, false, 40, 0.05);
    return c;
  }();
  EXPECT_EQ(counted.few, 0);
  EXPECT_EQ(counted.few_seconds, 0);
  company c;
  c.met_few(2, 1, 20, 0.05);
  EXPECT_EQ(c.few, 2);
  c.change_unit();
  EXPECT_EQ(c.few, 0);
  EXPECT_EQ(c.few_seconds, 0);
}

TEST(company, gives_a_stride_back_in_the_time_of_a_window_that_is_longer) {
  company c;
  EXPECT_EQ(c.stride_seconds(), company::seconds);
  for (auto const& [length, even, seconds] : {std::tuple{60.0, spurt::proof, 60.0},
                                              {60.0, spurt::proof - 1, company::seconds},
                                              {24.0, spurt::proof, company::seconds}}) {
    c.window = {.length = length, .even = even};
    EXPECT_EQ(c.stride_seconds(), seconds) << length << ' ' << even;
  }
}

TEST(company, the_stride_has_bounds) {
  company c;
  for (int i = 0; i < 200; ++i) c.met(i % 2 == 0 ? 1 : 1000, 1000, false, 1, 0);
  EXPECT_EQ(c.stride(), company::stride_max);
}

}  // namespace
}  // namespace headway
