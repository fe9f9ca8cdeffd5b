#include "headway/law/seek.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace headway {
namespace {

// Answers take 6 s, refusals 100 ms: after a cut fifty go and none is answered before the next
// refusal. The server accepts, and is not shut.
TEST(seek, a_refusal_that_overtakes_successes_does_not_mean_that_nothing_is_accepted) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 50, .latency = 6}, 0s);
  law.top.warm = false;
  auto const refused = [&] {
    auto const sent = law.take(now, 1, 0);
    now += 100ms;
    law.on_throttle(now, {.sent = sent, .rtt = 100ms}, resource::unknown, 0);
  };
  refused();
  EXPECT_TRUE(law.server.shut);  // nothing went before it
  law.server.shut = false;
  for (int i = 0; i < 50; ++i) {
    now += 20ms;
    law.take(now, 1, 0);
  }
  refused();
  EXPECT_FALSE(law.server.shut);
  refused();
  EXPECT_TRUE(law.server.shut);
}

// The next one went at the pace of the one before, which was late, and so before it was known that
// this one had passed; it was refused, and the server shut for ever longer.
TEST(seek, a_late_probe_that_passed_is_known_to_have_before_the_next_one_goes) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 50, .latency = 6}, 0s);
  law.top.warm = false;
  auto const sent = law.take(now, 1, 0);
  law.on_throttle(now += 100ms, {.sent = sent, .rtt = 100ms}, resource::unknown, 0);
  ASSERT_TRUE(law.server.shut);
  law.take(now = law.ready_at(1) + 100ms, 1, 0);
  EXPECT_TRUE(law.server.shut);
  law.take(now = law.ready_at(1), 1, 0);
  EXPECT_FALSE(law.server.shut);
}

/// Returns a law that knows a limit of so many a second, whose answers take 50 ms.
seek at_home(double rate) {
  seek law;
  law.remember({.rate = rate, .latency = .05}, 0s);
  law.top.warm = false;
  return law;
}

/// Sends so many back to back, and has the first of them refused 50 ms later.
void answer_row(seek& law, time_point& now, int row, int refused) {
  std::vector<stamp> sent;
  for (int i = 0; i < row; ++i) {
    now = std::max(now, law.ready_at(1));
    sent.push_back(law.take(now, 1, 0));
  }
  now += 50ms;
  for (int i = 0; i < row; ++i) {
    sample const s{.sent = sent[static_cast<std::size_t>(i)], .rtt = 50ms};
    if (i < refused)
      law.on_throttle(now, s, resource::unknown, 0);
    else
      law.on_success(now, s, 0);
  }
  law.turn.wait(now, 0);  // the pace is in use
}

TEST(seek, a_pair_asks_whether_a_refusal_at_the_ceiling_was_chance_and_a_row_once_it_passes) {
  time_point now{1s};
  auto law = at_home(20);
  auto const refused_after = [&](int accepted) {
    answer_row(law, now, accepted, 0);
    answer_row(law, now, 1, 1);
  };
  refused_after(30);
  EXPECT_EQ(law.luck.row.unsent, 0) << "too early";
  refused_after(40);
  ASSERT_EQ(law.luck.row.unsent, chance::pair);
  auto refused = law;
  auto then = now;
  answer_row(refused, then, chance::pair, 1);
  EXPECT_GT(refused.luck.odds, 1);
  EXPECT_NEAR(refused.luck.ceiling, refused.level, 0.1);
  answer_row(law, now, chance::pair, 0);
  EXPECT_LT(law.luck.odds, 1);
  ASSERT_EQ(law.luck.row.unsent, chance::tests) << "alone: at once";
  answer_row(law, now, chance::tests, 0);
  EXPECT_TRUE(law.luck.known());
}

TEST(seek, a_probe_that_was_cancelled_is_soon_sent_again_and_ever_later_while_none_is_heard) {
  time_point now{1s};
  auto law = at_home(20);
  auto const probe = [&] { return law.take(now = std::max(now + 1min, law.ready_at(1)), 1, 0); };
  auto const refused = [&] {
    auto const sent = probe();
    law.on_throttle(now += 50ms, {.sent = sent, .rtt = 50ms}, resource::unknown, 0);
  };
  auto const next_after = [&](stamp const& cancelled) {
    law.on_cancel(now += 50ms, cancelled);
    return to_seconds(law.ready_at(1) - now);
  };
  refused();
  ASSERT_TRUE(law.server.shut);
  auto const first = probe();
  auto const usual = to_seconds(law.ready_at(1) - now);
  auto const turn = next_after(first);
  EXPECT_LT(turn, usual / 10);
  EXPECT_NEAR(next_after(probe()), 2 * turn, 1e-6);
  auto const third = probe();
  EXPECT_NEAR(next_after(third), 4 * turn, 1e-6);
  auto const before = law;
  law.on_cancel(now, third);
  EXPECT_EQ(law, before) << "it was given up before";
  refused();
  EXPECT_NEAR(next_after(probe()), turn, 1e-6) << "one was heard";
}

TEST(seek, what_is_cancelled_while_the_server_is_open_changes_nothing) {
  time_point now{1s};
  auto law = at_home(20);
  answer_row(law, now, 100, 0);
  auto const sent = law.take(now, 1, 0);
  auto const before = law;
  law.on_cancel(now, sent);
  EXPECT_EQ(law, before);
}

// The next climb by 3 % pays for it.
TEST(seek, a_refusal_that_says_how_long_to_wait_costs_what_would_have_gone) {
  double climbed[2];
  for (bool const tells : {false, true}) {
    time_point now{1s};
    auto law = at_home(30);
    answer_row(law, now, 100, 0);
    if (tells) law.on_hint(now, {.retry_after = 1s});
    answer_row(law, now, 1, 1);
    ASSERT_FALSE(law.server.banned.suspected());
    law.top.touched = true;
    law.server.shut = false;
    law.luck.row = {};
    auto const from = law.level = law.top.at;
    answer_row(law, now, 20, 0);
    climbed[tells] = law.level - from;
  }
  EXPECT_GT(climbed[false], 0);
  EXPECT_LT(climbed[true], climbed[false] / 4);
}

TEST(seek, a_reset_of_which_something_is_left_is_no_wait) {
  for (std::int64_t const left : {0, 9}) {
    time_point now{1s};
    auto law = at_home(30);
    answer_row(law, now, 100, 0);
    law.on_hint(now, {.remaining = left, .reset = 1h});
    answer_row(law, now, 1, 1);
    EXPECT_EQ(law.server.costs, left > 0 ? 0 : ban::brief) << left;
  }
}

TEST(seek, a_wait_of_two_seconds_shuts_nothing) {
  for (auto const told : {2s, 3s}) {
    time_point now{1s};
    auto law = at_home(300);
    answer_row(law, now, 100, 0);
    law.on_hint(now, {.retry_after = told});
    EXPECT_EQ(law.server.shut, told > 2s);
  }
}

TEST(seek, a_wait_that_costs_more_than_was_accepted_before_it_cuts_deeper) {
  for (int const accepted : {20, 40}) {
    time_point now{1s};
    auto law = at_home(30);
    answer_row(law, now, accepted, 0);
    auto const before = law.level;
    law.on_hint(now + 50ms, {.retry_after = 1s});
    answer_row(law, now, 1, 1);
    auto const at = law.top.at / before;
    EXPECT_TRUE(accepted > 30 ? at > 0.9 : at == ceiling::costly) << accepted << ' ' << at;
  }
}

TEST(seek, where_others_may_be_a_row_follows_the_next_refusal_after_a_pair_that_passed) {
  for (auto const& [rate, variation, slots] :
       {std::tuple{20.0, 0.005, false}, {9.0, 0.0, false}, {20.0, 0.0, true}}) {
    time_point now{1s};
    auto law = at_home(rate);
    for (int const accepted : {30, 40}) {
      answer_row(law, now, accepted, 0);
      answer_row(law, now, 1, 1);
    }
    ASSERT_EQ(law.luck.row.unsent, chance::pair) << rate;
    law.others.all.variation = law.others.lasting.variation = variation;
    law.top.slots = slots;
    answer_row(law, now, chance::pair, 0);
    EXPECT_EQ(law.luck.row.unsent, 0) << rate << ' ' << variation;
    law.top.slots = false;
    answer_row(law, now, 20, 0);
    answer_row(law, now, 1, 1);
    EXPECT_EQ(law.luck.row.unsent, chance::tests) << rate << ' ' << variation;
  }
}

/// Returns a law that has found rows alike, as a limit that saves five gives them, and was refused
/// again far below its ceiling.
seek rows_alike(time_point& now, seek::parts with = {}, double alike = depth::four_alike + 1) {
  seek law{.with = with};
  law.last.at = law.turn.next = now;
  law.top.touched = true;
  law.luck.odds = chance::odds_max;
  law.luck.saves = {.most = 5, .alike = alike};
  law.top.at = 10;
  law.level = 5;
  law.others.all.variation = law.others.lasting.variation = .05;
  answer_row(law, now, 20, 0);
  law.top.at = 10;
  law.level = 5;
  answer_row(law, now, 1, 1);
  return law;
}

TEST(seek, where_rows_were_alike_a_faster_one_asks_and_is_paid_for_if_it_is_refused) {
  time_point now{1s};
  auto law = rows_alike(now);
  ASSERT_EQ(law.luck.row.what, test_row::asks::pace);
  ASSERT_EQ(law.luck.row.unsent, depth::faster_tests);
  EXPECT_NEAR(law.luck.row.gap * depth::faster * law.level, 1, 1e-9);
  auto const begins = law.ready_at(1);
  law.take(begins, 1, 0);
  EXPECT_NEAR(to_seconds(law.ready_at(1) - begins), law.luck.row.gap, 1e-6);
  law.luck.row.take_back();
  auto refused = rows_alike(now);
  answer_row(refused, now, depth::faster_tests, 20);
  EXPECT_FALSE(refused.luck.known());
  EXPECT_EQ(refused.luck.saves, depth{});
  law = rows_alike(now);
  auto const level = law.level;
  answer_row(law, now, depth::faster_tests, 0);
  EXPECT_TRUE(law.luck.known());
  EXPECT_TRUE(law.luck.saves.found);
  EXPECT_GE(law.level, seek::search_cut * depth::faster * level);
  EXPECT_EQ(law.top.at, 0) << "rows at once told of a limit, and it was chance";
}

