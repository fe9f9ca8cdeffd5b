#include "headway/blame.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace headway {
namespace {

using record = blame::record;

constexpr time_point start{10s};

/// A caller that sends one request at a time; each answer takes 10 ms.
struct caller {
  blame b;
  time_point now = start;

  time_point send(record& r) {
    b.send(r);
    return std::exchange(now, now + 10ms);
  }
  void pass(record& r) {
    auto const sent = send(r);
    b.accept(r, sent);
  }
  /// Returns whether that is its own.
  bool refuse(record& r) {
    auto const sent = send(r);
    return b.refuse(now, r, sent);
  }
  /// Lets as many others pass. That what goes went while others passed takes two.
  void pass_others(int requests = 2) {
    for (int i = 0; i < requests; ++i) {
      auto other = b.begin(0);
      pass(other);
      b.end(other);
    }
  }
};

/// One that knows so many bad requests among some hundred.
caller beside_bad_ones(int bad_ones = 4) {
  caller c;
  c.pass_others(100);
  for (int i = 0; i < bad_ones; ++i) {
    auto bad = c.b.begin(0);
    c.refuse(bad);
    c.pass_others();
    for (int again = 0; again < 2; ++again) {
      EXPECT_TRUE(c.refuse(bad));
      c.pass_others();
    }
    c.b.end(bad);
  }
  EXPECT_TRUE(c.b.most_bad());
  return c;
}

TEST(blame, a_request_that_is_refused_while_others_pass_is_refused_alone) {
  caller c;
  auto bad = c.b.begin(0);
  for (int i = 0; i < 2; ++i) {
    c.pass_others();
    c.refuse(bad);
    EXPECT_FALSE(bad.alone()) << i;
  }
  c.pass_others(1);
  c.refuse(bad);
  EXPECT_TRUE(bad.alone());
  auto const since = c.now;
  EXPECT_EQ(bad.alone_since, since);
  c.pass_others(1);
  c.refuse(bad);
  EXPECT_EQ(bad.alone_since, since);
}

TEST(blame, one_that_is_refused_as_all_are_is_not) {
  caller c;
  auto one = c.b.begin(0), other = c.b.begin(0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(c.refuse(one));
    EXPECT_FALSE(c.refuse(other));
  }
  EXPECT_FALSE(one.alone());
  EXPECT_FALSE(other.alone());
}

// All go at once, so that none goes while others pass: that gives no odds.
TEST(blame, without_odds_more_must_be_accepted_than_refused_meanwhile) {
  for (int const accepted : {1, 2}) {
    blame b;
    auto one = b.begin(0), other = b.begin(0);
    for (auto now = start; now < start + 20s; now += 1s) {
      std::vector<record> passing(static_cast<std::size_t>(accepted), b.begin(0));
      b.send(other), b.send(one);
      for (auto& p : passing) b.send(p);
      for (auto& p : passing) b.accept(p, now);
      EXPECT_FALSE(b.refuse(now + 10ms, other, now));
      EXPECT_FALSE(b.refuse(now + 10ms, one, now));
    }
    EXPECT_EQ(one.alone(), accepted > 1);
  }
}

TEST(blame, refusals_under_another_ticket_count) {
  caller c;
  auto again = c.b.begin(2);
  c.pass_others(1);
  c.refuse(again);
  EXPECT_TRUE(again.alone());
}

TEST(blame, a_second_refusal_while_others_pass_tells_of_a_bad_one_where_the_limit_refuses_few) {
  struct {
    int passed;
    bool bad;
  } const rows[] = {{5, false}, {100, true}};
  for (auto const& r : rows) {
    SCOPED_TRACE(r.passed);
    caller c;
    c.pass_others(r.passed);
    auto bad = c.b.begin(0);
    EXPECT_FALSE(c.refuse(bad));
    EXPECT_FALSE(bad.alone());
    c.pass_others();
    EXPECT_EQ(c.refuse(bad), r.bad);
    EXPECT_EQ(bad.own, r.bad);
    EXPECT_EQ(bad.alone(), r.bad) << "at once";
    EXPECT_FALSE(c.b.most_bad());
    c.pass_others();
    auto another = c.b.begin(0);
    EXPECT_FALSE(c.refuse(another)) << "its first";
  }
}

TEST(blame, of_first_refusals_while_most_are_bad_one_in_five_is_the_limits) {
  auto c = beside_bad_ones(100);
  int own = 0;
  for (int i = 0; i < 20; ++i) {
    auto one = c.b.begin(0);
    own += c.refuse(one);
    EXPECT_FALSE(one.own);
    EXPECT_FALSE(one.alone()) << "its first";
    c.b.end(one);
    c.pass_others();
  }
  EXPECT_EQ(own, 16);
  EXPECT_TRUE(c.b.most_bad());
}

TEST(blame, what_is_likely_counts_once_one_was_refused_three_times_and_no_such_one_accepted) {
  caller c;
  c.pass_others(100);
  std::vector<record> thrice(4, c.b.begin(0));
  auto const own_of_five_first = [&](record& r, int refusals = 3) {
    for (int i = 0; i < refusals; ++i) {
      c.refuse(r);
      c.pass_others();
    }
    int own = 0;
    for (int i = 0; i < 5; ++i) {
      auto one = c.b.begin(0);
      own += c.refuse(one);
      c.b.end(one);
      c.pass_others();
    }
    return own;
  };
  auto twice = c.b.begin(0), another = c.b.begin(0);
  own_of_five_first(twice, 2);
  EXPECT_EQ(own_of_five_first(another, 2), 0);
  EXPECT_TRUE(c.b.most_bad());
  EXPECT_GE(own_of_five_first(thrice[0]), 3);
  c.pass(thrice[0]);
  EXPECT_EQ(own_of_five_first(thrice[1]), 0) << "one was not bad: it is two to one";
  EXPECT_GE(own_of_five_first(thrice[2]), 3);
}

TEST(blame, sixteen_at_most_count_against_it) {
  caller c;
  c.pass_others(100);
  auto const refused_thrice = [&](record& r) {
    for (int i = 0; i < 3; ++i) {
      c.refuse(r);
      c.pass_others();
    }
  };
  for (int i = 0; i < 100; ++i) {
    auto good = c.b.begin(0);
    refused_thrice(good);
    c.pass(good);
  }
  for (int i = 0; i < 18; ++i) {
    auto bad = c.b.begin(0);
    refused_thrice(bad);
  }
  int own = 0;
  for (int i = 0; i < 10; ++i) {
    auto one = c.b.begin(0);
    own += c.refuse(one);
    c.pass_others();
  }
  EXPECT_EQ(own, 8);
}

// Of four of those that are refused once, one passes at its second attempt.
TEST(blame, as_many_refusals_are_the_limits_as_their_probabilities_add_up_to) {
  auto c = beside_bad_ones();
  int own = 0, firsts = 0;
  for (int round = 0; round < 60; ++round) {
    auto one = c.b.begin(0);
    c.pass_others(10);
    bool const its_own = c.refuse(one);
    if (round >= 20) own += its_own, ++firsts;
    c.pass_others();
    if (round % 4 == 0)
      c.pass(one);
    else
      c.refuse(one);
    c.b.end(one);
  }
  EXPECT_EQ(firsts, 40);
  EXPECT_NEAR(own, 30, 2);
}

TEST(blame, a_bad_one_is_refused_for_its_own_sake_while_others_pass_and_for_30_s) {
  auto c = beside_bad_ones();
  auto bad = c.b.begin(0);
  c.refuse(bad);
  c.pass_others(1);
  for (int i = 0; i < 2; ++i) {
    c.pass_others(1);
    EXPECT_TRUE(c.refuse(bad));
    auto const since = c.now;
    c.now = since + 30s - 10ms - 1ns;
    EXPECT_TRUE(c.refuse(bad)) << "the first since anything was accepted was";
    c.now = since + 30s - 10ms;
    EXPECT_FALSE(c.refuse(bad)) << "a server that is shut looks the same";
    EXPECT_TRUE(bad.own) << "that it stays";
  }
}

// At the end of a file nothing passes between them.
TEST(blame, what_is_left_once_the_good_ones_are_done_is_refused_for_its_own_sake) {
  auto c = beside_bad_ones(30);
  std::vector<record> left(20, c.b.begin(0));
  for (auto& each : left) {
    c.refuse(each);
    c.pass_others();
  }
  int own = 0;
  for (auto& each : left) own += c.refuse(each);
  for (auto& each : left) own += c.refuse(each);
  EXPECT_GE(own, 36) << "of 40";
  for (auto const& each : left) EXPECT_TRUE(each.rests || each.alone()) << "each waits";
}

// A bucket that gives one in 20 s was asked 8 times a second for hours, since each line seemed bad.
TEST(blame, where_nine_of_ten_answers_are_refusals_none_is_a_requests_own) {
  auto c = beside_bad_ones(30);
  auto bad = c.b.begin(0);
  c.refuse(bad);
  c.pass_others();
  EXPECT_TRUE(c.refuse(bad));
  int asked = 0;
  for (bool own = true; own && asked < 1000; ++asked) {
    for (int i = 0; i < 19; ++i) own = c.refuse(bad);
    c.pass_others(1);
  }
  EXPECT_GT(asked, 4) << "ten in a row tell nothing";
  EXPECT_LT(asked, 20);
  EXPECT_FALSE(bad.rests);
  c.pass_others(20);
  EXPECT_TRUE(c.refuse(bad)) << "others pass again";
}

TEST(blame, after_eight_first_refusals_in_a_row_all_are_the_limits) {
  auto c = beside_bad_ones();
  for (int row = 0; row < 2; ++row) {
    int own = 0;
    for (int i = 0; i < 8; ++i) {
      auto one = c.b.begin(0);
      own += c.refuse(one);
      c.b.end(one);
    }
    EXPECT_GE(own, 6);
    for (int i = 0; i < 4; ++i) {
      auto one = c.b.begin(0);
      EXPECT_FALSE(c.refuse(one)) << i;
      c.b.end(one);
    }
    c.pass_others(1);
  }
}

TEST(blame, what_went_while_nothing_passed_gives_no_evidence) {
  caller c;
  c.pass_others(100);
  for (int i = 0; i < 50; ++i) {  // it is shut
    auto one = c.b.begin(0);
    for (int k = 0; k < 2; ++k) EXPECT_FALSE(c.refuse(one));
    c.b.end(one);
  }
  EXPECT_FALSE(c.b.most_bad()) << "of second attempts";
  c.pass_others(300);
  auto bad = c.b.begin(0);
  c.refuse(bad);
  c.pass_others();
  EXPECT_TRUE(c.refuse(bad)) << "no limit that refuses first ones is known";
}

TEST(blame, nor_does_what_went_when_the_first_after_a_refusal_had_just_passed) {
  for (int const passed : {1, 2}) {
    caller c;
    c.pass_others(100);
    auto bad = c.b.begin(0);
    c.refuse(bad);
    c.pass_others(passed);
    EXPECT_EQ(c.refuse(bad), passed > 1);
    auto among_bad = beside_bad_ones();
    auto one = among_bad.b.begin(0);
    among_bad.refuse(one);
    among_bad.pass_others(passed);
    EXPECT_TRUE(among_bad.refuse(one));
    EXPECT_EQ(one.own, passed > 1);
  }
}

TEST(blame, nor_does_a_second_refusal_before_anything_else_was_accepted) {
  for (auto c : {caller(), beside_bad_ones()}) {
    c.pass_others(100);
    auto const most_bad = c.b.most_bad();
    for (int i = 0; i < 5; ++i) {
      auto one = c.b.begin(0), later = c.b.begin(0);
      auto const sent = c.send(one), sent_later = c.send(later);
      c.b.accept(later, sent_later);
      c.b.refuse(c.now, one, sent);
      EXPECT_TRUE(c.b.passes());
      auto const own = c.refuse(one);
      EXPECT_TRUE(most_bad || !own);
      EXPECT_FALSE(one.own);
      c.b.end(one);
      c.pass_others();
    }
    EXPECT_EQ(c.b.most_bad(), most_bad);
  }
}

TEST(blame, nor_what_is_accepted_later_but_went_before_it_was_refused) {
  caller c;
  auto one = c.b.begin(0);
  std::vector<record> earlier(20, c.b.begin(0));
  for (auto& r : earlier) c.b.send(r);
  for (int i = 0; i < 9; ++i) {
    EXPECT_FALSE(c.refuse(one)) << i;
    c.b.accept(earlier[static_cast<std::size_t>(i)], start - 1s);
    c.b.accept(earlier[static_cast<std::size_t>(i) + 10], start - 1s);
  }
  EXPECT_EQ(one.telling, 1) << "the first";
  c.pass_others();
  c.refuse(one);
  EXPECT_EQ(one.telling, 2);
}

TEST(blame, others_pass_once_one_that_went_after_the_last_refused_one_was_accepted) {
  blame b;
  std::vector<record> each(5, b.begin(0));
  EXPECT_FALSE(b.passes());
  for (auto& r : each) b.send(r);
  b.accept(each[0], start);
  EXPECT_TRUE(b.passes());
  b.refuse(start + 1s, each[1], start);
  EXPECT_FALSE(b.passes());
  b.accept(each[2], start);
  EXPECT_FALSE(b.passes()) << "it went with the refused one";
  b.accept(each[3], start + 1ns);
  EXPECT_TRUE(b.passes());
  b.accept(each[4], start);
  EXPECT_TRUE(b.passes()) << "its answer is late";
}

// A block of a file that one tenant's quota refuses.
TEST(blame, a_refusal_is_its_own_once_eight_that_went_before_their_turn_have_passed) {
  caller c;
  auto first = c.b.begin(0), second = c.b.begin(0);
  EXPECT_FALSE(c.refuse(first));
  for (int i = 0; i < 8; ++i) {
    auto other = c.b.begin(0);
    EXPECT_TRUE(c.b.wants_aside()) << i;
    c.b.ask(other);
    c.pass(other);
  }
  EXPECT_FALSE(c.b.wants_aside());
  EXPECT_TRUE(c.refuse(second));
  EXPECT_FALSE(second.alone()) << "its first";
  for (int i = 0; i < 64; ++i) {
    auto other = c.b.begin(0);
    EXPECT_TRUE(c.b.wants_aside()) << i;
    c.b.ask(other);
  }
  EXPECT_FALSE(c.b.wants_aside());
  EXPECT_TRUE(c.refuse(second));
  EXPECT_FALSE(second.own) << "the limit may have refused it: it is asked again";
  EXPECT_FALSE(second.alone());
}

TEST(blame, a_server_that_refuses_those_before_their_turn_too_is_shut) {
  caller c;
  auto first = c.b.begin(0), second = c.b.begin(0), aside = c.b.begin(0);
  c.refuse(first);
  c.b.ask(aside);
  c.refuse(aside);
  EXPECT_FALSE(c.b.wants_aside());
  EXPECT_FALSE(c.refuse(second));
}

TEST(blame, of_eight_that_are_asked_before_their_turn_one_was_refused_before) {
  caller c;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 7; ++i) {
      EXPECT_FALSE(c.b.wants_refused()) << round << ' ' << i;
      auto passes = c.b.begin(0), aside = c.b.begin(0);
      c.b.ask(passes);
      c.pass(passes);
      EXPECT_FALSE(c.b.wants_refused()) << round << ' ' << i;
      c.b.ask(aside);
      c.refuse(aside);
    }
    EXPECT_TRUE(c.b.wants_refused()) << "until there is one";
    auto fresh = c.b.begin(0), refused = c.b.begin(1);
    c.b.ask(fresh);
    EXPECT_TRUE(c.b.wants_refused());
    c.b.ask(refused);
  }
}

