#include "headway/law/chance.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

/// Tests after each of so many refusals, and has so many of the tests refused.
void test(chance& c, int refusals, int refused_of_tests, int others_between = 20) {
  static std::uint64_t stamp = 0;
  for (int i = 0; i < refusals; ++i) {
    c.answered(true, stamp++);
    c.test(stamp, true);
    for (int t = 0; t < chance::tests; ++t) c.answered(t < refused_of_tests, stamp++);
    for (int o = 0; o < others_between; ++o) c.answered(false, stamp++);
  }
}

TEST(chance, nothing_is_known_at_first_and_each_refusal_counts) {
  chance c;
  EXPECT_FALSE(c.limit());
  EXPECT_EQ(c.doubts(), 0);
  EXPECT_TRUE(c.wants_tests(20));
}

TEST(chance, what_is_refused_again_at_once_is_a_limit) {
  chance c;
  test(c, 2, chance::tests);
  EXPECT_TRUE(c.limit());
  EXPECT_EQ(c.doubts(), 0);
}

TEST(chance, what_is_accepted_at_once_was_chance) {
  chance c;
  EXPECT_FALSE(c.known());
  test(c, 40, 0);
  EXPECT_TRUE(c.known());
  EXPECT_FALSE(c.limit());
  EXPECT_EQ(c.doubts(), chance::several);
}

// One test of a row that is refused is chance still; many are a limit.
TEST(chance, a_row_tells_by_how_many_of_it_are_refused) {
  auto const odds = [](int refused) {
    chance c;
    test(c, 1, refused);
    return c.odds;
  };
  EXPECT_EQ(odds(0), 1 / chance::row_against);
  EXPECT_LT(odds(1), 1);
  EXPECT_GT(odds(4), 1);
  EXPECT_EQ(odds(chance::tests), chance::row_for);
}

TEST(chance, a_row_tells_nothing_before_its_last_answer) {
  chance c;
  c.test(1, true);
  for (int t = 1; t < chance::tests; ++t) c.answered(false, static_cast<std::uint64_t>(t));
  EXPECT_EQ(c.odds, 1);
  c.answered(false, chance::tests);
  EXPECT_LT(c.odds, 1);
}

// What was usual when chance was found may have been too little: without this, refusals that come
// more often count for ever.
TEST(chance, rows_that_pass_say_that_more_refusals_are_usual) {
  chance c;
  test(c, 4, 0, 40);
  auto const usual = c.usual;
  ASSERT_GT(usual, 0);
  test(c, 40, 0, 2);
  EXPECT_GT(c.usual, usual);
  EXPECT_GT(c.doubts(), 0);
}

TEST(chance, more_refusals_than_usual_are_a_limit_after_all) {
  chance c;
  test(c, 40, 0);
  ASSERT_GT(c.doubts(), 0);
  for (int i = 0; i < 16; ++i) c.answered(true, 1u << 30);
  EXPECT_EQ(c.doubts(), 0);
}

// By chance three of eight are refused every fifth time where a quarter of all is.
TEST(chance, where_many_are_refused_by_chance_more_tests_must_be) {
  auto const doubts = [](double usual) {
    return chance{.share = usual, .odds = 0.1, .usual = usual}.doubts();
  };
  EXPECT_EQ(doubts(0.03), chance::few);
  EXPECT_EQ(doubts(0.1), chance::few + 1);
  EXPECT_EQ(doubts(0.25), chance::few + 3);
  EXPECT_EQ(doubts(0.9), chance::few + 4);  // a limit refuses them, too
}

// By chance two of eight are refused every fifth time where a tenth of all is.
TEST(chance, a_row_tells_of_a_limit_if_chance_hardly_refuses_so_many) {
  auto const met = [](double share, int refused) {
    chance c{.share = share, .answers = chance::smoothing};
    test(c, 1, refused, 0);
    return c.met_limit();
  };
  EXPECT_FALSE(met(0.03, chance::few - 1));
  EXPECT_TRUE(met(0.03, chance::few));
  EXPECT_FALSE(met(0.1, chance::few));
  EXPECT_TRUE(met(0.1, chance::few + 1));
}

TEST(chance, a_rate_that_collapses_is_asked_about_until_tests_decide) {
  chance c;
  EXPECT_FALSE(c.collapsed(0.01));
  c.accepted(40);
  c.accepted(20);
  EXPECT_FALSE(c.collapsed(10));
  EXPECT_TRUE(c.collapsed(9.9));
  chance is_limit = c;
  test(is_limit, 2, chance::tests);
  EXPECT_FALSE(is_limit.collapsed(1));
  is_limit.accepted(40);
  EXPECT_FALSE(is_limit.collapsed(1)) << "a row has told of the limit";
  chance by_pairs = c;
  by_pairs.odds = chance::certain;
  ASSERT_TRUE(by_pairs.limit());
  EXPECT_TRUE(by_pairs.collapsed(1)) << "chance refuses pairs, too";
  test(c, 2, 0);
  EXPECT_TRUE(c.known());
  EXPECT_FALSE(c.collapsed(1));
  c.share = chance::more_times * c.usual + chance::more + 0.01;
  EXPECT_TRUE(c.collapsed(1)) << "more are refused than chance is known to refuse";
}