TEST(seek, what_a_faster_row_takes_is_paid_for) {
  time_point now{1s};
  auto law = rows_alike(now);
  std::vector<stamp> sent;
  for (int i = 0; i < depth::faster_tests; ++i) {
    now = std::max(now, law.ready_at(1));
    sent.push_back(law.take(now, 1, 0));
  }
  auto const level = law.level;
  for (auto const& s : sent) law.on_throttle(now, {.sent = s, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_GE(to_seconds(law.ready_at(1) - now) * level, depth::faster_tests);
}

TEST(seek, rows_that_were_alike_are_counted_by_short_ones_until_they_tell) {
  time_point now{1s};
  auto const law = rows_alike(now, {}, depth::two_alike + 1);
  EXPECT_EQ(law.luck.row.what, test_row::asks::depth);
  EXPECT_EQ(law.luck.row.length(), 5 + depth::more);
}

TEST(seek, rows_that_were_alike_ask_nothing_where_that_part_is_left_out) {
  for (auto const alike : {depth::two_alike + 1, depth::four_alike + 1}) {
    time_point now{1s};
    EXPECT_EQ(rows_alike(now, {.depths = false}, alike).luck.row.unsent, 0);
  }
}

/// Returns a law that has found chance so, and was refused again.
seek doubted(time_point& now) {
  auto law = rows_alike(now);
  answer_row(law, now, depth::faster_tests, 0);
  answer_row(law, now, 20, 0);
  answer_row(law, now, 1, 1);
  return law;
}

TEST(seek, chance_beside_a_small_limit_is_asked_by_tests_that_go_little_faster) {
  for (auto const& [refused, cuts] : {std::pair{2, false}, {6, true}}) {
    time_point now{1s};
    auto law = doubted(now);
    ASSERT_EQ(law.luck.row.unsent, chance::tests);
    EXPECT_NEAR(law.luck.row.gap * chance::doubted_faster * law.level, 1, 1e-9);
    auto const epoch = law.so_far.epoch;
    answer_row(law, now, chance::tests, refused);
    EXPECT_EQ(law.so_far.epoch > epoch, cuts) << refused;
    EXPECT_TRUE(law.luck.known());
  }
}

TEST(seek, others_taken_for_chance_get_back_what_was_taken_from_them) {
  for (bool const ceilings_vary : {true, false}) {
    time_point now{1s};
    auto law = doubted(now);
    auto const was = law.luck.saves.rate;
    EXPECT_NEAR(was, 5, 1);
    EXPECT_GT(law.level, 2 * was * .95);
    if (ceilings_vary) {
      law.others.all.variation = law.others.lasting.variation = .05;
      answer_row(law, now, chance::tests, 6);
    } else {
      answer_row(law, now, chance::tests, 6);
      while (law.luck.known()) answer_row(law, now, 20, 0);
    }
    answer_row(law, now, 1, 0);
    EXPECT_FALSE(law.luck.known());
    EXPECT_FALSE(law.luck.saves.found);
    EXPECT_EQ(law.luck.saves.rate, 0) << "once";
    EXPECT_TRUE(law.others.shown);
    EXPECT_LE(law.level, 1.1 * was);
  }
}

TEST(seek, a_server_that_may_ban_is_not_asked_by_faster_requests) {
  for (auto const& [alike, asks] : {std::pair{0, true}, {1, false}}) {
    time_point now{1s};
    auto law = rows_alike(now);
    law.luck.row = {};
    law.level = 5;
    law.server.banned.alike = alike;
    answer_row(law, now, 20, 0);
    law.top.at = 10;
    law.level = 5;
    answer_row(law, now, 1, 1);
    EXPECT_EQ(law.luck.row.unsent > 0, asks);
  }
}

/// Returns a law that has met a ceiling, and was refused again after so many.
seek held_down(time_point& now, double level, int accepted) {
  seek law;
  law.last.at = law.turn.next = now;
  law.top.at = law.level = level;
  law.top.touched = true;
  answer_row(law, now, accepted, 0);
  answer_row(law, now, 1, 1);
  return law;
}

TEST(seek, a_pair_asks_a_ceiling_that_holds_it_down_where_a_crowd_would_be_refused_more) {
  for (auto const& [level, accepted, pair] :
       {std::tuple{0.1, 3, chance::pair}, {0.1, 60, 0}, {20.0, 20, 0}}) {
    time_point now{1s};
    EXPECT_EQ(held_down(now, level, accepted).luck.row.unsent, pair) << level << ' ' << accepted;
  }
}

TEST(seek, a_ceiling_that_accepts_a_pair_is_a_guess_again_and_one_that_refuses_the_second_a_limit) {
  for (auto const& [refused, guess, limit] :
       {std::tuple{0, true, false}, {1, false, true}, {2, false, false}}) {
    time_point now{1s};
    auto law = held_down(now, 0.1, 5);
    answer_row(law, now, chance::pair, refused);
    EXPECT_EQ(law.top.guess, guess) << refused;
    EXPECT_EQ(law.doing() == seek::phase::ramp, guess) << refused;
    EXPECT_EQ(law.luck.limit(), limit) << refused;
  }
}

TEST(seek, a_guess_of_which_no_more_is_accepted_at_twice_the_pace_is_its_own_limit) {
  for (auto const& [pause, limit] : {std::pair{0s, false}, {60s, true}}) {
    time_point now{1s};
    seek law;
    law.last.at = law.turn.next = now;
    law.top.at = 0.1;
    law.top.guess = true;
    law.level = 0.2;
    law.luck.odds = chance::suspect;  // a pair has passed
    law.turn.next += pause;
    answer_row(law, now, 6, 0);
    answer_row(law, now, 1, 1);
    EXPECT_EQ(law.luck.limit(), limit) << pause.count();
  }
}

TEST(seek, one_slot_does_not_refuse_what_goes_alone) {
  for (auto const& [out, slots] : {std::pair{2, true}, {1, false}}) {
    time_point now{1s};
    seek law;
    law.top.slots = true;
    law.top.at = law.level = 1;
    law.wait.mean = 0.05;
    answer_row(law, now, 5, 0);
    auto sent = law.take(now, 1, 0);
    sent.in_flight = out;
    law.on_throttle(now + 50ms, {.sent = sent, .rtt = 50ms}, resource::unknown, 0);
    EXPECT_EQ(law.top.slots, slots) << out;
  }
}

// A client that is alone is refused at the same level each time, though what is out differs:
// requests overtake each other. Where slots fall, fewer than fly are accepted meanwhile.
TEST(seek, slots_that_refuse_at_other_levels_each_time_are_shared) {
  for (auto const& [fewer, accepted, shared] :
       {std::tuple{0, 60, false}, {1, 60, true}, {1, 40, false}}) {
    time_point now{1s};
    seek law;
    law.remember({.rate = 500, .slots = 50, .latency = .1}, 0s);
    law.top.warm = false;
    for (int const moved : {0, 1, 2, 3, 0}) {
      now += 2s;
      answer_row(law, now, accepted, 0);
      law.level = 50 - fewer * moved;
      auto sent = law.take(now, 1, 0);
      sent.in_flight = 50 - moved;
      now += 50ms;
      law.on_throttle(now, {.sent = sent, .rtt = 50ms}, resource::unknown, 0);
      if (!law.top.slots) break;
    }
    EXPECT_EQ(law.others.varies(), shared) << fewer << ' ' << accepted;
    EXPECT_EQ(law.top.slots, !shared) << "a crowd's are a rate, …";
    EXPECT_TRUE(!shared || law.others.all.found == 0) << "… which is compared with none of these";
  }
}

TEST(seek, a_row_that_gets_more_than_a_limit_of_its_own_can_have_saved_shows_others) {
  for (auto const& [refused, shown] : {std::pair{1, false}, {2, true}, {5, true}, {6, false}}) {
    time_point now{1s};
    seek law;
    law.top.at = 5;
    law.level = 4;
    law.last.at = now;  // a fifth of a second before the row is heard: it saved one
    law.luck.answers = chance::smoothing;  // none was refused
    law.luck.test(law.last.since.sends, true);
    law.turn.next = now + 150ms;
    answer_row(law, now, chance::tests, refused);
    EXPECT_EQ(law.others.shown, shown) << refused << " of 8";
    EXPECT_EQ(law.others.varies(), shown) << refused << " of 8";
  }
}

TEST(seek, no_pair_asks_a_refusal_that_climbs_explain_or_that_ends_a_ramp) {
  for (auto const& [accepted, level, pair] :
       {std::tuple{70, 19.5, chance::pair}, {90, 19.5, 0}, {70, 26.0, 0}}) {
    time_point now{1s};
    seek law;
    law.top.at = 20;
    law.top.touched = true;
    law.level = 19;
    answer_row(law, now, accepted, 0);
    law.top.at = 20;
    law.top.climb_seconds = 4;  // 3.5 after the touch: 1.25 climbs are 85
    law.level = level;
    answer_row(law, now, 1, 1);
    EXPECT_EQ(law.luck.row.unsent, pair) << accepted << " at " << level;
  }
}

TEST(seek, where_refused_tests_tell_of_a_limit_is_kept_and_no_other_refusal) {
  time_point now{1s};
  seek law;
  answer_row(law, now, 20, 0);
  answer_row(law, now, 1, 1);
  EXPECT_GT(law.top.at, 0);
  EXPECT_EQ(law.luck.ceiling, 0) << "nothing was tested";
  law.luck.odds = 1 / chance::odds_max;
  law.luck.usual = 0.2;
  auto const epoch = law.so_far.epoch;
  answer_row(law, now, 1, 1);
  EXPECT_EQ(law.so_far.epoch, epoch) << "by chance, as far as one knows";
  EXPECT_EQ(law.luck.row.unsent, chance::tests);
  answer_row(law, now, chance::tests, chance::tests);
  EXPECT_EQ(law.so_far.epoch, epoch + 1);
  EXPECT_EQ(law.luck.ceiling, law.top.at);
}

// The cut before a row may have gone far below the limit that it was for.
TEST(seek, a_row_tells_of_a_limit_where_the_one_before_it_was_refused_or_so_much_was_accepted) {
  for (auto const& [accepted, there] : {std::pair{0.0, 60.0}, {90.0, 90.0}, {300.0, 100.0}}) {
    time_point now{1s};
    seek law;
    law.last.rate = law.top.at = 100;
    law.level = 60;
    law.luck.highest = accepted;
    law.turn.wait(now, 0);
    law.luck.test(law.last.since.sends, true);
    answer_row(law, now, chance::tests, chance::tests);
    EXPECT_EQ(law.luck.ceiling, there);
  }
}

TEST(seek, once_chance_is_found_again_goes_back_to_where_tests_told_of_a_limit) {
  auto const found = [](double limit) {
    time_point now{1s};
    seek law;
    law.luck.ceiling = limit;
    law.luck.share = 0.03;
    law.top.at = 30;  // what chance has made of it
    law.turn.wait(now, 0);
    law.luck.test(law.last.since.sends, true);
    answer_row(law, now, chance::tests, 0);
    EXPECT_TRUE(law.luck.known());
    return law;
  };
  EXPECT_EQ(found(200).top.at, 200);
  EXPECT_TRUE(found(200).top.resumed);
  EXPECT_EQ(found(0).top.at, 0) << "nothing is known";
  EXPECT_FALSE(found(0).top.resumed);
}

// 200/s with 3 % of chance, seed 142: the row's verdict set the level to a ceiling of 0, for good.
TEST(seek, once_chance_is_found_a_row_that_asks_for_slots_is_over) {
  time_point now{1s};
  seek law;
  law.luck.share = 0.03;
  law.top.at = 30;
  law.turn.wait(now, 0);
  law.luck.test(law.last.since.sends, true);
  law.last.vacant.ask(30, 0.05, 0.05, law.last.since.sends, 20);
  answer_row(law, now, chance::tests, 0);
  ASSERT_TRUE(law.luck.known());
  EXPECT_EQ(law.last.vacant.slots, 0);
}

TEST(seek, once_chance_has_explained_a_collapse_half_of_what_was_accepted_goes_again) {
  time_point now{1s};
  seek law;
  law.luck.accepted(100);
  law.luck.share = 0.2;
  law.level = 1;
  law.turn.wait(now, 0);
  law.luck.test(law.last.since.sends, true);
  answer_row(law, now, chance::tests, 0);
  ASSERT_TRUE(law.luck.known());
  EXPECT_GE(law.level, 50);
}

/// A row of tests at a level of 1, where that share of all was refused.
void answer_row_at_one(seek& law, time_point& now, double share, int refused) {
  law.luck.share = share;
  law.level = law.top.at = 1;
  law.turn.wait(now, 0);
  law.luck.test(law.last.since.sends, true);
  answer_row(law, now, chance::tests, refused);
}

TEST(seek, once_chance_is_found_early_and_alone_the_search_begins_no_lower_than_usual) {
  for (auto const& [successes, variation, usual] :
       {std::tuple{150, 0.0, true}, {200, 0.0, false}, {150, 0.02, false}}) {
    time_point now{1s};
    seek law;
    law.so_far.successes = static_cast<std::uint64_t>(successes);
    law.others.all.variation = law.others.lasting.variation = variation;
    answer_row_at_one(law, now, 0.2, 0);
    ASSERT_TRUE(law.luck.known());
    EXPECT_EQ(law.level >= seek{}.level, usual) << successes << ' ' << variation;
  }
}

TEST(seek, a_row_that_leaves_a_collapse_unexplained_is_followed_by_another) {
  time_point now{1s};
  seek law;
  law.luck.accepted(100);
  answer_row_at_one(law, now, 0.3, 3);
  EXPECT_FALSE(law.luck.known());
  EXPECT_EQ(law.luck.row.unsent, chance::tests);
  EXPECT_LE(law.ready_at(1), now + 100ms) << "and not 8 + 2 seconds later";
}

/// Sends one and answers it `rtt` later.
void answer(seek& law, time_point& now, outcome what, duration rtt = 50ms) {
  now = std::max(now, law.ready_at(1));
  auto const sent = law.take(now, 1, 0);
  now += rtt;
  sample const s{.sent = sent, .rtt = rtt};
  if (what == outcome::success)
    law.on_success(now, s, 0);
  else
    law.on_failure(now, s, 0);
}

TEST(seek, a_request_that_comes_when_its_turn_is_due_says_nothing_against_the_pace) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 20; ++i) answer(law, now, outcome::success);
  now += 10s;
  EXPECT_FALSE(law.take(now, 1, 0).prompt);
  now = law.ready_at(1);
  EXPECT_TRUE(law.take(now, 1, 0).prompt);
  now = law.ready_at(1) + 1ms;  // a late timer
  EXPECT_TRUE(law.take(now, 1, 0).prompt);
}

// A driver that shares its processor wakes late, and sends what its pace has missed: up to two
// turns.
TEST(seek, a_late_wake_up_is_made_up_for) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 20; ++i) answer(law, now, outcome::success);
  law.level = 100;
  law.wait.mean = 1;
  auto const sent_at_once = [&](duration late) {
    law.turn.next = now;
    now += late;
    int sent = 0;
    for (; law.ready_at(1) <= now; ++sent) law.take(now, 1, 0);
    return sent;
  };
  EXPECT_EQ(sent_at_once(0ms), 1);
  EXPECT_EQ(sent_at_once(11ms), 2);
  EXPECT_EQ(sent_at_once(21ms), 3);
  EXPECT_EQ(sent_at_once(300ms), 3);
  EXPECT_EQ(sent_at_once(1s), 1);  // the caller wanted none: nothing was late
  law.wait.mean = 0.04;            // no more than a quarter of an answer's time
  EXPECT_EQ(sent_at_once(150ms), 2);
}

TEST(seek, one_that_was_never_served_asks_each_30_seconds_about_and_not_in_step) {
  auto const probes = [](fraction u) {
    time_point now{1s};
    seek law;
    int sends = 0;
    for (; now < time_point{20min}; ++sends) {
      now = std::max(now, law.ready_at(1));
      auto const sent = law.take(now, 1, u);
      now += 50ms;
      law.on_throttle(now, {.sent = sent, .rtt = 50ms}, resource::unknown, u);
      EXPECT_LE(law.ready_at(1), now + 46s) << sends;
    }
    return sends;
  };
  EXPECT_GT(probes(0), 60);
  EXPECT_LT(probes(static_cast<fraction>(-1)), 40);
}

// Others were accepted beside it: neither it nor those before it were a limit's.
TEST(seek, a_request_s_own_refusal_cuts_nothing_and_gives_back_what_others_cut) {
  time_point now{1s};
  seek law;
  auto const first = law.level;
  answer(law, now, outcome::success);
  auto const bad = law.take(now = std::max(now, law.ready_at(1)), 1, 0);
  law.on_throttle(now, {.sent = bad, .rtt = 15ms}, resource::unknown, 0);
  for (int i = 0; i < 8; ++i) answer(law, now, outcome::success);
  EXPECT_GT(law.top.at, 0);
  auto const sent = law.take(now, 1, 0);
  law.on_throttle(now, {.sent = sent, .rtt = 15ms, .own = true}, resource::unknown, 0);
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  EXPECT_EQ(law.top.at, 0);
  EXPECT_GE(law.level, first);
}

/// Lets `law` send at `rate`, which five successes later is refused with `out` in flight.
void refuse(seek& law, time_point& now, double rate, int out) {
  law.level = rate;
  for (int i = 0; i < 5; ++i) answer(law, now, outcome::success);
  law.level = rate;
  auto sent = law.take(now, 1, 0);
  sent.in_flight = out;
  now += 50ms;
  law.on_throttle(now, {.sent = sent, .in_flight = out, .rtt = 50ms}, resource::unknown, 0);
}

TEST(seek, few_slots_are_those_that_refuse_three_times_at_as_many_and_different_rates) {
  struct {
    char const* what;
    double rates[3];
    int outs[3];
    bool slots;
  } const rows[] = {
      {"as many, different rates", {80, 40, 20}, {5, 5, 5}, true},
      {"one of them at another number", {80, 40, 20}, {5, 4, 5}, false},
      {"rates that are alike", {20, 20, 20}, {5, 5, 5}, false},
      {"a request alone", {80, 40, 20}, {1, 1, 1}, false},
  };
  for (auto const& r : rows) {
    time_point now{1s};
    seek law;
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(law.top.slots) << r.what << ", " << i;
      refuse(law, now, r.rates[i], r.outs[i]);
    }
    EXPECT_EQ(law.top.slots, r.slots) << r.what;
  }
}

TEST(seek, few_slots_are_none_where_as_many_are_accepted) {
  time_point now{1s};
  seek law;
  refuse(law, now, 80, 5);
  refuse(law, now, 40, 5);
  for (int i = 0; i < 2; ++i) {
    auto sent = law.take(now, 1, 0);
    sent.in_flight = 5;
    law.on_success(now, {.sent = sent, .rtt = 50ms}, 0);
  }
  refuse(law, now, 20, 5);
  EXPECT_FALSE(law.top.slots);
}

TEST(seek, few_slots_are_none_where_fewer_are_refused) {
  time_point now{1s};
  seek law;
  for (auto const rate : {80, 40, 20}) refuse(law, now, rate, 5);
  ASSERT_TRUE(law.top.slots);
  refuse(law, now, law.level, 3);
  EXPECT_FALSE(law.top.slots);
}

TEST(seek, tells_since_when_nothing_answers) {
  time_point now{1s};
  seek law;
  answer(law, now, outcome::success);
  EXPECT_EQ(law.broken_since(), never);
  for (int i = 0; i < breakage::row_max; ++i) answer(law, now, outcome::failure);
  EXPECT_EQ(law.broken_since(), now);
  answer(law, now, outcome::success);
  EXPECT_EQ(law.broken_since(), never);
}

TEST(seek, a_server_that_was_gone_finds_the_rate_as_it_was) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  auto const level = law.level;
  auto const went = now;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::failure);
  EXPECT_EQ(law.level, level);
  EXPECT_GT(now, went + 10min);
  EXPECT_LE(law.ready_at(1), now + 5s);
  answer(law, now, outcome::success);
  EXPECT_GE(law.level, level);
  EXPECT_LE(law.ready_at(1), now + 1s);
}

// A gateway gives up what waits behind too much else. A dead port fails at once.
TEST(seek, asks_one_at_a_time_where_nothing_ever_answered_and_all_failed_late) {
  for (auto const took : {5s, 0s}) {
    time_point now{1s};
    seek law;
    std::vector<stamp> sent;
    for (int i = 0; i < 100; ++i) sent.push_back(law.take(now += 20ms, 1, 0));
    now += took;
    for (int i = 0; i < 100; ++i)
      law.on_failure(now, {.sent = sent[0], .in_flight = 100 - i, .rtt = took + 1ms}, 0);
    EXPECT_EQ(law.allowed(), took > 0s ? 1 : 2048) << took.count();
    EXPECT_EQ(law.broken_since() == never, took == 0s) << took.count();
    for (int i = 0; i < 20; ++i) {
      auto const alone = law.take(now = std::max(now, law.ready_at(1)), 1, 0);
      law.on_failure(now += took, {.sent = alone, .in_flight = 1, .rtt = took}, 0);
    }
    EXPECT_EQ(law.allowed(), 2048) << "one request alone fails, too";
  }
}

