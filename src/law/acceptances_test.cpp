#include "headway/law/acceptances.hpp"

#include <gtest/gtest.h>

namespace headway {
namespace {

// Ten went, none has been answered after 0.1 s; answers take 6 s.
TEST(acceptances, an_early_refusal_tells_of_what_was_sent_before_it) {
  acceptances a{.sends = 12, .refusals = 1};
  EXPECT_EQ(a.cut(10, 0.1, 6), 10U);
  EXPECT_EQ(a, (acceptances{.sends = 12, .begin = 12}));
}

TEST(acceptances, a_refusal_tells_if_it_takes_less_than_a_quarter_of_an_answer) {
  EXPECT_TRUE(acceptances::tells(0.1, 0.5));
  EXPECT_FALSE(acceptances::tells(0.125, 0.5));
  EXPECT_FALSE(acceptances::tells(0, 0)) << "no answer yet";
}

TEST(acceptances, a_refusal_as_late_as_answers_tells_of_nothing_but_itself) {
  EXPECT_EQ((acceptances{.sends = 12, .refusals = 1}).cut(10, 1.5, 6), 0U);
  EXPECT_EQ((acceptances{.sends = 12, .successes = 4, .refusals = 1}).cut(10, 1.5, 6), 4U);
}

TEST(acceptances, before_the_first_answer_none_is_known) {
  EXPECT_EQ((acceptances{.sends = 12, .refusals = 1}).cut(10, 0.1, 0), 0U);
}

// What went after the refused request may be refused yet.
TEST(acceptances, those_too_young_to_be_refused_do_not_count) {
  EXPECT_EQ((acceptances{.sends = 12, .begin = 9, .refusals = 1}).cut(10, 0.1, 6), 1U);
  EXPECT_EQ((acceptances{.sends = 12, .begin = 10, .refusals = 1}).cut(10, 0.1, 6), 0U);
}

TEST(acceptances, failures_are_not_acceptances) {
  EXPECT_EQ((acceptances{.sends = 12, .failures = 7, .refusals = 1}).cut(10, 0.1, 6), 3U);
  EXPECT_EQ((acceptances{.sends = 12, .failures = 11, .refusals = 1}).cut(10, 0.1, 6), 0U);
}

TEST(acceptances, a_success_counts_whatever_the_order) {
  EXPECT_EQ((acceptances{.sends = 12, .begin = 10, .successes = 1, .refusals = 1}).cut(10, 0.1, 6),
            1U);
}

// A stamp of another law, or of before a memory was dropped.
TEST(acceptances, an_older_stamp_counts_nothing) {
  EXPECT_EQ((acceptances{.sends = 12, .begin = 10, .refusals = 1}).cut(3, 0.1, 6), 0U);
}

// The latest is among them: tests, and what is a request's own, cut nothing.
TEST(acceptances, refusals_that_did_not_cut_are_not_acceptances) {
  EXPECT_EQ((acceptances{.sends = 12, .refusals = 1}).cut(10, 0.1, 6), 10U);
  EXPECT_EQ((acceptances{.sends = 12, .refusals = 9}).cut(10, 0.1, 6), 2U);
  EXPECT_EQ((acceptances{.sends = 12, .failures = 4, .refusals = 9}).cut(10, 0.1, 6), 0U);
}

}  // namespace
}  // namespace headway