TEST(blame, all_is_in_vain_once_each_was_refused_twice_and_nothing_accepted) {
  caller c;
  c.pass_others(1);
  auto one = c.b.begin(0), other = c.b.begin(0);
  for (int i = 0; i < 2; ++i) c.refuse(one);
  EXPECT_TRUE(c.b.in_vain(1));
  EXPECT_FALSE(c.b.in_vain(2));
  for (int i = 0; i < 2; ++i) c.refuse(other);
  EXPECT_TRUE(c.b.in_vain(2));
  c.b.end(one);
  EXPECT_FALSE(c.b.in_vain(2));
  EXPECT_TRUE(c.b.in_vain(1));
  c.pass_others(1);
  EXPECT_FALSE(c.b.in_vain(1));
  c.b.end(other);  // counts no more
  EXPECT_TRUE(c.b.in_vain(0));
}

TEST(blame, a_request_that_fails_again_while_others_pass_fails_alone) {
  caller c;
  auto bad = c.b.begin(0);
  c.pass_others(1);
  EXPECT_FALSE(c.b.fail(bad, false));
  EXPECT_FALSE(c.b.fail(bad, true));  // the server may have gone
  c.pass_others(1);
  EXPECT_TRUE(c.b.fail(bad, true));
  EXPECT_TRUE(c.b.fail(bad, true));  // … and stays known
}

TEST(blame, a_row_begins_anew_when_anything_was_accepted) {
  caller c;
  auto one = c.b.begin(0);
  c.refuse(one);
  c.pass_others(1);
  c.refuse(one);
  auto const since = c.now;
  EXPECT_EQ(one.row, 1);
  EXPECT_EQ(one.row_since, since);
  c.refuse(one);
  EXPECT_EQ(one.row, 2);
  EXPECT_EQ(one.row_since, since);
}

}  // namespace
}  // namespace headway