// Bad requests fail after two seconds, good ones are answered after twenty.
TEST(seek, what_fails_sooner_than_older_requests_tells_of_no_server_that_is_away) {
  time_point now{1s};
  seek law;
  std::vector<stamp> sent;
  for (int i = 0; i < 100; ++i) sent.push_back(law.take(now += 20ms, 1, 0));
  for (int i = 1; i < 100; i += 5)
    law.on_failure(now + 2s,
                   {.sent = sent[static_cast<std::size_t>(i)], .in_flight = 100 - i / 5, .rtt = 2s},
                   0);
  EXPECT_EQ(law.broken_since(), never);
  EXPECT_EQ(law.allowed(), 2048);
}

// Four workers of half a second, of which twenty seconds of work are out.
TEST(seek, holds_what_is_out_where_answers_queue) {
  time_point now{1s};
  seek law;
  law.level = 20;
  law.top.at = 30;
  law.wait.base = law.wait.mean = 0.5;
  law.wait.room = 100;
  law.wait.usual = {.answer = 0.5, .rate = 8};
  auto no_drain = law;
  no_drain.with.drain = false;
  for (auto* held : {&law, &no_drain}) {
    auto then = now;
    for (int i = 0; i < calm::late_most; ++i) {
      auto const sent = held->take(then += 100ms, 1, 0);
      held->on_success(then, {.sent = sent, .in_flight = 40, .rtt = 5s}, 0);
    }
  }
  EXPECT_EQ(law.allowed(), 15);
  EXPECT_GT(no_drain.allowed(), 90);
}

TEST(seek, the_first_answer_of_a_server_that_was_away_tells_all_that_is_known_of_it) {
  time_point now{1s};
  seek law;
  auto const sent = law.take(now, 1, 0);
  for (int i = 1; i < 30; ++i) law.take(now += 20ms, 1, 0);
  law.level = 50;
  for (int i = 0; i < breakage::row_max; ++i)
    law.on_failure(now += 1s, {.sent = sent, .in_flight = 30, .rtt = 5s}, 0);
  ASSERT_EQ(law.allowed(), 1);
  auto const probe = law.take(now = std::max(now, law.ready_at(1)), 1, 0);
  auto known = law, fast = law, no_drain = law, slots = law;
  known.so_far.successes = latency::block_answers;
  no_drain.with.drain = false;
  EXPECT_EQ(no_drain.allowed(), 2048) << "it never learns what is usual";
  slots.top.slots = true;
  EXPECT_EQ(slots.allowed(), 50);
  fast.on_success(now + 1ms, {.sent = probe, .in_flight = 1, .rtt = 1ms}, 0);
  EXPECT_GE(fast.level, 50);
  EXPECT_FALSE(fast.top.guess);
  law.on_success(now += 2s, {.sent = probe, .in_flight = 1, .rtt = 2s}, 0);
  EXPECT_NEAR(law.level, 2 / 2., 0.2);
  EXPECT_TRUE(law.top.guess && law.top.resumed) << "it ramps soon, and with care";
  EXPECT_LT(law.allowed(), 10);
  known.on_success(now, {.sent = probe, .in_flight = 1, .rtt = 2s}, 0);
  EXPECT_GE(known.level, 50) << "an outage: it is what it was";
}

// What was given up is still worked on when the first one is answered.
TEST(seek, after_that_one_that_goes_alone_tells_a_pace) {
  seek begun;
  begun.take(time_point{1s}, 1, 0);
  begun.so_far.successes = 1;
  begun.level = .14;
  begun.wait.mean = 14;
  begun.top.resumed = true;
  auto const level_after = [](seek law, int out_before, int out) {
    auto sent = law.take(time_point{20s}, 1, 0);
    sent.in_flight = out_before;
    law.on_success(time_point{22s}, {.sent = sent, .in_flight = out, .rtt = 2s}, 0);
    return law.level;
  };
  EXPECT_NEAR(level_after(begun, 1, 1), 1 / 2., .1);
  EXPECT_LT(level_after(begun, 2, 1), .2) << "another went before it";
  EXPECT_LT(level_after(begun, 1, 2), .2) << "another went after it";
  auto met = begun, usual = begun;
  met.top.at = .2;
  usual.top.resumed = false;
  EXPECT_LT(level_after(met, 1, 1), .2) << "a limit is known";
  EXPECT_LT(level_after(usual, 1, 1), .2);
}

TEST(seek, after_that_the_ramp_is_less_careful_once_many_were_answered) {
  auto const grown = [](std::uint64_t successes, double usual = 50) {
    seek law;
    law.wait.usual.rate = usual;
    law.take(time_point{1s}, 1, 0);
    law.so_far.successes = successes;
    law.level = 50;
    law.wait.mean = 2;
    law.top.resumed = true;
    auto const sent = law.take(time_point{20s}, 1, 0);
    law.on_success(time_point{22s}, {.sent = sent, .in_flight = 9, .rtt = 2s}, 0);
    return law.level - 50;
  };
  EXPECT_GT(grown(0), 0);
  EXPECT_GT(grown(growth::anew_calm), 1.5 * grown(growth::anew_calm - 2));
  EXPECT_EQ(grown(growth::anew_calm, 0), grown(0)) << "all of them may have queued";
}

TEST(seek, a_cut_that_failures_outlast_is_given_back) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  auto const level = law.level;
  auto lowest = level;
  for (int i = 0; i < 400; ++i) {
    answer(law, now, i % 2 == 0 ? outcome::failure : outcome::success);
    lowest = std::min(lowest, law.level);
  }
  EXPECT_LT(lowest, level);
  EXPECT_GE(law.level, level);
  EXPECT_GT(law.broken.usual, breakage::suspicious);
  auto const cuts = law.so_far.epoch;
  for (int i = 0; i < 400; ++i) answer(law, now, i % 2 == 0 ? outcome::failure : outcome::success);
  EXPECT_EQ(law.so_far.epoch, cuts);
}

/// Sends for so long to a server of `rate` a second that closes what is above it. Returns the
/// failures.
int closes(seek& law, time_point& now, duration lasts, double rate) {
  auto const until = now + lasts;
  int failures = 0;
  double saved = 3;
  auto before = now;
  while (now < until) {
    now = std::max(now + 1ms, law.ready_at(1));
    saved = std::min(3.0, saved + to_seconds(now - before) * rate);
    before = now;
    auto const sent = law.take(now, 1, 0);
    sample const s{.sent = sent, .rtt = 1ms};
    if (saved >= 1) {
      saved -= 1;
      law.on_success(now + 1ms, s, 0);
    } else {
      ++failures;
      law.on_failure(now + 1ms, s, 0);
    }
  }
  return failures;
}

TEST(seek, a_limit_that_closes_is_kept_once_a_cut_has_helped) {
  time_point now{1s};
  seek law;
  closes(law, now, 20s, 30);
  EXPECT_TRUE(law.broken.limit);
  EXPECT_LT(closes(law, now, 60s, 30), 60 * 30 / 10);
  EXPECT_NEAR(law.pace(), 30, 3);
}

TEST(seek, what_shuts_by_failures_has_a_period_once_it_is_a_limit) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  law.broken.limit = true;
  for (int i = 0; !law.server.shut && i < 20; ++i) answer(law, now, outcome::failure);
  EXPECT_TRUE(law.server.shut);
}

/// A law that a cut of a limit has just been tried in, at half of its level.
seek on_trial(time_point& now) {
  seek law;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  law.broken.limit = true;
  law.trial = {.share = 0.5, .pace = 10, .level = law.level, .top = law.top};
  ++law.so_far.epoch;
  law.last.since = {.sends = law.last.since.sends, .begin = law.last.since.sends};
  law.level /= 2;
  return law;
}

TEST(seek, failures_in_a_row_shut_a_limit_and_are_not_the_usual_share) {
  time_point now{1s};
  auto law = on_trial(now);
  auto const level = law.level;
  for (int i = 0; i < 2 * breakage::row_max; ++i) answer(law, now, outcome::failure);
  EXPECT_TRUE(law.server.shut);
  EXPECT_EQ(law.broken_since(), law.server.since);
  EXPECT_EQ(law.trial.share, 0);
  EXPECT_EQ(law.broken.usual, 0);
  EXPECT_LE(law.level, level);
  answer(law, now, outcome::success);
  EXPECT_EQ(law.broken_since(), never);
  law.server.shut = true;  // by throttles
  EXPECT_EQ(law.broken_since(), never);
}

TEST(seek, a_cut_is_judged_from_the_first_success_on) {
  time_point now{1s};
  auto law = on_trial(now);
  for (int i = 0; i < breakage::row_max - 1; ++i) answer(law, now, outcome::failure);
  EXPECT_GT(law.trial.share, 0);
  for (int i = 0; i < 10; ++i) answer(law, now, outcome::success);
  EXPECT_EQ(law.trial.share, 0);
  EXPECT_EQ(law.broken.usual, 0) << "nine of nine passed";
}

TEST(seek, a_test_that_fails_and_refuses_nothing_is_out_no_more) {
  for (auto const& [limit, trial] : {std::pair{true, true}, {false, true}, {false, false}}) {
    time_point now{1s};
    auto law = on_trial(now);
    law.broken.limit = limit;
    if (!trial) law.trial = {};
    law.turn.wait(now, 0);  // they are in time
    law.luck.test(law.last.since.sends, true, chance::pair);
    answer(law, now, outcome::success);
    answer(law, now, outcome::failure);
    EXPECT_EQ(law.luck.row.heard, chance::pair);
    EXPECT_EQ(law.luck.row.out(), 0) << limit << trial;
  }
}

TEST(seek, a_probe_that_fails_for_its_own_reason_is_none) {
  for (bool const limit : {true, false}) {
    time_point now{1s};
    auto law = on_trial(now);
    law.trial = {};
    law.broken.limit = limit;
    law.broken.stubborn = 1;
    law.server.shut = true;
    law.server.since = now - 10min;
    law.server.began = now - 3h;
    now = std::max(now, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    EXPECT_GT(law.ready_at(1), now + 10s);
    law.on_failure(now, {.sent = sent, .rtt = 50ms, .own = true}, 0);
    EXPECT_TRUE(law.server.shut);
    EXPECT_LE(law.ready_at(1), now + 2s / law.pace());
  }
}

TEST(seek, requests_that_fail_while_others_pass_neither_shut_the_server_nor_end_it) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  law.top.at = law.level;
  auto const began = now;
  for (int i = 0; i < 400; ++i) {
    now = std::max(now, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    now += 50ms;
    law.on_failure(now, {.sent = sent, .rtt = 50ms, .own = true}, 0);
    EXPECT_FALSE(law.server.shut) << i;
  }
  EXPECT_EQ(law.broken_since(), never);
  EXPECT_LT(now - began, 60s);
}

// Without a bound a dead port would be asked ever faster.
TEST(seek, failures_before_any_success_do_not_make_it_faster) {
  time_point now{1s};
  seek law;
  answer(law, now, outcome::failure);
  auto const level = law.level;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::failure);
  EXPECT_EQ(law.level, level);
}

