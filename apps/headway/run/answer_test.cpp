#include "run/answer.hpp"

#include <gtest/gtest.h>

#include <array>

#include "pacing/test_lane.hpp"

namespace headway::app {
namespace {

struct answer_test : testing::Test {
  answer_test() { r.where = &l; }

  reaction judged() { return judge(r, answer).what; }

  lane l = test_lane();
  request r;
  reply answer{.state = send_state::answered, .status = 200};
};

TEST_F(answer_test, is_judged_by_the_profile_of_its_lane) {
  EXPECT_EQ(judged(), reaction::served);
  answer.status = 404;
  EXPECT_EQ(judged(), reaction::permanent);
  std::array<http::field, 1> const fields{{{"retry-after", "7"}}};
  answer.status = 429;
  answer.fields = fields;
  EXPECT_EQ(judged(), reaction::rate);
  EXPECT_EQ(judge(r, answer).hold, duration(7s));
}

TEST_F(answer_test, what_broke_off_proves_nothing) {
  answer.error = "the connection broke";
  EXPECT_EQ(judged(), reaction::transient);
  answer.too_large = true;  // it is there, and we do not want it
  EXPECT_EQ(judged(), reaction::served);
  answer = {.state = send_state::sent, .error = "the connection broke"};
  EXPECT_EQ(judged(), reaction::transient);
}

}  // namespace
}  // namespace headway::app