// A server could refuse half of each row for ever.
TEST(chance, rows_that_decide_nothing_are_repeated_a_few_times) {
  chance c;
  c.accepted(40);
  c.answers = chance::smoothing;
  c.share = 0.3;
  int rows = 0;
  std::uint64_t stamp = 0;
  do {
    c.test(stamp, true);
    for (int t = 0; t < chance::tests; ++t) c.answered(t < 3, stamp++);
    c.odds = 1;
  } while (c.wants_another(1) && ++rows < 100);
  EXPECT_EQ(rows, chance::repeats_max);
  c.cut();
  EXPECT_TRUE(c.wants_another(1));
}

double odds_after_row(int refused, double apart) {
  chance c{.share = 0.03, .answers = chance::smoothing, .odds = 2};
  c.test(1, true);
  for (int t = 1; t <= chance::tests; ++t)
    c.answered(t <= refused, static_cast<std::uint64_t>(t), apart);
  return c.odds;
}

TEST(chance, tests_apart_speak_less_against_a_limit_that_saves_for_them_and_as_much_for_it) {
  for (int refused = 0; refused <= chance::tests; ++refused) {
    SCOPED_TRACE(refused);
    auto const at_once = odds_after_row(refused, 0);
    for (auto const apart : {0.25, 0.5, 1.0}) EXPECT_GE(odds_after_row(refused, apart), at_once);
    EXPECT_GE(odds_after_row(refused, 1), 2);
  }
  EXPECT_LT(odds_after_row(1, 0), 1);
  EXPECT_GT(odds_after_row(1, 0.5), 2) << "at twice a limit's rate it may refuse one in eight";
  EXPECT_LT(odds_after_row(0, 0.5), 1);
}

TEST(chance, a_pair_apart_that_passes_tells_nothing) {
  for (auto const apart : {0.0, 0.4, 0.5, 1.0})
    for (bool const refused : {true, false}) {
      chance c{.share = 0.03, .odds = 2};
      c.test(1, true, chance::pair);
      for (int t = 1; t <= chance::pair; ++t)
        c.answered(refused && t == 2, static_cast<std::uint64_t>(t), apart);
      EXPECT_EQ(c.odds > 2, refused);
      EXPECT_EQ(c.odds < 2, !refused && apart < chance::spread);
    }
}

TEST(chance, what_was_found_is_unlearned) {
  chance c;
  test(c, 100, 0);
  ASSERT_EQ(c.doubts(), chance::several);
  test(c, 6, chance::tests);
  EXPECT_TRUE(c.limit());
}

TEST(chance, tests_after_a_refusal_near_the_ceiling_tell_nothing) {
  chance c;
  c.test(1, false);
  EXPECT_TRUE(c.answered(true, 1));
  EXPECT_EQ(c.odds, 1);
  EXPECT_EQ(c.row.refused, 1);
}

TEST(chance, only_the_sends_after_it_are_a_refusals_tests) {
  chance c;
  c.test(10, true);
  EXPECT_FALSE(c.answered(true, 9));
  EXPECT_TRUE(c.answered(true, 10));
  EXPECT_FALSE(c.answered(true, 10 + chance::tests));
}

TEST(chance, a_known_limit_is_tested_seldom) {
  chance c;
  test(c, 2, chance::tests);
  ASSERT_TRUE(c.limit());
  c.low = 0;
  auto const tested = [&](int refusals) {
    int rows = 0;
    for (int i = 0; i < refusals; ++i) rows += c.wants_tests(20);
    return rows;
  };
  EXPECT_EQ(tested(chance::seldom), 1);
  EXPECT_EQ(tested(chance::seldom_max), 3) << "after 32, 64 and 128 of them";
  EXPECT_EQ(tested(10 * chance::seldom_max), 10);
  c.ceiling = 40;
  EXPECT_EQ(tested(1), 0);
  c.ceiling = 60;
  EXPECT_EQ(tested(1), 1) << "far below where tests told of it";
  c.ceiling = 0;
  test(c, 1, 0);
  test(c, 1, chance::tests);
  ASSERT_TRUE(c.limit());
  EXPECT_EQ(tested(chance::seldom), 1) << "a row has spoken for chance";
}