/// One request a second, which the law does not make wait; every third is refused, from the tenth
/// on.
seek few_requests(seek law) {
  time_point now{1s};
  for (int i = 0; i < 60; ++i) {
    now = std::max(now + 1s, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    sample const s{.sent = sent, .rtt = 50ms, .app_limited = true};
    if (i > 10 && i % 3 == 0)
      law.on_throttle(now + 50ms, s, resource::unknown, 0);
    else
      law.on_success(now + 50ms, s, 0);
  }
  return law;
}

TEST(seek, a_trial_of_a_slower_pace_keeps_sends_apart) {
  for (bool const asks : {true, false}) {
    time_point now{1s};
    seek law{.with = {.excess = asks}};
    answer(law, now, outcome::success);
    law.wanted.over = {.now = excess::at::slowed, .seconds = 2};
    law.wanted.idle = 1;
    now = std::max(now, law.ready_at(1));
    law.take(now, 1, 0);
    EXPECT_EQ(law.ready_at(1) - now >= 2s, asks);
  }
}

TEST(seek, a_caller_that_wants_more_than_its_limit_is_searched_for_at_what_that_accepts) {
  for (bool const asks : {true, false}) {
    auto law = few_requests({.with = {.excess = asks}});
    ASSERT_TRUE(law.wanted.is_low());
    law.top.at = 50;
    law.wanted.refused = never;
    law.wanted.over = {.now = excess::at::own,
                       .seconds = 0.5,
                       .share = 1,
                       .rounds = excess::rounds_max - 1,
                       .odds = excess::certain_own / 2};
    auto const now = law.ready_at(1);
    auto const sent = law.take(now, 1, 0);
    law.on_throttle(now + 50ms, {.sent = sent, .rtt = 50ms, .app_limited = true}, resource::unknown,
                    0);
    EXPECT_EQ(law.wanted.is_low(), !asks);
    EXPECT_EQ(law.so_far.epoch, asks ? 1U : 0U);
    EXPECT_EQ(law.top.at, asks ? 0 : 50);
    EXPECT_EQ(law.level == 2, asks);
  }
}

// The first was the only one that told a time: an answer in no time passed for none, for ever.
TEST(seek, an_answer_in_no_time_has_a_time) {
  time_point now{1s};
  seek law;
  law.on_success(now, {.sent = law.take(now, 1, 0)}, 0);
  EXPECT_GT(law.wait.mean, 0);
}

TEST(seek, failures_that_cut_nothing_are_not_tried) {
  time_point now{1s};
  auto law = few_requests({});
  ASSERT_TRUE(law.wanted.is_low());
  for (int i = 0; i < 200; ++i) {
    now = std::max(now + 1s, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    sample const s{.sent = sent, .rtt = 50ms, .app_limited = true};
    if (i % 3 == 0)
      law.on_success(now + 50ms, s, 0);
    else
      law.on_failure(now + 50ms, s, 0);
    EXPECT_EQ(law.trial.share, 0) << i;
  }
  EXPECT_EQ(law.so_far.epoch, 0U);
  EXPECT_FALSE(law.broken.limit);
}

TEST(seek, failures_that_come_often_are_asked_by_a_row_at_once_unless_the_server_throttles) {
  for (bool const throttles : {false, true}) {
    time_point now{1s};
    seek law;
    for (int i = 0; i < 16; ++i) answer(law, now, outcome::success);
    if (throttles) answer_row(law, now, 1, 1);
    for (int i = 0; i < 48 && !law.broken.asked; ++i)
      answer(law, now, i % 3 == 0 ? outcome::success : outcome::failure);
    ASSERT_EQ(law.broken.asked, !throttles);
    if (throttles) continue;
    std::vector<stamp> row;
    while (law.luck.row.unsent > 0) {
      ASSERT_LE(law.ready_at(1), now);
      row.push_back(law.take(now, 1, 0));
    }
    ASSERT_EQ(row.size(), static_cast<std::size_t>(chance::tests));
    EXPECT_GT(law.ready_at(1), now);
    now += 50ms;
    for (auto const& sent : row) {
      sample const s{.sent = sent, .rtt = 50ms};
      if (sent.sends == row.front().sends)
        law.on_success(now, s, 0);
      else
        law.on_failure(now, s, 0);
    }
    EXPECT_FALSE(law.broken.asked);
    EXPECT_GT(law.broken.odds, 1);
  }
}

/// A law that failures have often answered lately, and that waits for its next turn.
seek failing_often(time_point& now, int successes) {
  seek law;
  for (int i = 0; i < successes; ++i) answer(law, now, outcome::success);
  law.broken.lately = law.broken.share = 0.5;
  law.turn.wait(now, 10);
  return law;
}

TEST(seek, the_row_that_asks_does_not_wait_and_none_goes_where_it_would_tell_nothing) {
  for (auto const& [successes, own, shut] :
       {std::tuple{16, false, false}, {0, false, false}, {16, true, false}, {16, false, true}}) {
    time_point now{1s};
    auto law = failing_often(now, successes);
    law.server.shut = shut;
    law.on_failure(now, {.sent = {.epoch = 1}, .rtt = 50ms, .own = own}, 0);
    EXPECT_EQ(law.broken.asked, successes > 0 && !own && !shut);
    EXPECT_EQ(law.ready_at(1) <= now, law.broken.asked);
  }
}

TEST(seek, a_row_that_tells_of_a_limit_ends_the_trial_and_a_cut_of_it_forgets_failures) {
  time_point now{1s};
  auto law = failing_often(now, 16);
  law.on_failure(now, {.sent = {.epoch = 1}, .rtt = 50ms}, 0);
  ASSERT_TRUE(law.broken.asked);
  std::vector<stamp> row;
  while (law.luck.row.unsent > 0) row.push_back(law.take(now, 1, 0));
  law.trial = {.share = 0.3, .pace = 10, .level = law.level};
  law.last.since.successes = 0;
  ++law.so_far.epoch;  // the trial's cut: the row was sent before
  now += 50ms;
  for (auto const& sent : row) law.on_failure(now, {.sent = sent, .rtt = 50ms}, 0);
  EXPECT_EQ(law.luck.row.heard, chance::tests);
  EXPECT_FALSE(law.broken.limit);  // it may be gone
  answer(law, now, outcome::success);
  EXPECT_TRUE(law.broken.limit);
  EXPECT_EQ(law.trial.share, 0);
  auto const level = law.level;
  answer(law, now, outcome::failure);
  EXPECT_LT(law.level, level);
  EXPECT_EQ(law.broken.lately, law.broken.usual);
}

TEST(seek, a_refusal_keeps_the_pace_of_a_caller_that_wants_less) {
  auto const kept = few_requests({});
  EXPECT_EQ(kept.so_far.epoch, 0U);
  EXPECT_GE(kept.level, seek{}.level);
  auto const cut = few_requests({.with = {.demand = false}});
  EXPECT_GT(cut.so_far.epoch, 0U);
  EXPECT_LT(cut.level, seek{}.level);
}

/// Sends one when it may, which is refused 50 ms later.
void refuse(seek& law, time_point& now, duration rtt = 50ms) {
  now = std::max(now, law.ready_at(1));
  auto const sent = law.take(now, 1, 0);
  now += rtt;
  law.on_throttle(now, {.sent = sent, .rtt = rtt}, resource::unknown, 0);
}

/// A law that was refused once, after so many successes.
seek refused_after(int successes, time_point& now) {
  seek law;
  for (int i = 0; i < successes; ++i) answer(law, now, outcome::success);
  refuse(law, now);
  return law;
}

TEST(seek, ramps_until_a_refusal_and_then_approaches) {
  time_point now{1s};
  seek law;
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  auto const level = law.level;
  refuse(law, now);
  EXPECT_EQ(law.doing(), seek::phase::approach);
  EXPECT_EQ(law.top.at, level);
  EXPECT_FALSE(law.top.touched);
}

/// Returns by how much each of so many answers raises the level, in an application that always has
/// more.
std::vector<double> raises(seek& law, time_point now, int many, duration took) {
  std::vector<double> list;
  for (int i = 0; i < many; ++i) {
    now = std::max(now, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    auto const before = law.level;
    law.on_success(now + took, {.sent = sent, .rtt = took}, 0);
    list.push_back(law.level / before);
  }
  return list;
}

TEST(seek, the_first_eight_answers_double_the_level_once) {
  seek law;
  auto const by = raises(law, time_point{1s}, 30, 50ms);
  for (std::size_t i = 0; i < by.size(); ++i)
    if (i + 1 == seek::first_answers)
      EXPECT_GT(by[i], 2);
    else
      EXPECT_LT(by[i], 1.1) << i;
}

TEST(seek, a_failure_or_a_refusal_among_the_first_answers_doubles_nothing) {
  time_point now{1s};
  seek failed;
  answer(failed, now, outcome::failure);
  auto by = raises(failed, now, 20, 50ms);
  EXPECT_LT(*std::max_element(by.begin(), by.end()), 1.1);
  seek refused = refused_after(3, now);
  by = raises(refused, now, 20, 50ms);
  EXPECT_LT(*std::max_element(by.begin(), by.end()), 1.1);
}

// At 20/s 20 are out when the first answer comes: eight answers are not yet a flight.
TEST(seek, answers_of_a_second_double_nothing) {
  seek law;
  auto const by = raises(law, time_point{1s}, 20, 1s);
  EXPECT_LT(*std::max_element(by.begin(), by.end()), 1.1);
}

TEST(seek, a_known_limit_is_not_doubled) {
  seek law;
  law.remember({.rate = 100, .latency = 0.05}, 0s);
  auto const by = raises(law, time_point{1s}, 20, 50ms);
  EXPECT_LT(*std::max_element(by.begin(), by.end()), 1.1);
}

TEST(seek, a_memory_that_is_wrong_is_dropped_where_a_share_is_left_to_others_too) {
  time_point now{1s};
  seek law{.leave = 0.3};
  law.remember({.rate = 100, .latency = 0.05}, 0s);
  law.top.settled = true;
  answer_row(law, now, 1, 1);
  EXPECT_FALSE(law.top.warm);
  EXPECT_EQ(law.level, seek{}.level);
}

/// Returns the ceiling that company hears of where twenty go in 400 ms, of which so many have come
/// back, and the next is refused after `took`.
double heard_of(int came_back, duration took) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 50, .latency = 0.05}, 0s);
  law.top.warm = false;
  law.last.at = now;
  law.turn.next = now + 20ms;
  for (int i = 0; i < 20; ++i) {
    now += 20ms;
    auto const sent = law.take(now, 1, 0);
    if (i < came_back) law.on_success(now, {.sent = sent, .rtt = 50ms}, 0);
  }
  auto const sent = law.take(now, 1, 0);
  law.on_throttle(now + took, {.sent = sent, .rtt = took}, resource::unknown, 0);
  return law.others.all.found;
}

TEST(seek, a_ceiling_is_counted_by_its_sends_where_refusals_tell_of_them) {
  EXPECT_NEAR(heard_of(20, 1ms), 50, 0.01);
  EXPECT_NEAR(heard_of(15, 1ms), 50, 0.01) << "five are on their way, and accepted";
  EXPECT_NEAR(heard_of(15, 100ms), 16 / 0.5, 0.01)
      << "as late as answers: nothing is known of the five";
}

TEST(seek, creeps_from_just_below_the_ceiling_on) {
  time_point now{1s};
  auto law = refused_after(200, now);
  while (law.level < law.top.rest()) {
    EXPECT_EQ(law.doing(), seek::phase::approach);
    answer(law, now, outcome::success);
  }
  EXPECT_EQ(law.doing(), seek::phase::creep);
}

