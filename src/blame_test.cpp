#include "headway/blame.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

constexpr time_point start{10s};

TEST(blame, a_request_that_is_refused_while_others_pass_is_refused_alone) {
  blame b;
  auto bad = b.begin(0);
  for (int i = 0; i < 2; ++i) {
    b.accept();
    b.accept();
    b.refuse(start, bad);
    EXPECT_FALSE(bad.alone()) << i;
  }
  b.accept();
  b.refuse(start + 1s, bad);
  EXPECT_TRUE(bad.alone());
  EXPECT_EQ(bad.alone_since, start + 1s);
  b.accept();
  b.refuse(start + 2s, bad);
  EXPECT_EQ(bad.alone_since, start + 1s);
}

TEST(blame, one_that_is_refused_as_all_are_is_not) {
  blame b;
  auto one = b.begin(0), other = b.begin(0);
  for (int i = 0; i < 20; ++i) {
    b.refuse(start, one);
    b.refuse(start, other);
  }
  EXPECT_FALSE(one.alone());
  EXPECT_FALSE(other.alone());
}

TEST(blame, more_must_be_accepted_than_refused_meanwhile) {
  blame b;
  auto one = b.begin(0), other = b.begin(0);
  for (int i = 0; i < 20; ++i) {
    b.accept();
    b.refuse(start, other);
    b.refuse(start, one);
  }
  EXPECT_FALSE(one.alone());
}

TEST(blame, refusals_under_another_ticket_count) {
  blame b;
  auto again = b.begin(2);
  b.accept();
  b.refuse(start, again);
  EXPECT_TRUE(again.alone());
}

// A block of a file that one tenant's quota refuses.
TEST(blame, a_refusal_is_its_own_once_eight_that_went_before_their_turn_have_passed) {
  blame b;
  auto first = b.begin(0), second = b.begin(0);
  EXPECT_FALSE(b.refuse(start, first));
  EXPECT_TRUE(first.suspect);
  for (int i = 0; i < 8; ++i) {
    auto other = b.begin(0);
    EXPECT_TRUE(b.wants_aside()) << i;
    b.ask(other);
    b.accept(other.aside);
  }
  EXPECT_FALSE(b.wants_aside());
  EXPECT_TRUE(b.refuse(start, second));
  for (int i = 0; i < 64; ++i) {
    auto other = b.begin(0);
    b.ask(other);
  }
  EXPECT_FALSE(b.wants_aside());
}

TEST(blame, a_server_that_refuses_those_before_their_turn_too_is_shut) {
  blame b;
  auto first = b.begin(0), second = b.begin(0), aside = b.begin(0);
  b.refuse(start, first);
  b.ask(aside);
  b.refuse(start + 1s, aside);
  EXPECT_FALSE(b.wants_aside());
  EXPECT_FALSE(b.refuse(start + 2s, second));
}

TEST(blame, all_is_in_vain_once_each_was_refused_twice_and_nothing_accepted) {
  blame b;
  b.accept();
  auto one = b.begin(0), other = b.begin(0);
  for (int i = 0; i < 2; ++i) b.refuse(start, one);
  EXPECT_TRUE(b.in_vain(1));
  EXPECT_FALSE(b.in_vain(2));
  for (int i = 0; i < 2; ++i) b.refuse(start, other);
  EXPECT_TRUE(b.in_vain(2));
  b.end(one);
  EXPECT_FALSE(b.in_vain(2));
  EXPECT_TRUE(b.in_vain(1));
  b.accept();
  EXPECT_FALSE(b.in_vain(1));
  b.end(other);  // counts no more
  EXPECT_TRUE(b.in_vain(0));
}

TEST(blame, a_request_that_fails_again_while_others_pass_fails_alone) {
  blame b;
  auto bad = b.begin(0);
  b.accept();
  EXPECT_FALSE(b.fail(bad, false));
  EXPECT_FALSE(b.fail(bad, true));  // the server may have gone
  b.accept();
  EXPECT_TRUE(b.fail(bad, true));
  EXPECT_TRUE(b.fail(bad, true));  // … and stays known
}

TEST(blame, a_row_begins_anew_when_anything_was_accepted) {
  blame b;
  auto one = b.begin(0);
  b.refuse(start, one);
  b.accept();
  b.refuse(start + 1s, one);
  EXPECT_EQ(one.row, 1);
  EXPECT_EQ(one.row_since, start + 1s);
  b.refuse(start + 2s, one);
  EXPECT_EQ(one.row, 2);
  EXPECT_EQ(one.row_since, start + 1s);
}

}  // namespace
}  // namespace headway