// Requests that overtake each other come to a limit out of order: what it refuses looks like
// chance. But no cut ends chance.
TEST(chance, refusals_that_a_cut_ends_were_a_limit) {
  chance c;
  test(c, 40, 0);
  ASSERT_TRUE(c.known());
  c.cut();
  auto const enough = chance::missed / c.before;
  c.spared(enough - 1);
  EXPECT_TRUE(c.known());
  auto const odds = c.odds;
  c.spared(enough + 1);
  EXPECT_DOUBLE_EQ(c.odds, odds * chance::row_for);
  EXPECT_FALSE(c.known());
}

TEST(chance, a_cut_tells_once) {
  chance c;
  test(c, 40, 0);
  c.cut();
  c.spared(1e6);
  auto const odds = c.odds;
  c.spared(1e6);
  EXPECT_EQ(c.odds, odds);
}

TEST(chance, a_cut_before_chance_was_found_tells_nothing) {
  chance c;
  c.answered(true, 0);
  c.cut();
  c.spared(1e6);
  EXPECT_EQ(c.odds, 1);
}

/// Sends a pair and has so many of it refused.
void pair(chance& c, int refused) {
  c.test(1, true, chance::pair);
  for (int t = 0; t < chance::pair; ++t) c.answered(t < refused, static_cast<std::uint64_t>(t) + 1);
}

TEST(chance, two_refused_pairs_are_a_limit_and_end_the_pairs) {
  chance c;
  EXPECT_TRUE(c.wants_pair(100, true));
  pair(c, 1);
  EXPECT_TRUE(c.met_limit());
  EXPECT_TRUE(c.wants_pair(100, true));
  c.share = 0;
  pair(c, 1);
  EXPECT_TRUE(c.limit());
  EXPECT_FALSE(c.wants_pair(100, true));
}

TEST(chance, a_pair_that_passes_tells_little_and_a_row_after_it_much) {
  chance c;
  pair(c, 0);
  EXPECT_FALSE(c.met_limit());
  EXPECT_EQ(c.odds, chance::suspect);
  EXPECT_FALSE(c.known());
  auto by_limit = c;
  test(c, 1, 0);
  EXPECT_TRUE(c.known());
  EXPECT_FALSE(c.wants_pair(1, true)) << "each refusal has a row now";
  test(by_limit, 1, chance::tests);
  EXPECT_TRUE(by_limit.limit());
}

TEST(chance, well_below_where_a_limit_was_met_a_client_that_is_alone_asks_again) {
  chance c;
  test(c, 1, chance::tests);
  c.ceiling = 100;
  EXPECT_FALSE(c.wants_pair(91, true));
  EXPECT_TRUE(c.wants_pair(89, true));
  EXPECT_FALSE(c.wants_pair(89, false)) << "others may have taken it";
  pair(c, 0);
  EXPECT_EQ(c.odds, chance::suspect) << "what was a limit's there says nothing of here";
}

TEST(chance, where_chance_refuses_often_a_refused_pair_says_little) {
  chance c;
  c.share = 0.3;
  c.answers = chance::smoothing;
  pair(c, 1);
  EXPECT_LT(c.odds, 2);
}

TEST(chance, tests_that_a_limit_refuses_for_their_pace_are_no_sample) {
  chance c;
  for (std::uint64_t t = 0; t < 100; ++t) c.answered(t % 20 == 0, t);
  auto const share = c.share;
  c.test_pace(100, .1);
  for (std::uint64_t t = 100; t < 132; ++t) c.answered(true, t);
  c.count(132);
  for (std::uint64_t t = 132; t < 132 + depth::more; ++t) c.answered(true, t);
  EXPECT_EQ(c.share, share);
  c.answered(true, 200);
  EXPECT_GT(c.share, share);
}