TEST(seek, ramps_again_far_above_a_ceiling_that_nothing_confirms) {
  time_point now{1s};
  auto law = refused_after(200, now);
  while (law.level < law.top.at) answer(law, now, outcome::success);
  for (int i = 0; law.doing() == seek::phase::creep && i < 100'000; ++i)
    answer(law, now, outcome::success);
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  EXPECT_GT(law.level, seek::moved * law.top.at);
}

TEST(seek, a_refusal_just_below_the_ceiling_measures_it) {
  time_point now{1s};
  auto law = refused_after(200, now);
  while (law.doing() != seek::phase::creep) answer(law, now, outcome::success);
  for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
  auto const climbed = law.top.climb_seconds;
  refuse(law, now);
  EXPECT_TRUE(law.top.touched);
  EXPECT_EQ(law.doing(), seek::phase::approach);
  EXPECT_DOUBLE_EQ(law.level, ceiling::dip * law.top.at);
  EXPECT_GE(law.top.climb_seconds, climbed);
}

TEST(seek, a_refusal_far_below_the_ceiling_says_that_it_fell) {
  time_point now{1s};
  auto law = refused_after(200, now);
  while (law.doing() != seek::phase::creep) answer(law, now, outcome::success);
  auto const was = law.top.at;
  law.level = was / 2;
  for (int i = 0; i < 5; ++i) answer(law, now, outcome::success);
  refuse(law, now);
  EXPECT_LT(law.top.at, 0.9 * was);
  EXPECT_FALSE(law.top.touched);
}

TEST(seek, two_refusals_with_nothing_between_shut_and_a_success_opens) {
  time_point now{1s};
  auto law = refused_after(200, now);
  auto const was = law.top.at;
  refuse(law, now);
  EXPECT_EQ(law.doing(), seek::phase::shut);
  auto const shut = now;
  for (int i = 0; i < 5; ++i) refuse(law, now);
  EXPECT_EQ(law.doing(), seek::phase::shut);
  EXPECT_GT(law.ready_at(1) - now, (now - shut) / 10);  // ever later
  answer(law, now, outcome::success);
  EXPECT_NE(law.doing(), seek::phase::shut);
  EXPECT_LT(law.top.at, was);  // nothing was known: a period, or a rate far below
}

// Else one good line among many bad ones waited for an hour.
TEST(seek, a_probe_that_is_refused_for_its_own_reason_is_none) {
  time_point now{1s};
  auto law = refused_after(200, now);
  refuse(law, now);
  ASSERT_TRUE(law.server.shut);
  law.top.touched = true;  // else the search begins anew
  for (int i = 0; i < 30; ++i) {
    now = std::max(now, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    now += 50ms;
    law.on_throttle(now, {.sent = sent, .rtt = 50ms, .own = true}, resource::unknown, 0);
    EXPECT_TRUE(law.server.shut);
    EXPECT_LE(law.ready_at(1), now + 2s / law.pace());
  }
}

TEST(seek, what_was_measured_is_what_it_was_after_a_closing) {
  time_point now{1s};
  auto law = refused_after(200, now);
  while (law.doing() != seek::phase::creep) answer(law, now, outcome::success);
  for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
  refuse(law, now);
  ASSERT_TRUE(law.top.touched);
  for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
  for (int i = 0; i < 5; ++i) refuse(law, now);
  ASSERT_EQ(law.doing(), seek::phase::shut);
  auto const was = law.top.at;
  answer(law, now, outcome::success);
  EXPECT_EQ(law.top.at, was);
  EXPECT_TRUE(law.top.resumed);
}

// Answers of 1 ms: four of them are no closing, and what went before it does not tell the rate.
TEST(seek, a_closing_shorter_than_a_few_requests_is_no_periods) {
  for (auto const closed : {30ms, 1000ms}) {
    time_point now{1s};
    seek law;
    for (int i = 0; i < 40; ++i) answer(law, now, outcome::success, 1ms), now += 50ms;
    for (int i = 0; i < 2; ++i) refuse(law, now, 1ms);
    ASSERT_EQ(law.doing(), seek::phase::shut);
    law.turn.wait(now, to_seconds(closed));
    answer(law, now, outcome::success, 1ms);
    EXPECT_EQ(law.top.resumed, closed < 100ms) << closed.count();
  }
}

// Else a window was used up in a part of its time again and again.
TEST(seek, a_window_that_gives_as_many_as_before_bounds_the_ceiling) {
  auto const after = [](double more_than_before, bool periods) {
    time_point now{1s};
    auto law = refused_after(200, now);
    while (law.doing() != seek::phase::creep) answer(law, now, outcome::success);
    for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
    refuse(law, now);
    for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
    for (int i = 0; i < 5; ++i) refuse(law, now);
    auto const& open = law.server;
    auto const most = open.accepted / to_seconds(open.refused - open.began);
    law.others.window.units = open.accepted - more_than_before;
    law.top.at = 2 * most;
    law.level = 3 * most;
    law.with.periods = periods;
    answer(law, now, outcome::success);
    EXPECT_EQ(law.doing(), law.top.at < 2 * most ? seek::phase::creep : seek::phase::ramp);
    return law.top.at / most;
  };
  EXPECT_NEAR(after(0, true), 1 / ceiling::below, 1e-9);
  EXPECT_NEAR(after(10, true), 2, 1e-9);
  EXPECT_NEAR(after(0, false), 2, 1e-9);
}

// A ban that lasted for 45 s: else climbs would take as long.
TEST(seek, a_closing_after_which_more_is_given_and_sooner_was_no_periods) {
  auto const climb_seconds_after = [](int accepted, double in_seconds, double was) {
    time_point now{1s};
    auto law = refused_after(200, now);
    while (law.doing() != seek::phase::creep) answer(law, now, outcome::success);
    law.others.window.units = 40;
    law.others.window.seconds = 30;
    law.top.climb_seconds = was;
    law.server.accepted = accepted - 1;
    law.server.began = now - from_seconds(in_seconds);
    answer(law, now, outcome::success);
    return law.top.climb_seconds;
  };
  EXPECT_EQ(climb_seconds_after(51, 20, 45), ceiling::climb_seconds_first);
  EXPECT_EQ(climb_seconds_after(50, 20, 45), 45) << "hardly more than before";
  EXPECT_EQ(climb_seconds_after(51, 30, 45), 45) << "as a window's next one would";
  EXPECT_EQ(climb_seconds_after(51, 20, 12), 12) << "a ceiling that proved true";
}

TEST(seek, a_spurt_hastens_requests_until_the_first_refusal) {
  time_point now{1s};
  auto law = refused_after(200, now);
  while (law.doing() != seek::phase::creep) answer(law, now, outcome::success);
  law.server.cuts = 0;               // as after an opening
  law.luck.odds = chance::odds_max;  // no tests
  law.luck.ceiling = 0;
  auto const interval = [&] {
    now = std::max(now, law.ready_at(1));
    law.turn.wait(now, 0);  // the pace is in use
    law.take(now, 1, 0);
    return to_seconds(law.turn.next - now) * law.pace();
  };
  EXPECT_NEAR(interval(), 1, 0.05);
  law.others.window.step = 2;
  EXPECT_NEAR(interval(), 1 / spurt::second, 0.05);
  refuse(law, now);
  EXPECT_NEAR(interval(), 1, 0.05);
}

// A hint that holds them for longer than a bucket needs to fill again.
TEST(seek, tests_that_a_hint_holds_tell_nothing) {
  for (auto const held : {0ms, 5000ms}) {
    time_point now{1s};
    seek law;
    answer_row(law, now, 200, 0);
    law.luck.test(law.last.since.sends, true);
    now = std::max(now, law.ready_at(1)) + held;
    answer_row(law, now, chance::tests, 0);
    EXPECT_EQ(law.luck.odds < 1, held == 0ms);
    EXPECT_EQ(law.luck.row.unsent, 0);
  }
}

/// Sends the tests that are asked for, of which a rate of the caller's holds all but so many for
/// `turns` each, and has the first of them refused.
void answer_held_row(seek& law, time_point& now, double turns, int at_once, int refused) {
  auto const held = from_seconds(turns / law.pace());
  auto const row = law.luck.row.length();
  for (int i = 0; i < row; ++i) {
    bool const waits = i >= at_once;
    now = std::max(now, law.ready_at(1)) + (waits ? held : 0ns);
    auto sent = law.take(now, 1, 0);
    if (waits) sent.held = held;
    sample const s{.sent = sent, .rtt = 1ms};
    if (i < refused)
      law.on_throttle(now + 1ms, s, resource::unknown, 0);
    else
      law.on_success(now + 1ms, s, 0);
    EXPECT_GE(law.luck.row.out(), 0);
  }
}

TEST(seek, tests_that_a_rate_of_the_callers_spreads_tell_little) {
  for (int const at_once : {0, 5})
    for (auto const turns : {0.0, 0.5, 1.0}) {
      time_point now{1s};
      seek law;
      answer_row(law, now, 200, 0);
      law.luck.test(law.last.since.sends, true);
      auto const unpaid = now;
      answer_held_row(law, now, turns, at_once, 0);
      EXPECT_EQ(law.luck.odds < 1, turns < 1) << turns;
      EXPECT_GE(to_seconds(law.ready_at(1) - unpaid) * law.pace(), chance::tests) << turns;
    }
}

TEST(seek, a_row_follows_a_pair_that_passed_unless_a_rate_of_the_callers_held_it) {
  for (auto const turns : {0.4, 0.9}) {
    time_point now{1s};
    auto law = at_home(20);
    answer_row(law, now, 80, 0);
    answer_row(law, now, 1, 1);
    law.luck.test(law.last.since.sends, true, chance::pair);
    answer_held_row(law, now, turns, 1, 0);
    EXPECT_EQ(law.luck.row.unsent, turns < chance::spread ? chance::tests : 0);
  }
}

TEST(seek, a_test_that_a_rate_of_the_callers_holds_and_that_is_refused_cuts_no_more) {
  time_point now{1s};
  seek law;
  answer_row(law, now, 200, 0);
  answer_row(law, now, 1, 1);
  auto const epoch = law.so_far.epoch;
  law.luck.test(law.last.since.sends, true);
  answer_held_row(law, now, 0.9, 1, 3);
  EXPECT_EQ(law.so_far.epoch, epoch);
  EXPECT_FALSE(law.server.shut);
}

/// Is refused until half a minute has passed since the first refusal, and accepted once.
void ban_for_half_a_minute(seek& law, time_point& now) {
  auto const since = now;
  while (law.ready_at(1) < since + 30s) refuse(law, now);
  ASSERT_EQ(law.doing(), seek::phase::shut);
  answer(law, now, outcome::success);
}

TEST(seek, stays_below_what_bans_it_twice) {
  for (bool const bans : {true, false}) {
    time_point now{1s};
    seek law{.with = {.bans = bans}};
    double level = 0;
    for (int i = 0; i < 2; ++i) {
      for (int n = 0; n < 600 - 200 * i; ++n) answer(law, now, outcome::success);
      level = law.level;
      ban_for_half_a_minute(law, now);
    }
    EXPECT_TRUE(law.server.banned.expected());
    if (bans) {
      EXPECT_LE(law.level, ban::below * level);
    }
    auto const began = law.level;
    for (int n = 0; n < 2000; ++n) answer(law, now, outcome::success);
    EXPECT_EQ(law.level < 1.03 * began, bans) << began << ' ' << law.level;
  }
}

TEST(seek, a_refusal_that_is_to_ban_keeps_it_below_where_it_came) {
  time_point now{1s};
  seek law;
  law.server.banned = {.seconds = 30, .alike = 2};
  law.top.at = 100;
  refuse(law, now, 100, 1);
  EXPECT_EQ(law.level, ban::below * 100);
  EXPECT_EQ(law.top.at, law.level);
}

// Retry-After: 1 of a bucket, which was open for four times as long.
TEST(seek,
     one_that_says_how_long_it_bans_has_a_rate_between_what_it_accepted_in_all_and_while_open) {
  struct {
    double accepted;  // in 4 s, and none in one more
    double at;        // 100/s were refused
  } const cases[] = {{400, std::sqrt(80 * 100)}, {100, ban::below * 100}, {800, 100}};
  for (auto const& [accepted, at] : cases) {
    seek law;
    law.so_far.successes = 1000;
    law.top = {.at = ban::below * 100, .touched = true};
    law.server = {.began = time_point{1s},
                  .accepted = accepted,
                  .shut = true,
                  .since = time_point{5s},
                  .refused = time_point{5s},
                  .told = true,
                  .banned = {.seconds = 1, .alike = 2}};
    auto refused_once = law;
    refused_once.server.told = false;
    time_point now{6s};
    answer(refused_once, now, outcome::success);
    EXPECT_EQ(refused_once.top.at, ban::below * law.top.at);
    now = time_point{6s};
    answer(law, now, outcome::success);
    EXPECT_EQ(law.doing(), seek::phase::approach);
    EXPECT_NEAR(law.top.at, at, 0.5) << accepted;
    EXPECT_NEAR(law.level, ban::below * at, 1) << accepted;
  }
}

TEST(seek, a_closing_of_a_second_is_a_ban_unless_a_refusal_told_it) {
  for (bool const told : {false, true}) {
    seek law;
    law.so_far.successes = 1000;
    law.level = law.top.at = 100;
    law.top.touched = true;
    law.server = {.began = time_point{1s},
                  .accepted = 400,
                  .shut = true,
                  .since = time_point{5s},
                  .refused = time_point{5s},
                  .costs = told ? 1.0 : 0.0};
    time_point now{6s};
    answer(law, now, outcome::success);
    EXPECT_EQ(law.server.banned.suspected(), !told);
  }
}

TEST(seek, one_that_bans_leaves_a_pace_where_no_ceiling_is_known) {
  time_point now{1s};
  seek law{.level = 0.5};
  law.server.shut = true;
  law.server.banned = {.seconds = 30, .alike = 3};
  answer(law, now, outcome::success);
  EXPECT_GT(law.top.at, 0.3);
  EXPECT_GT(law.pace(), 0.3);
  EXPECT_LT(law.ready_at(1), now + 10s);
}

TEST(seek, one_ban_changes_nothing) {
  auto const after_one = [](bool bans) {
    time_point now{1s};
    seek law{.with = {.bans = bans}};
    for (int n = 0; n < 600; ++n) answer(law, now, outcome::success);
    ban_for_half_a_minute(law, now);
    for (int n = 0; n < 600; ++n) answer(law, now, outcome::success);
    return law.level;
  };
  EXPECT_EQ(after_one(true), after_one(false));
}

// A dozen that went at once, and half a minute of silence: what was accepted in that time is no
// rate to stay at, and doubling it in a second would overrun the limit by far.
TEST(seek, after_a_first_closing_that_costs_much_it_searches_anew_and_slowly) {
  for (bool const bans : {true, false}) {
    time_point now{1s};
    seek law{.with = {.bans = bans}};
    for (int n = 0; n < 12; ++n) answer(law, now, outcome::success);
    ban_for_half_a_minute(law, now);
    EXPECT_EQ(law.server.banned.suspected(), true);
    EXPECT_LT(law.level, 5);
    EXPECT_EQ(law.top.at == 0, bans);
    auto const began = now;
    auto const level = law.level;
    if (bans) {
      while (law.level < 8 * level) answer(law, now, outcome::success);
      EXPECT_GT(now - began, 3 * 8s);
    }
  }
}

TEST(seek, a_ramp_after_a_first_ban_doubles_in_no_less_than_a_share_of_it) {
  auto const grown = [](ban banned) {
    time_point now{1s};
    seek law;
    law.so_far.successes = law.last.since.successes = 100;  // long begun
    law.last.at = law.turn.next = now;
    law.level = 100;
    law.server.banned = banned;
    for (int n = 0; n < 100; ++n) answer(law, now, outcome::success);
    EXPECT_EQ(law.doing(), seek::phase::ramp);
    return law.level / 100;
  };
  EXPECT_GT(grown({}), 2);
  EXPECT_NEAR(grown({.seconds = 30, .alike = 1}), 1 + 0.7 * 100 / (ban::doubling * 30 * 100), 0.01);
  EXPECT_GT(grown({.seconds = 30, .alike = -ban::proof}), 2) << "it was none";
}

// A window is told from a ban by what it accepts; a hint says how long it is shut.
TEST(seek, a_hint_that_costs_much_shuts_and_tells_a_ban) {
  time_point now{1s};
  seek law;
  for (int n = 0; n < 200; ++n) answer(law, now, outcome::success);
  for (int bans = 1; bans < 3; ++bans) {
    law.on_hint(now, {.retry_after = 30s});
    refuse(law, now);
    ASSERT_EQ(law.doing(), seek::phase::shut);
    now += 30s;
    answer(law, now, outcome::success);
    EXPECT_EQ(law.server.banned.alike, bans);
    for (int n = 0; n < 400; ++n) answer(law, now, outcome::success);
  }
}

// Five in any second, of which two were answered by then.
TEST(seek, a_hint_that_costs_much_shuts_before_anything_was_heard) {
  time_point now{1s};
  seek law;
  for (int n = 0; n < 2; ++n) answer(law, now, outcome::success);
  law.on_hint(now, {.retry_after = 30s});
  refuse(law, now);
  EXPECT_EQ(law.doing(), seek::phase::shut);
  now += 30s;
  answer(law, now, outcome::success);
  EXPECT_TRUE(law.server.banned.suspected());
  EXPECT_LT(law.level, 5);
}

TEST(seek, a_server_that_said_that_it_is_shut_is_so_whatever_level_is_on_trial) {
  for (bool const tells : {false, true}) {
    time_point now{1s};
    seek law;
    for (int n = 0; n < 20; ++n) answer(law, now, outcome::success);
    refuse(law, now);
    law.last.hold.now = foothold::at::trial;
    law.last.hold.usual = .3;
    law.last.hold.level = law.level;
    auto const sent = law.take(now = std::max(now, law.ready_at(1)), 1, 0);
    now += 50ms;
    if (tells) law.on_hint(now, {.retry_after = 30s});
    law.on_throttle(now, {.sent = sent, .rtt = 50ms}, resource::unknown, 0);
    EXPECT_EQ(law.last.hold.now, tells ? foothold::at::any : foothold::at::trial);
    EXPECT_EQ(law.server.shut, tells);
  }
}

// Nothing lowers the ceiling when a ramp is refused.
TEST(seek, a_second_ban_that_was_told_and_that_a_ramp_met_leaves_a_pace_below_it) {
  time_point now{1s};
  seek law;
  for (int n = 0; n < 100; ++n) answer(law, now, outcome::success);
  law.server.banned = {.seconds = 30, .least = 29, .accepted = 5, .open = 1, .alike = 1};
  law.level = 20;
  law.on_hint(now, {.retry_after = 30s});
  refuse(law, now);
  now += 30s;
  answer(law, now, outcome::success);
  ASSERT_TRUE(law.server.banned.expected());
  EXPECT_NEAR(law.level, ban::below * 20, .2);
  EXPECT_NEAR(law.top.at, law.level, .2);
}

TEST(seek, a_window_that_others_use_shows_them) {
  time_point now{1s};
  seek law;
  for (int n = 0; n < 20; ++n) answer(law, now, outcome::success);
  refuse(law, now);
  ASSERT_NE(law.doing(), seek::phase::crowd);
  law.on_hint(now, {.remaining = 0, .reset = 5s});
  EXPECT_NE(law.doing(), seek::phase::crowd);
  law.on_hint(now, {.remaining = 0, .reset = 5s, .shared = true});
  EXPECT_EQ(law.doing(), seek::phase::crowd);
}

// The row would go once it opens, and pass: a hundred permits more are asked of a limit of ten.
TEST(seek, a_ramp_that_ends_in_a_hint_that_shuts_asks_for_no_slots) {
  for (bool const shut : {false, true}) {
    time_point now{1s};
    seek law;
    answer_row(law, now, 40, 0);
    std::vector<stamp> sent;
    for (int i = 0; i < 20; ++i) sent.push_back(law.take(now, 1, 0));
    sent.back().in_flight = 20;
    now += 50ms;
    if (shut) law.on_hint(now, {.retry_after = 30s});
    law.on_throttle(now, {.sent = sent.back(), .in_flight = 20, .rtt = 50ms}, resource::unknown, 0);
    EXPECT_EQ(law.last.vacant.slots > 0, !shut);
  }
}

// If it is a window's end, all of the cycle tells its rate; if it is a ban, the limit may be as
// much as was accepted while it was open.
TEST(seek, after_a_first_ban_that_was_told_it_goes_on_between_the_bounds_and_climbs_slowly) {
  time_point now{1s};
  auto const began = now;
  seek law;
  for (int n = 0; n < 600; ++n) answer(law, now, outcome::success);
  auto const most = 600 / to_seconds(now - began);
  law.on_hint(now, {.retry_after = 30s});
  refuse(law, now);
  now += 30s;
  answer(law, now, outcome::success);
  auto const least = 600 / to_seconds(now - began);
  auto const level = law.level;
  EXPECT_GT(level, 1.1 * least);
  EXPECT_LT(level, most / 1.2);
  auto const opened = now;
  while (law.level < 1.03 * level) answer(law, now, outcome::success);
  EXPECT_GT(now - opened, 40s);
}

TEST(seek, a_hint_that_costs_little_or_is_a_windows_shuts_nothing) {
  for (bool const window : {false, true}) {
    time_point now{1s};
    seek law;
    for (int n = 0; n < 200; ++n) answer(law, now, outcome::success);
    if (window) law.server.banned.deny();
    law.on_hint(now, {.retry_after = window ? 30s : 100ms});
    EXPECT_NE(law.doing(), seek::phase::shut);
  }
}

TEST(seek, refusals_that_a_cut_ends_are_no_more_taken_for_chance) {
  time_point now{1s};
  seek law;
  answer_row(law, now, 200, 0);
  law.luck.odds = 1 / chance::odds_max;
  law.luck.usual = 0.05;
  answer_row(law, now, 1, 1);
  answer_row(law, now, chance::tests, chance::several);
  ASSERT_EQ(law.so_far.epoch, 1U);
  ASSERT_TRUE(law.luck.known());
  auto const enough = 2 * chance::missed / law.luck.usual;
  for (int i = 0; i < enough; ++i) answer(law, now, outcome::success);
  EXPECT_GT(law.luck.odds, 0.3);
  EXPECT_FALSE(law.luck.known());
}

TEST(seek, answers_that_take_twice_as_long_drain) {
  time_point now{1s};
  auto law = refused_after(200, now);
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  auto const level = law.level;
  for (int i = 0; law.doing() != seek::phase::drain && i < 200; ++i) {
    now = std::max(now, law.ready_at(1));
    auto const sent = law.take(now, 1, 0);
    now += 150ms;
    law.on_success(now, {.sent = sent, .rtt = 150ms}, 0);
  }
  EXPECT_EQ(law.doing(), seek::phase::drain);
  EXPECT_LT(law.level, level / 2);
}

// What is out is held, and far less is sent than the level.
TEST(seek, a_pause_of_answers_that_queue_is_a_quarter_of_what_is_delivered_of_slots_of_the_level) {
  for (bool const slots : {false, true}) {
    time_point const now{10s};
    seek law;
    law.level = 200;
    law.top = {.at = 190, .slots = slots};
    law.wait = {.mean = 1,
                .base = .05,
                .lowest = 1,
                .highest = 1,
                .answers = latency::block_answers - 1,
                .high = latency::high_blocks - 1,
                .delivered = 50,
                .block = now - 2s,
                .answered = now,
                .room = 100};
    law.on_success(now, {.sent = {.sent = now - 1s}, .in_flight = 100, .rtt = 1s}, 0);
    ASSERT_EQ(law.doing(), seek::phase::drain);
    EXPECT_NEAR(law.level, slots ? 50 : 12. / 4, 0.1);
    EXPECT_NEAR(law.wait.drains.resume, 200, 1) << "if the server is slower";
  }
}

// 100 fly where 100/s take 50 ms each, and no more are answered. What goes late was held by a hint,
// or waited for a worker of the caller's, unless half of the permits are out.
TEST(seek, a_ramp_is_full_only_where_its_own_turns_or_permits_held_requests_back) {
  for (auto const& [late, room, slots, full] : {std::tuple{1000ms, 210.0, false, true},
                                                {10ms, 210.0, false, false},
                                                {10ms, 190.0, false, true},
                                                {1000ms, 210.0, true, false}}) {
    time_point const now{10s};
    seek law;
    law.wait = {.mean = .05,
                .base = .05,
                .lowest = .05,
                .highest = .05,
                .answers = latency::block_answers - 1,
                .delivered = 100,
                .block = now - 240ms,
                .answered = now,
                .room = room};
    law.turn.behind = now - late;
    law.top.slots = slots;
    law.on_success(now, {.sent = {.sent = now - 50ms}, .in_flight = 100, .rtt = 50ms}, 0);
    EXPECT_EQ(law.doing() == seek::phase::drain, full) << room;
  }
}

// A server that shuts answers nothing more but what it had taken before, the slowest last.
TEST(seek, answers_to_what_went_before_the_server_shut_or_opened_tell_of_no_queue) {
  time_point now{1s};
  auto law = refused_after(200, now);
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  std::vector<stamp> before;
  for (int i = 0; i < 8 * latency::block_answers; ++i) {
    now = std::max(now, law.ready_at(1));
    before.push_back(law.take(now, 1, 0));
  }
  auto const late = [&](stamp const& sent) {
    now += 50ms;
    law.on_success(now, {.sent = sent, .rtt = 1s}, 0);
    EXPECT_FALSE(law.wait.draining());
  };
  law.server.close(now);
  auto const half = before.begin() + 4 * latency::block_answers;
  std::for_each(before.begin(), half, late);
  ASSERT_EQ(law.doing(), seek::phase::shut);
  answer(law, now, outcome::success);  // it opens
  EXPECT_NE(law.doing(), seek::phase::shut);
  std::for_each(half, before.end(), late);
}

// A trial at half of the level that is left in a drain would take as long as the whole run.
TEST(seek, failures_cut_nothing_in_a_drain) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 200; ++i) answer(law, now, outcome::success);
  auto const level = law.level;
  law.level = law.wait.drain(now, 1e6, level, level);
  for (int i = 0; i < 200; ++i) {
    law.wait.drains.answers = -2;  // our queue is not gone
    answer(law, now, i % 3 == 0 ? outcome::success : outcome::failure);
  }
  ASSERT_GT(law.broken.share, breakage::suspicious);
  EXPECT_EQ(law.so_far.epoch, 0);
  law.wait.drains = {};
  law.level = level;
  answer(law, now, outcome::failure);
  EXPECT_EQ(law.so_far.epoch, 1);
  EXPECT_NEAR(law.trial.pace, breakage::trial_min * level, 0.1 * level);
}