TEST(chance, found_by_a_faster_row_is_what_that_has_told) {
  chance c;
  test(c, 2, chance::tests);
  EXPECT_TRUE(c.limit());
  c.saves = {.most = 5, .alike = depth::four_alike + 1};
  c.test_pace(10'000, .1);
  EXPECT_TRUE(c.paid_later(1));
  for (std::uint64_t t = 0; t < depth::faster_tests; ++t) c.answered(false, 10'000 + t);
  EXPECT_TRUE(c.known());
  EXPECT_LT(c.usual, 0.03);
  EXPECT_EQ(c.doubts(), chance::several);
  EXPECT_FALSE(c.paid_later(1));
  c.spared(1e6);
  EXPECT_TRUE(c.known()) << "no cut was there";
  c.cut();
  c.spared(1e6);
  EXPECT_FALSE(c.known());
  EXPECT_FALSE(c.saves.found);
}

TEST(chance, a_row_that_all_pass_is_no_limit_that_saves_less) {
  chance c;
  test(c, 2, 3);
  EXPECT_TRUE(c.saves.even());
  test(c, 1, 0);
  EXPECT_EQ(c.saves, depth{});
}

TEST(chance, a_row_that_passes_whole_saves_more_than_can_be_counted) {
  chance c;
  c.saves = {.most = 7, .alike = 20};
  c.count(100);
  for (std::uint64_t i = 0; i < chance::tests; ++i) c.answered(false, 100 + i);
  EXPECT_EQ(c.saves, depth{});
}

/// Takes a row of a crowd of which so many are refused.
void crowd_row(chance& c, std::uint64_t& stamp, int refused, int length = chance::tests) {
  c.test(stamp, true, length);
  for (int i = 0; i < length; ++i) c.answered(i < refused, stamp++, 0, true);
}

TEST(chance, rows_that_pass_in_a_crowd_tell_that_it_refuses_beside_others) {
  chance c{.share = .03, .odds = chance::odds_max};
  std::uint64_t stamp = 1;
  crowd_row(c, stamp, 0);
  EXPECT_TRUE(c.wants_tests(1)) << "each refusal is asked from now on";
  EXPECT_EQ(c.doubts(), 0);
  crowd_row(c, stamp, 1);
  crowd_row(c, stamp, 0);
  ASSERT_TRUE(c.mixed.found);
  EXPECT_TRUE(c.limit()) << "others refuse, too";
  EXPECT_FALSE(c.known());
  c.test_refusal(stamp, false, 10);
  EXPECT_EQ(c.row.length(), mixture::tests);
  EXPECT_EQ(c.row.what, test_row::asks::limit);
  EXPECT_EQ(c.doubts(), 1) << "one of few";
  crowd_row(c, stamp, 1, mixture::tests);
  EXPECT_EQ(c.odds, chance::odds_max) << "few tests move no odds";
  crowd_row(c, stamp, 6);
  EXPECT_GT(c.doubts(), 1) << "of a whole row";
  for (int i = 1; i < mixture::proof; ++i) crowd_row(c, stamp, 6);
  EXPECT_FALSE(c.mixed.found);
  EXPECT_EQ(c.doubts(), 0);
}

TEST(chance, rows_that_pass_alone_tell_of_no_mixture) {
  chance c{.share = .03, .odds = chance::odds_max};
  for (std::uint64_t stamp = 1; stamp < 1 + 3 * chance::tests;) {
    c.test(stamp, true);
    for (int i = 0; i < chance::tests; ++i) c.answered(false, stamp++);
  }
  EXPECT_EQ(c.mixed, mixture{});
  EXPECT_TRUE(c.known());
}

TEST(chance, that_is_found_alone_forgets_what_rows_told_of_a_mixture) {
  chance c{.share = .03, .odds = chance::certain, .mixed = {.passed = 2}};
  c.odds = .2;
  c.test(1, true);
  for (std::uint64_t i = 0; i < chance::tests; ++i) c.answered(false, 1 + i);
  ASSERT_TRUE(c.known());
  EXPECT_EQ(c.mixed, mixture{});
}

// Where answers overtake each other each refusal came before the tests of the one before it.
TEST(chance, rows_give_way_to_others_a_few_times_and_then_one_is_heard) {
  chance c;
  std::uint64_t stamp = 100;
  for (int i = 0; i <= chance::unheard_max; ++i) {
    ASSERT_TRUE(c.may_test(stamp, 10)) << i;
    c.test(stamp + 1, true);
    c.row.unsent = 0;
    stamp = c.row.beyond;
  }
  EXPECT_FALSE(c.may_test(stamp, 10));
  EXPECT_FALSE(c.may_test(stamp + chance::lost_min, 10 * chance::lost_min)) << "so many fly";
  auto lost = c;
  EXPECT_TRUE(lost.may_test(stamp + chance::lost_min, 10));
  for (auto test = c.row.first; test < c.row.beyond; ++test) c.answered(true, test);
  EXPECT_TRUE(c.may_test(stamp, 10));
  EXPECT_EQ(c.unheard, 0);
}

TEST(chance, where_nearly_all_is_refused_a_refused_row_is_a_limits_all_the_same) {
  for (double const share : {.9, .99, 1.0}) {
    for (int const refused : {0, chance::tests}) {
      chance c{.share = share, .answers = chance::smoothing};
      test(c, 1, refused, 0);
      if (refused == 0)
        EXPECT_LT(c.odds, 1) << share;
      else
        EXPECT_GT(c.odds, 1) << share;
    }
  }
}

TEST(chance, however_much_is_refused_when_it_is_found_more_than_that_can_be) {
  chance c{.share = .99, .answers = chance::smoothing};
  test(c, 1, 0, 0);
  ASSERT_TRUE(c.known());
  for (int i = 0; i < 500; ++i) c.answered(true, static_cast<std::uint64_t>(1'000'000 + i));
  EXPECT_EQ(c.doubts(), 0);
}

}  // namespace
}  // namespace headway