// Others have left, and the limit was lifted.
// Among others a guess is far too low, and sixteen answers of it take a minute.
TEST(seek, a_guess_doubles_in_four_seconds_or_six_answers) {
  auto const answers = [](double rate) {
    seek law;
    law.level = rate;
    law.top.at = rate / seek::guess_above;
    law.top.guess = true;
    time_point now{1s};
    int n = 0;
    for (; law.level < 2 * rate && n < 100; ++n) answer(law, now, outcome::success);
    return n;
  };
  EXPECT_LT(answers(0.1), 8);
  EXPECT_NEAR(answers(1.5), 9, 2);
  EXPECT_GT(answers(8), 14);
}

TEST(seek, haste_in_a_crowd_has_a_bound_that_grows_from_four_times_the_ceiling_on) {
  for (double const level : {39.0, 100.0}) {
    time_point now{1s};
    seek law{.with = {.chance = false}};
    law.others.lasting.variation = 1;
    law.top.at = 10;
    law.level = level;
    law.wait.mean = 0.001;
    law.so_far.successes = 1000;
    answer(law, now, outcome::success);
    auto const of = std::max(law.top.at, level / 4);
    auto const most = of * company::stride_max * 32 / (level * company::seconds);
    EXPECT_NEAR(law.level - level, most, .01 * most);
  }
}

TEST(seek, a_crowd_far_above_its_ceiling_grows_in_few_steps) {
  time_point now{1s};
  seek law{.with = {.chance = false}};
  law.others.lasting.variation = 1;
  law.level = seek::rate_max;
  law.top.at = 1e-10;
  EXPECT_EQ(law.doing(), seek::phase::crowd);
  answer(law, now, outcome::success);
  EXPECT_EQ(law.level, seek::rate_max);
}

/// A ramp at 200/s that is refused with 20 out after so many answers, which take 100 ms.
seek refused_with_twenty_out(time_point& now, bool asks, int answers = 50, duration after = 50ms) {
  seek law{.with = {.vacancy = asks}};
  for (int i = 0; i < answers; ++i) answer(law, now, outcome::success);
  law.level = 200;
  law.wait.mean = 0.1;
  auto sent = law.take(now, 1, 0);
  sent.in_flight = 20;
  now += after;
  law.on_throttle(now, {.sent = sent, .in_flight = 20, .rtt = after}, resource::unknown, 0);
  return law;
}

/// Answers what went before, one each 5 ms, until a row goes. Returns its stamps.
std::vector<stamp> row_of(seek& law, time_point& now) {
  for (int out = 19; law.last.vacant.unsent > 0 && law.ready_at(1) > now; --out) {
    now += 5ms;
    law.on_success(now, {.sent = {.sent = now - 100ms}, .in_flight = out, .rtt = 100ms}, 0);
    EXPECT_GT(out, 0);
  }
  std::vector<stamp> row;
  while (law.last.vacant.unsent > 0 && law.ready_at(1) <= now) row.push_back(law.take(now, 1, 0));
  return row;
}

TEST(seek, a_ramp_refused_with_many_out_asks_for_slots_and_names_them_if_they_are_vacant) {
  time_point now{1s};
  auto law = refused_with_twenty_out(now, true);
  EXPECT_FALSE(law.top.slots);
  auto const row = row_of(law, now);
  EXPECT_EQ(row.size(), static_cast<std::size_t>(vacancy::row_max));
  EXPECT_GT(law.ready_at(1), now);
  now += 110ms;
  for (auto const& sent : row) law.on_success(now, {.sent = sent, .in_flight = 8, .rtt = 110ms}, 0);
  EXPECT_TRUE(law.top.slots);
  EXPECT_NEAR(law.top.at, 19, 1);
}

TEST(seek, while_a_row_asks_no_more_is_sent_than_it_asks_for) {
  for (bool const more : {false, true}) {
    time_point now{1s};
    auto law = refused_with_twenty_out(now, true);
    std::ignore = row_of(law, now);
    law.level =
        more ? 1.05 * law.last.vacant.slots / law.wait.mean : 0.9 * law.last.vacant.slots / 0.1;
    law.top.at = 2 * law.level;
    auto const was = law.level;
    law.on_success(now, {.sent = {.sent = now - 100ms}, .in_flight = 16, .rtt = 100ms}, 0);
    EXPECT_EQ(law.level > was, !more);
  }
}

TEST(seek, slots_are_paced_a_quarter_of_a_permit_above_so_that_permits_bind) {
  seek law;
  law.remember({.rate = 100, .slots = 10, .latency = .1}, 0s);
  EXPECT_NEAR(law.pace() * law.wait.mean, law.level + seek::slots_spare, 1e-9);
}

TEST(seek, a_row_that_passes_after_a_flight_with_one_refusal_names_nothing_and_the_ramp_goes_on) {
  time_point now{1s};
  auto law = refused_with_twenty_out(now, true);
  auto const level = law.top.at;
  ASSERT_LT(law.level, level);
  law.last.vacant.flight = vacancy::flight_min;
  auto const row = row_of(law, now);
  now += 110ms;
  for (auto const& sent : row) law.on_success(now, {.sent = sent, .in_flight = 8, .rtt = 110ms}, 0);
  EXPECT_FALSE(law.top.slots);
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  EXPECT_GE(law.level, level);
}

// The others break, and one of them says that the server is shut for long. The first of the row
// opens it, and drops the ceiling: it may be a ban's.
TEST(seek, such_a_row_leaves_the_level_where_no_ceiling_is_known) {
  time_point now{1s};
  auto law = refused_with_twenty_out(now, true, 13, 60ms);
  ASSERT_GT(law.last.vacant.slots, 0);
  law.last.vacant.flight = vacancy::flight_min;
  law.on_hint(now, {.retry_after = 10s});
  ASSERT_TRUE(law.server.shut);
  now += 10s;
  auto const probe = row_of(law, now);
  ASSERT_EQ(probe.size(), 1U);
  now += 100ms;
  law.on_success(now, {.sent = probe.front(), .in_flight = 1, .rtt = 100ms}, 0);
  ASSERT_FALSE(law.server.shut);
  ASSERT_EQ(law.top.at, 0);
  now += 10ms;
  auto const rest = row_of(law, now);
  ASSERT_EQ(rest.size(), static_cast<std::size_t>(vacancy::row_max - 1));
  now += 150ms;
  law.on_success(now, {.sent = rest.front(), .in_flight = 7, .rtt = 150ms}, 0);
  EXPECT_EQ(law.last.vacant.slots, 0) << "it has passed";
  EXPECT_GE(law.level, 1);
}

TEST(seek, a_row_that_is_refused_tells_of_a_rate_and_cuts_nothing) {
  time_point now{1s};
  auto law = refused_with_twenty_out(now, true);
  auto const row = row_of(law, now);
  ASSERT_FALSE(row.empty());
  auto const was = law.top;
  auto const epoch = law.so_far.epoch;
  now += 50ms;
  for (auto const& sent : row)
    if (sent.sends > row.front().sends)
      law.on_throttle(now, {.sent = sent, .in_flight = 8, .rtt = 50ms}, resource::unknown, 0);
  now += 60ms;
  law.on_success(now, {.sent = row.front(), .in_flight = 1, .rtt = 110ms}, 0);
  EXPECT_FALSE(law.top.slots);
  EXPECT_EQ(law.so_far.epoch, epoch);
  EXPECT_EQ(law.top.at, was.at);
}

// Most answers take 1 ms, and some a minute: these are out.
TEST(seek, far_more_out_than_the_pace_explains_are_no_slots) {
  for (auto const mean : {0.001, 0.1}) {
    time_point now{1s};
    seek law;
    law.so_far.successes = 200;
    law.level = 200;
    law.wait.mean = mean;
    auto sent = law.take(now, 1, 0);
    sent.in_flight = 20;
    law.on_throttle(now, {.sent = sent, .in_flight = 20, .rtt = 0ms}, resource::unknown, 0);
    EXPECT_EQ(law.last.vacant.slots > 0, mean == 0.1);
  }
}

TEST(seek, where_answers_take_seconds_a_ramp_asks_for_no_slots) {
  time_point now{1s};
  seek law;
  law.so_far.successes = 200;
  law.level = 200;
  law.wait.mean = 6;
  auto sent = law.take(now, 1, 0);
  sent.in_flight = 20;
  now += 50ms;
  law.on_throttle(now, {.sent = sent, .in_flight = 20, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_EQ(law.last.vacant.slots, 0);
  EXPECT_FALSE(law.top.slots);
  EXPECT_EQ(law.top.at, 200);
}

// Answers take 6 s and refusals 50 ms.
TEST(seek, where_answers_take_seconds_a_probe_that_is_not_refused_opens) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 50, .latency = 6}, 0s);
  law.top.warm = false;
  auto sent = law.take(now, 1, 0);
  now += 50ms;
  law.on_throttle(now, {.sent = sent, .rtt = 50ms}, resource::unknown, 0);
  ASSERT_TRUE(law.server.shut);
  now = std::max(now, law.ready_at(1));
  law.take(now, 1, 0);  // a probe
  ASSERT_TRUE(law.server.shut);
  EXPECT_LE(law.ready_at(1) - now, 300ms);
  now = law.ready_at(1);
  law.take(now, 1, 0);
  EXPECT_FALSE(law.server.shut);
}

TEST(seek, before_any_answer_the_level_grows_by_a_few_sends_only) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 1000; ++i) {
    now = std::max(now, law.ready_at(1));
    law.take(now, 1, 0);
  }
  EXPECT_NEAR(law.level, 20 + 32 / 0.7 * 0.693, 2);
  EXPECT_GT(law.allowed(), 1000);
}

TEST(seek, without_the_question_slots_are_named_at_once) {
  time_point now{1s};
  EXPECT_TRUE(refused_with_twenty_out(now, false).top.slots);
}

TEST(seek, begins_with_as_many_requests_a_second_whatever_they_cost) {
  time_point now{1s};
  seek law;
  for (auto const cost : {300, 100, 200}) {
    law.take(now, cost, 0);
    EXPECT_GT(law.pace() / law.so_far.unit, 19);
    EXPECT_LT(law.pace() / law.so_far.unit, 24);
  }
  EXPECT_EQ(law.so_far.unit, 200);
  EXPECT_LE(law.ready_at(1), now + 200ms);
  seek warm;
  warm.remember({.rate = 1000, .latency = .05}, 0s);
  auto const level = warm.level;
  warm.take(now, 300, 0);
  EXPECT_EQ(warm.level, level);
}

TEST(seek, what_waited_for_the_first_answer_alone_is_not_late) {
  time_point now{1s};
  seek law;
  auto const sent = law.take(now, 1, 0);
  now += 400ms;
  law.on_success(now, {.sent = sent, .rtt = 400ms}, 0);
  law.take(now, 1, 0);
  EXPECT_GT(law.ready_at(1), now) << "nothing is made up for";
}

TEST(seek, a_memory_that_is_refused_at_once_is_dropped) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 1000, .latency = 0.05}, 0s);
  EXPECT_NE(law.doing(), seek::phase::ramp);
  refuse(law, now);
  EXPECT_EQ(law.top, ceiling{});
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  EXPECT_EQ(law.so_far.epoch, 1U);
}

TEST(seek, refusals_by_chance_alone_are_no_limit_that_a_next_run_would_begin_with) {
  seek law;
  law.level = 40;
  law.so_far.successes = 100;
  law.top.at = 1000;
  ASSERT_TRUE(law.met());
  law.luck.usual = 0.05;
  EXPECT_FALSE(law.met());
  EXPECT_EQ(law.knows().rate, law.pace());
  law.luck.ceiling = 900;  // tests have told of one meanwhile
  EXPECT_TRUE(law.met());
  EXPECT_EQ(law.knows().rate, 1000);
}

TEST(seek, a_ceiling_that_a_ramp_has_guessed_is_remembered_as_what_was_accepted) {
  seek law;
  law.so_far.successes = 100;
  law.top.at = 10'000;
  law.luck.highest = 300;
  EXPECT_EQ(law.knows().rate, 300);
  law.top.touched = true;
  EXPECT_EQ(law.knows().rate, 10'000);
}

/// Returns a law at a ceiling that it has touched.
seek touched_at(double ceiling) {
  seek law;
  law.so_far = {.epoch = 1, .successes = 100, .units = 100};
  law.wait.mean = 0.05;
  law.wait.base = 0.05;
  law.top.at = ceiling;
  law.top.touched = true;
  law.level = law.top.rest();
  law.server.cuts = 1;
  return law;
}

/// Has so many accepted, one after another.
void accept(seek& law, time_point& now, std::uint64_t count) {
  for (; count > 0; --count) answer_row(law, now, 1, 0);
}

TEST(seek, a_low_ceiling_that_refuses_nothing_is_asked_by_a_ramp_and_later_again) {
  time_point now{1s};
  auto law = touched_at(2);
  accept(law, now, quiet::first - 1);
  EXPECT_EQ(law.doing(), seek::phase::creep);
  accept(law, now, 1);
  EXPECT_EQ(law.doing(), seek::phase::ramp);
  auto const before = law.level;
  accept(law, now, 6);
  EXPECT_GT(law.level, 1.4 * before) << "it doubles in 4 s";
  law.level = 1.3 * law.top.at;
  answer_row(law, now, 1, 1);
  EXPECT_DOUBLE_EQ(law.level, ceiling::dip * 2) << "the ceiling is where it was";
  EXPECT_EQ(law.top.at, 2);
  EXPECT_FALSE(law.top.guess);
  law.luck.test(0, false, 0);
  accept(law, now, 2 * quiet::first - 1);
  EXPECT_NE(law.doing(), seek::phase::ramp);
  accept(law, now, 1);
  EXPECT_EQ(law.doing(), seek::phase::ramp);
}

TEST(seek, a_ramp_that_finds_a_low_ceiling_far_above_where_it_was_goes_on_there) {
  time_point now{1s};
  auto law = touched_at(2);
  accept(law, now, quiet::first);
  law.level = 30;
  answer_row(law, now, 1, 1);
  EXPECT_DOUBLE_EQ(law.top.at, 30);
  EXPECT_DOUBLE_EQ(law.level, seek::guess_cut * 30);
  EXPECT_NE(law.doing(), seek::phase::ramp);
}

TEST(seek, no_ramp_asks_a_ceiling_that_climbs_find_soon_or_that_others_a_cycle_or_a_memory_hold) {
  auto const asks = [](auto change) {
    time_point now{1s};
    auto law = touched_at(2);
    change(law);
    accept(law, now, quiet::first);
    return law.top.calm.asks;
  };
  EXPECT_TRUE(asks([](seek&) {}));
  EXPECT_FALSE(asks([](seek& law) { law.level = law.top.at = 6; })) << "40 are soon accepted";
  EXPECT_FALSE(asks([](seek& law) { law.top.climb_seconds = 39; })) << "a cycle is long";
  EXPECT_FALSE(asks([](seek& law) { law.top.warm = true; }));
  EXPECT_FALSE(asks([](seek& law) { law.leave = 0.1; }));
  EXPECT_FALSE(asks([](seek& law) { law.others.show(); })) << "a stride is given back in 12 s";
  EXPECT_FALSE(asks([](seek& law) {
    law.top.at = 0.5;
    law.level = 0.7;
  })) << "it is a ramp already";
  EXPECT_FALSE(asks([](seek& law) { law.luck.odds = chance::certain; }))
      << "it takes twice as many";
  EXPECT_FALSE(asks([](seek& law) { law.luck.usual = 0.1; })) << "refusals come by chance";
  EXPECT_FALSE(asks([](seek& law) { law.server.banned.alike = 2; })) << "each costs a closing";
  EXPECT_FALSE(asks([](seek& law) {
    law.top.slots = true;
    law.wait.mean = 10;
  }));
}

TEST(seek,
     a_ceiling_that_fell_from_above_is_not_asked_before_it_is_reached_but_one_after_a_closing_is) {
  time_point now{1s};
  auto fell = touched_at(2);
  fell.top.touched = false;
  fell.level = 0.1;
  auto opened = fell;
  opened.server.cuts = 0;
  auto touched = fell;
  touched.top.touched = true;
  accept(fell, now, quiet::first);
  EXPECT_EQ(fell.doing(), seek::phase::approach);
  accept(opened, now, quiet::first);
  EXPECT_EQ(opened.doing(), seek::phase::ramp);
  accept(touched, now, quiet::first);
  EXPECT_EQ(touched.doing(), seek::phase::ramp);
}

TEST(seek, a_ramp_that_asks_a_low_ceiling_ends_where_a_search_begins_anew) {
  auto law = touched_at(2);
  law.top.calm.asks = true;
  time_point now{1s};
  law.on_throttle(now, {.sent = law.take(now, 1, 0), .own = true}, resource::unknown, 0);
  EXPECT_FALSE(law.top.calm.asks);
}

TEST(seek, a_request_s_own_refusal_begins_the_search_anew_but_where_a_known_server_has_shut) {
  struct {
    bool touched, shut, anew;
  } const rows[] = {
      {false, false, true}, {false, true, true}, {true, false, true}, {true, true, false}};
  for (auto const& r : rows) {
    auto law = touched_at(2);
    law.top.touched = r.touched;
    law.server.shut = r.shut;
    auto const top = law.top.at;
    time_point const now{1s};
    law.on_throttle(now, {.sent = law.take(now, 1, 0), .own = true}, resource::unknown, 0);
    EXPECT_EQ(law.top.at != top, r.anew) << r.touched << r.shut;
  }
}

// A limit that shuts it for seconds is far below the usual start; an outage shuts it once or twice,
// and so may chance, once it has left a request in some seconds.
TEST(seek, a_search_begins_anew_where_it_was_once_the_server_has_shut_for_seconds_thrice) {
  for (auto const& [closed, alike, chance, usual] : {std::tuple{0.9, 9, false, true},
                                                     {60.0, 2, false, true},
                                                     {60.0, 9, true, true},
                                                     {1.0, 3, false, false},
                                                     {60.0, 9, false, false}}) {
    auto law = touched_at(2);
    law.server.closed = closed;
    law.server.alike = alike;
    law.luck.usual = chance ? 0.1 : 0;
    time_point const now{1s};
    law.on_throttle(now, {.sent = law.take(now, 1, 0), .own = true}, resource::unknown, 0);
    EXPECT_EQ(law.level >= seek{}.level, usual) << closed << ' ' << alike << chance;
  }
}

// Else one of those that share a limit forgot them at each bad request, and starved. What only
// varies may be slots that are not named yet.
TEST(seek, a_search_that_begins_anew_keeps_others_that_were_shown_but_where_chance_explains_them) {
  for (bool const shown : {true, false})
    for (bool const chance : {true, false}) {
      auto law = touched_at(2);
      law.others.show();
      law.others.shown = shown;
      law.luck.usual = chance ? 0.1 : 0;
      time_point const now{1s};
      law.on_throttle(now, {.sent = law.take(now, 1, 0), .own = true}, resource::unknown, 0);
      EXPECT_EQ(law.others.varies(), shown && !chance) << shown << chance;
    }
}

/// A law whose server has shut for the second time.
seek shut_again(time_point& now) {
  auto law = refused_after(200, now);
  while (!law.server.shut) refuse(law, now);
  law.turn.wait(now, 30);
  for (int i = 0; i < 8; ++i) answer(law, now, outcome::success);
  while (!law.server.shut) refuse(law, now);
  law.turn.wait(now, 30);
  return law;
}

TEST(seek, the_second_cycle_tells_a_rate_and_the_first_one_that_began_with_a_burst_none) {
  time_point now{1s};
  auto first = refused_after(200, now);
  refuse(first, now);
  first.turn.wait(now, 30);
  answer(first, now, outcome::success);
  EXPECT_EQ(first.others.told, 0);
  auto second = shut_again(now = time_point{1s});
  auto const accepted = second.server.accepted;
  auto const seconds = to_seconds(std::max(now, second.ready_at(1)) - second.server.began);
  answer(second, now, outcome::success);
  EXPECT_NEAR(second.others.told, accepted / seconds, 1e-6) << "of all of it";
}

// A job's first requests after a pause fill what a bucket has saved, which a ramp passes; then all
// is refused for long.
TEST(seek, what_was_accepted_before_makes_an_outage_no_period) {
  for (bool const known : {false, true}) {
    time_point now{1s};
    auto law = touched_at(100);
    law.server.began = now;
    law.luck.highest = known ? 100 : 0;
    law.turn.next = now;
    accept(law, now, 5);
    while (!law.server.shut) refuse(law, now);
    law.top.touched = false;  // as a ramp's refusal leaves it
    auto const level = law.level;
    law.turn.wait(now, 120);
    refuse(law, now);
    answer(law, now, outcome::success);
    if (known)
      EXPECT_GE(law.level, level);
    else
      EXPECT_LT(law.level, 1) << "five requests in two minutes";
  }
}

TEST(seek, where_answers_take_seconds_closings_of_milliseconds_are_no_period) {
  for (bool const is_brief : {false, true}) {
    time_point now{100s};
    auto law = touched_at(100);
    law.wait.mean = 3;
    law.server = {.began = time_point{99s},
                  .accepted = 5,
                  .shut = true,
                  .since = is_brief ? now - 10ms : now - 1s,
                  .refused = now - 1ms,
                  .refusal = 1,
                  .closed = is_brief ? .01 : 1.0,
                  .alike = 1};
    auto const ceiling = law.top.at;
    law.turn.next = now;
    answer(law, now, outcome::success, 3s);
    EXPECT_FALSE(law.server.shut);
    EXPECT_EQ(law.top.at < ceiling / 2, !is_brief);
  }
}

// Refusals that take as long as answers: for that time a cut is followed by answers to what went
// before it, which must not undo it.
TEST(seek, where_refusals_take_seconds_only_what_went_after_a_cut_grows_the_level) {
  for (auto const& [rtt, grows] : {std::pair{100ms, true}, {3000ms, false}}) {
    time_point now{1s};
    seek law;
    law.so_far.successes = 1000;
    law.wait.mean = to_seconds(rtt);
    law.top = {.at = 100, .touched = true};
    law.level = 98;
    std::vector<stamp> sent;
    for (int i = 0; i < 20; ++i) {
      now = law.ready_at(1) > now ? law.ready_at(1) : now;
      sent.push_back(law.take(now, 1, 0));
    }
    now = sent.front().sent + rtt;
    law.on_throttle(now, {.sent = sent[0], .in_flight = 20, .rtt = rtt}, resource::unknown, 0);
    auto const cut = law.level;
    ASSERT_LT(cut, 98);
    law.on_success(now, {.sent = sent[1], .in_flight = 19, .rtt = rtt}, 0);
    EXPECT_EQ(law.level > cut, grows);
  }
}

TEST(seek, a_ceiling_of_slow_answers_is_asked_by_a_ramp_once_they_are_fast) {
  for (bool const was_slow : {false, true}) {
    time_point now{1s};
    auto law = touched_at(10);
    law.top.touched = false;
    law.server.cuts = 0;
    law.level = law.top.rest();
    law.top.answer = was_slow ? 1 : .05;
    accept(law, now, 2);
    EXPECT_EQ(law.doing(), was_slow ? seek::phase::ramp : seek::phase::creep);
  }
}

TEST(seek, cuts_in_a_crowd_with_hardly_a_success_between_them_are_counted_together) {
  for (bool const crowd : {false, true})
    for (bool const slots : {false, true}) {
      time_point now{1s};
      auto law = touched_at(0.1);
      if (crowd) law.others.show();
      accept(law, now, 2);
      law.top.slots = slots;
      auto sent = law.take(now, 1, 0);
      sent.in_flight = 2;
      law.on_throttle(now += 50ms, {.sent = sent, .in_flight = 2, .rtt = 50ms}, resource::unknown,
                      0);
      ASSERT_EQ(law.top.slots, slots);
      EXPECT_EQ(law.others.few, crowd && !slots ? 2 : 0) << crowd << slots;
      EXPECT_EQ(law.others.few_seconds > 0, crowd && !slots);
    }
}

TEST(seek, a_refusal_after_more_than_a_few_successes_is_a_count_of_its_own) {
  time_point now{1s};
  auto law = touched_at(0.1);
  law.others.show();
  law.top.at = 0;  // a search counts nothing
  accept(law, now, cuts::hardly);
  refuse(law, now);
  EXPECT_EQ(law.others.few, 0);
}

TEST(seek, a_refusal_after_some_were_accepted_far_below_what_a_cycle_told_shows_others) {
  for (bool const some : {true, false})
    for (bool const by_chance : {true, false}) {
      time_point now{1s};
      auto law = touched_at(0.1);
      law.others.tell(0.25);
      if (by_chance) law.luck.odds = chance::suspect;
      if (some) accept(law, now, 1);
      answer_row(law, now, 1, 1);
      EXPECT_EQ(law.others.varies(), some && !by_chance) << "not while chance is suspected";
    }
}

TEST(seek, a_refusal_at_fewer_permits_tells_nothing_of_a_rate) {
  time_point now{1s};
  auto law = touched_at(2);
  law.top.slots = true;
  law.so_far.unit = 10;
  law.others.tell(100);
  accept(law, now, 1);
  auto sent = law.take(now, 10, 0);
  sent.in_flight = 2;
  law.on_throttle(now += 50ms, {.sent = sent, .in_flight = 2, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_TRUE(law.top.slots);
  EXPECT_FALSE(law.others.varies());
}

TEST(seek, three_openings_that_gave_just_as_many_show_that_none_share_the_window) {
  for (int const equal : {spurt::own_proof - 1, spurt::own_proof}) {
    time_point now{1s};
    auto law = shut_again(now);
    law.others.show();
    law.others.window.units = law.server.accepted;
    law.others.window.equal = equal - 1;
    answer(law, now, outcome::success);
    EXPECT_EQ(law.others.varies(), equal < spurt::own_proof);
    EXPECT_EQ(law.others.window.equal, equal) << "the window is the same";
  }
}

// Bad requests are spread over a file as chance is over answers.
TEST(seek, the_first_refusal_of_a_bad_request_counts_as_chance_and_no_later_one) {
  for (bool const again : {false, true}) {
    auto law = touched_at(2);
    auto const before = law.luck.share;
    law.on_throttle(time_point{1s},
                    {.sent = law.take(time_point{1s}, 1, 0), .own = true, .again = again},
                    resource::unknown, 0);
    EXPECT_EQ(law.luck.share > before, !again);
  }
}

TEST(seek, a_ramp_that_asks_a_low_ceiling_ends_when_a_server_opens_that_a_hint_has_shut) {
  auto law = touched_at(2);
  law.top.calm.asks = true;
  time_point now{1s};
  law.server.refuse(now);
  law.server.close(now);
  now += 10s;
  answer_row(law, now, 1, 0);
  EXPECT_FALSE(law.server.shut);
  EXPECT_FALSE(law.top.calm.asks);
}

TEST(seek, a_ramp_that_asks_a_low_ceiling_ends_at_a_queue_of_its_own) {
  auto law = touched_at(2);
  law.top.calm.asks = true;
  time_point now{1s};
  law.wait.delivered = 3;
  law.level = law.wait.drain(now, 1, law.level, law.level);
  now += 60s;
  accept(law, now, 3 * latency::drain_answers);
  EXPECT_FALSE(law.wait.draining());
  EXPECT_FALSE(law.top.calm.asks);
}

/// A law that holds ten a second, of which it expects two in five to be refused.
seek holding(time_point& now, foothold::at where) {
  seek law;
  for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
  law.last.hold = {
      .now = where, .share = .4, .answers = 64, .lately = .4, .usual = .4, .level = 10, .due = 100};
  law.level = law.last.hold.begins();
  return law;
}

TEST(seek, no_refusal_cuts_a_level_that_is_held_and_none_below_it) {
  time_point now{1s};
  auto law = holding(now, foothold::at::held);
  auto const epoch = law.so_far.epoch;
  refuse(law, now);
  EXPECT_EQ(law.level, 10);
  EXPECT_EQ(law.so_far.epoch, epoch);
  law.level = 11;
  for (int i = 0; i < 3; ++i) refuse(law, now);
  EXPECT_EQ(law.so_far.epoch, epoch + 1);
  EXPECT_EQ(law.level, 10);
  EXPECT_FALSE(law.server.shut);
}

TEST(seek, a_level_that_is_asked_neither_grows_nor_is_cut) {
  for (auto const where : {foothold::at::raised, foothold::at::lowered}) {
    time_point now{1s};
    auto law = holding(now, where);
    auto const level = law.level;
    for (int i = 0; i < 5; ++i) i % 2 == 0 ? answer(law, now, outcome::success) : refuse(law, now);
    EXPECT_EQ(law.level, level);
  }
}

TEST(seek, twice_a_held_level_is_asked_once_it_is_due_of_what_goes_from_then_on) {
  time_point now{1s};
  auto law = holding(now, foothold::at::held);
  law.last.hold.due = 1;
  now = std::max(now, law.ready_at(1));
  auto const before = law.take(now, 1, 0);
  answer(law, now, outcome::success);
  EXPECT_EQ(law.last.hold.now, foothold::at::raised);
  EXPECT_EQ(law.level, 20);
  law.on_throttle(now, {.sent = before, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_EQ(law.last.hold.heard, 0);
  refuse(law, now);
  EXPECT_EQ(law.last.hold.heard, 1);
}

// Failures that are a limit's. A cut forgets those before it; what asks a level forgets none.
TEST(seek, a_failure_that_ends_the_asking_of_a_level_is_no_cut) {
  time_point now{1s};
  auto law = holding(now, foothold::at::lowered);
  law.last.hold.heard = foothold::heard_max - 1;
  law.last.hold.fewer = law.last.hold.more = 0.5;
  law.broken.limit = true;
  law.broken.lately = 0.9;
  answer(law, now, outcome::failure);
  EXPECT_EQ(law.last.hold.now, foothold::at::held);
  EXPECT_EQ(law.level, 10);
  EXPECT_GT(law.broken.lately, 0.8);
}

// Three in four are refused, whatever the pace.
TEST(seek, a_trial_is_not_left_by_a_server_that_seems_shut) {
  for (bool const holds : {true, false}) {
    time_point now{1s};
    seek law{.with = {.footholds = holds}};
    for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
    if (holds)
      law.last.hold = {.now = foothold::at::trial,
                       .share = .6,
                       .answers = 64,
                       .lately = .6,
                       .usual = .6,
                       .level = 8};
    law.level = 4;
    for (int i = 0; i < 16; ++i) i % 4 == 0 ? answer(law, now, outcome::success) : refuse(law, now);
    if (holds)
      EXPECT_GE(law.level, 2);
    else
      EXPECT_LT(law.level, 2);
    EXPECT_FALSE(holds && law.server.shut);
  }
}

TEST(seek, a_refusal_of_many_begins_a_trial_but_not_of_a_quiet_ramp_nor_perhaps_of_slots) {
  for (int reason = 0; reason < 3; ++reason) {
    time_point now{1s};
    seek law;
    for (int i = 0; i < 50; ++i) answer(law, now, outcome::success);
    law.last.hold = {.share = .4, .answers = 64, .lately = .4, .passed = 3, .due = 0};
    law.top.calm.asks = reason == 1;
    law.last.out = 2;
    law.last.alike = reason == 2 ? 1 : 0;
    refuse(law, now);
    EXPECT_EQ(law.last.hold.now == foothold::at::trial, reason == 0);
  }
}

TEST(seek, holds_nothing_where_the_reason_of_refusals_is_known) {
  for (int reason = 0; reason < 3; ++reason) {
    time_point now{1s};
    auto law = holding(now, foothold::at::held);
    if (reason == 0) law.luck.usual = .4;
    if (reason == 1) law.wait.mean = 2;  // answers of seconds have rules of their own
    if (reason == 2) law.top.slots = true;
    answer(law, now, outcome::success);
    EXPECT_EQ(law.last.hold.now, foothold::at::any);
  }
}

/// Returns what a law with a memory makes of a refusal, where its clock began so long ago.
seek refused_at(duration origin) {
  time_point now = time_point{} + origin;
  seek law;
  law.remember({.rate = 100, .latency = .005}, 0s);
  for (int i = 0; i < 31; ++i) answer(law, now, outcome::success, 5ms);
  refuse(law, now, 5ms);
  return law;
}

TEST(seek, what_it_decides_does_not_depend_on_when_its_clock_began) {
  auto const at_zero = refused_at(0s);
  auto const later = refused_at(240h);
  EXPECT_EQ(later.top.at, at_zero.top.at);
  EXPECT_EQ(later.level, at_zero.level);
  EXPECT_EQ(later.turn.behind, time_point::min()) << "the first request is not late";
  EXPECT_EQ(later.last.at - at_zero.last.at, 240h);
}

TEST(seek, a_law_that_dropped_its_memory_counts_from_then_on) {
  time_point now = time_point{} + 240h;
  seek law;
  law.remember({.rate = 100, .latency = .05}, 0s);
  refuse(law, now);
  ASSERT_EQ(law.top.at, 0);
  EXPECT_EQ(law.last.at, now);
}

/// A law that leaves a share of 100/s to others, and has settled.
seek leaving_a_share(time_point& now) {
  seek law{.leave = .3};
  law.remember({.rate = 100, .latency = .005}, 0s);
  for (int i = 0; i < 60; ++i) answer(law, now, outcome::success, 5ms);
  EXPECT_TRUE(law.top.settled);
  return law;
}

TEST(seek, a_memory_that_proved_true_is_not_dropped_where_it_yields_twice) {
  time_point now{1s};
  auto law = leaving_a_share(now);
  refuse(law, now, 5ms);
  answer(law, now, outcome::success, 5ms);
  refuse(law, now, 5ms);
  EXPECT_NEAR(law.top.at, 100, 4);
  EXPECT_TRUE(law.top.settled);
}

/// A law of 100/s in a drain, one of whose requests went before.
std::pair<seek, stamp> in_a_drain(time_point& now) {
  seek law;
  law.remember({.rate = 100, .latency = .05}, 0s);
  for (int i = 0; i < 60; ++i) answer(law, now, outcome::success);
  now = std::max(now, law.ready_at(1));
  auto const sent = law.take(now, 1, 0);
  law.wait.base = .05;
  law.level = law.wait.drain(now, .3, law.level, law.level);
  now += 50ms;
  return {law, sent};
}

// What is delivered is units a second, and slots are permits: four of them became 1,084 (an
// attacker's).
TEST(seek, a_queue_that_is_gone_leaves_no_more_slots_than_before) {
  for (bool const slots : {false, true}) {
    time_point now{1s};
    seek law;
    law.remember({.rate = 100, .slots = slots ? 4.0 : 0, .latency = .05}, 0s);
    answer(law, now, outcome::success);
    law.wait.base = .05;
    law.wait.delivered = 1000;
    auto const before = law.level;
    auto const sent = law.take(now = std::max(now, law.ready_at(1)), 1, 0);
    law.level = law.wait.drain(now, 1, before, before);
    law.on_success(now += 50ms, {.sent = sent, .in_flight = 1, .rtt = 50ms}, 0);
    answer(law, now, outcome::success);
    ASSERT_TRUE(law.wait.draining());
    EXPECT_EQ(law.level, slots ? before : latency::usable * 1000) << slots;
  }
}

TEST(seek, a_cut_ends_a_drain_and_is_one_of_the_level_before_it) {
  time_point now{1s};
  auto [law, sent] = in_a_drain(now);
  law.on_throttle(now, {.sent = sent, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_FALSE(law.wait.draining());
  EXPECT_NEAR(law.top.at, 100, 8);
  auto const level = law.level;
  for (int i = 0; i < 12; ++i) answer(law, now, outcome::success, 300ms);
  EXPECT_LT(law.level, 1.1 * level) << "the drain's end does not undo it";
}

// The level before the drain is a rate.
TEST(seek, slots_that_a_row_names_in_a_drain_end_it) {
  time_point now{1s};
  auto law = refused_with_twenty_out(now, true);
  auto const row = row_of(law, now);
  law.level = law.wait.drain(now, 10, law.level, law.level);
  now += 110ms;
  for (auto const& sent : row) law.on_success(now, {.sent = sent, .in_flight = 8, .rtt = 110ms}, 0);
  ASSERT_TRUE(law.top.slots);
  EXPECT_FALSE(law.wait.draining());
}

TEST(seek, a_search_that_begins_anew_ends_a_drain) {
  time_point now{1s};
  auto [law, sent] = in_a_drain(now);
  law.on_throttle(now, {.sent = sent, .rtt = 50ms, .own = true}, resource::unknown, 0);
  EXPECT_FALSE(law.wait.draining());
  EXPECT_NEAR(law.level, 99, 2);
}

TEST(seek, a_search_that_begins_anew_ends_a_trial_of_failures) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 40; ++i) answer(law, now, outcome::success);
  law.trial = {.share = .4, .pace = 10, .level = 100, .top = {.at = 100}};
  now = std::max(now, law.ready_at(1));
  auto const sent = law.take(now, 1, 0);
  law.on_throttle(now + 50ms, {.sent = sent, .rtt = 50ms, .own = true}, resource::unknown, 0);
  EXPECT_EQ(law.trial.share, 0) << "its verdict would bring the old ceiling back";
}

TEST(seek, a_row_whose_last_test_fails_is_judged_and_paid_for) {
  time_point now{1s};
  seek law;
  for (int i = 0; i < 40; ++i) answer(law, now, outcome::success);
  law.luck.highest = 100 * law.level;
  law.luck.odds = chance::incredible;
  law.luck.usual = .03;
  law.turn.wait(now, 0);
  law.luck.test(law.last.since.sends, true);
  std::vector<stamp> row;
  while (law.luck.row.unsent > 0) {
    now = std::max(now, law.ready_at(1));
    row.push_back(law.take(now, 1, 0));
  }
  now += 50ms;
  auto const odds = law.luck.odds;
  for (auto const& sent : row) {
    sample const s{.sent = sent, .rtt = 50ms};
    if (sent.sends == row.back().sends)
      law.on_failure(now, s, 0);
    else
      law.on_throttle(now, s, resource::unknown, 0);
  }
  EXPECT_GT(law.luck.odds, 5 * odds);
}

TEST(seek, a_server_that_refused_a_whole_row_has_accepted_nothing_since_the_cut) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 50, .latency = .4}, 0s);
  for (int i = 0; i < 80; ++i) answer(law, now, outcome::success, 400ms);
  refuse(law, now, 5ms);
  for (int i = 0; i < 20; ++i) answer(law, now, outcome::success, 400ms);
  refuse(law, now, 5ms);
  law.luck.test(law.last.since.sends, true);
  for (int i = 0; i < chance::tests; ++i) refuse(law, now, 5ms);
  ASSERT_FALSE(law.server.shut);
  auto const ceiling = law.top.at;
  refuse(law, now, 5ms);
  EXPECT_TRUE(law.server.shut);
  EXPECT_EQ(law.top.at, ceiling);
}

TEST(seek, a_row_that_finds_no_slots_meets_the_limit_once_more) {
  time_point now{1s};
  auto law = refused_with_twenty_out(now, true);
  auto const row = row_of(law, now);
  auto const met = law.server.cuts;
  now += 50ms;
  for (auto const& sent : row)
    law.on_throttle(now, {.sent = sent, .in_flight = 8, .rtt = 50ms}, resource::unknown, 0);
  EXPECT_EQ(law.server.cuts, met + 1);
}

TEST(seek, where_others_and_chance_refuse_few_tests_ask_and_one_of_them_cuts) {
  for (int const refused : {0, 1}) {
    time_point now{1s};
    auto law = rows_alike(now, {}, 1);
    law.top.guess = law.top.touched = false;
    law.luck.mixed = {.passed = mixture::proof, .found = true};
    law.luck.row = {};
    answer_row(law, now, 20, 0);
    auto const epoch = law.so_far.epoch;
    answer_row(law, now, 1, 1);
    EXPECT_EQ(law.so_far.epoch, epoch) << "it is asked first";
    ASSERT_EQ(law.luck.row.unsent, mixture::tests);
    answer_row(law, now, mixture::tests, refused);
    EXPECT_EQ(law.so_far.epoch, epoch + static_cast<std::uint64_t>(refused));
    EXPECT_EQ(law.doing(), seek::phase::crowd);
  }
}

TEST(seek, no_trial_of_a_held_level_begins_where_the_reason_is_known) {
  for (bool const may_ban : {false, true}) {
    time_point now{1s};
    seek law;
    for (int i = 0; i < 40; ++i) answer(law, now, outcome::success);
    law.last.hold = {.share = .4, .answers = 64, .lately = .4, .passed = 3, .due = 0};
    law.luck.share = .4;
    if (may_ban) law.server.banned.alike = 1;
    refuse(law, now);
    EXPECT_EQ(law.last.hold.now == foothold::at::trial, !may_ban);
  }
}

TEST(seek, a_hint_that_shuts_the_server_ends_a_drain) {
  time_point now{1s};
  auto [law, sent] = in_a_drain(now);
  law.on_hint(now, {.retry_after = 60s});
  ASSERT_TRUE(law.server.shut);
  EXPECT_FALSE(law.wait.draining());
}

TEST(seek, a_memory_of_dear_requests_lets_no_more_of_them_out) {
  time_point now{1s};
  seek law;
  law.remember({.rate = 100'000, .latency = .05}, 0s);
  law.take(now, 1000, 0);
  EXPECT_EQ(law.allowed(), latency::room_known);
}

// A governor lets the first go alone, until it is answered or a quarter of a second has passed.
TEST(seek, before_the_first_answer_the_caller_does_not_pause) {
  for (bool const answered : {false, true}) {
    time_point now{1s};
    seek law;
    law.take(now, 1, 0);
    if (answered) {
      law.turn.next = now;
      answer(law, now, outcome::success);
      law.turn.next = now;
    }
    now += 250ms;
    law.take(now, 1, 0);
    EXPECT_EQ(law.server.began == now, answered);
  }
}

TEST(seek, a_pause_of_the_caller_tells_no_rate_and_no_outage) {
  for (int const why : {0, 1, 2, 3}) {
    time_point now{1s};
    seek law;
    for (int i = 0; i < 40; ++i) answer(law, now, outcome::success);
    auto const began = now;
    law.broken.gone = began;
    now += 3600s;
    if (why == 1) law.on_hint(began, {.retry_after = 3600s});
    if (why == 2) law.on_hint(began, {.remaining = 0, .reset = 3600s});
    if (why == 3) law.wanted.answered = now;  // a worker that had waited for it
    law.take(now, 1, 0);
    EXPECT_EQ(law.last.at == now, why == 0) << why;
    EXPECT_EQ(law.server.began == now, why == 0) << why;
    EXPECT_EQ(law.broken.gone > began + 3500s, why == 0) << why;
  }
}

TEST(seek, that_leaves_a_share_finds_its_ceiling_again_once_the_others_are_gone) {
  time_point now{1s};
  auto law = leaving_a_share(now);
  auto const alone = law.top.at;
  for (int i = 0; i < 100; ++i) {
    answer(law, now, outcome::success, 5ms);
    refuse(law, now, 5ms);
  }
  ASSERT_LT(law.top.at, alone / 2);
  auto const begun = now;
  while (law.top.at < .99 * alone && now - begun < 900s) answer(law, now, outcome::success, 5ms);
  EXPECT_LT(now - begun, 600s);
  for (int i = 0; i < 5000; ++i) answer(law, now, outcome::success, 5ms);
  EXPECT_LE(law.top.at, alone) << "and no further";
}

}  // namespace
}  // namespace headway
