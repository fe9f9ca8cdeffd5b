#include "run/ending.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

struct ending_test : testing::Test {
  request r;
  reply answer{.state = send_state::answered, .status = 200};
  decision last{verdict::give_up, reason::none, never};
  run_options options;

  ending end(outcome taught) const { return ending_of(r, answer, taught, last, options); }
};

TEST_F(ending_test, success) {
  auto const e = end(outcome::success);
  EXPECT_EQ(e.how, final_outcome::success);
  EXPECT_EQ(e.reason, "");
  EXPECT_EQ(e.refused_by, 0);
}

TEST_F(ending_test, refused_for_good) {
  answer.status = 404;
  r.said = "no_such_thing\n";
  auto const e = end(outcome::success);
  EXPECT_EQ(e.how, final_outcome::failed);
  EXPECT_EQ(e.reason, "status 404: no_such_thing\\x0a");
  EXPECT_EQ(e.refused_by, 404);
}

TEST_F(ending_test, what_teaches_nothing_refuses_the_caller_for_good) {
  answer.status = 401;
  EXPECT_EQ(end(outcome::ignore).refused_by, 401);
  options.ok = statuses::parse("401");
  EXPECT_EQ(end(outcome::ignore).how, final_outcome::success);
}

TEST_F(ending_test, a_good_status_is_not_enough) {
  r.denied = true;
  EXPECT_EQ(end(outcome::success).how, final_outcome::failed);
  r.denied = false;
  options.ok = statuses::parse("201");
  EXPECT_EQ(end(outcome::success).how, final_outcome::failed);
}

TEST_F(ending_test, unknown_if_it_was_sent_and_must_not_be_repeated) {
  answer = {.state = send_state::sent, .error = "the connection broke"};
  r.what.method = "POST";
  auto const e = end(outcome::failure);
  EXPECT_EQ(e.how, final_outcome::unknown);
  EXPECT_EQ(e.reason, "the connection broke");
  EXPECT_EQ(e.refused_by, 0);
  r.what.idempotency_key = "key";
  EXPECT_EQ(end(outcome::failure).how, final_outcome::failed);
}

TEST_F(ending_test, unknown_if_its_answer_broke_off) {
  answer.error = "the connection broke";
  r.what.method = "POST";
  EXPECT_EQ(end(outcome::failure).how, final_outcome::unknown);
  answer.error = {};
  answer.status = 503;  // it says so itself
  EXPECT_EQ(end(outcome::failure).how, final_outcome::failed);
}

TEST_F(ending_test, for_safety_if_another_would_have_gone_again) {
  auto const for_safety = [&](outcome taught) {
    return ended_for_safety(r, answer, taught, last, options);
  };
  r.what.method = "POST";
  r.broken = 1;
  last.why = reason::attempts;
  answer = {.state = send_state::sent, .error = "the connection broke"};
  EXPECT_TRUE(for_safety(outcome::failure));
  EXPECT_FALSE(for_safety(outcome::ignore));
  options.retry_unsafe = true;
  EXPECT_FALSE(for_safety(outcome::failure));
  options.retry_unsafe = false;
  r.broken = options.attempts_max;
  EXPECT_FALSE(for_safety(outcome::failure)) << "it has gone as often as any may";
  r.broken = 1;
  r.what.idempotency_key = "key";
  EXPECT_FALSE(for_safety(outcome::failure));
  r.what.idempotency_key.clear();
  answer = {.error = "a bad certificate", .futile = true};
  EXPECT_FALSE(for_safety(outcome::failure)) << "it was not sent";
}

TEST_F(ending_test, what_was_not_sent_has_failed) {
  answer = {.error = "connection refused"};
  r.what.method = "POST";
  auto const e = end(outcome::failure);
  EXPECT_EQ(e.how, final_outcome::failed);
  EXPECT_EQ(e.reason, "connection refused (not sent)");
}

TEST_F(ending_test, says_whose_patience_is_over) {
  answer.status = 503;
  last.why = reason::deadline;
  options.request_deadline = 90s;
  EXPECT_EQ(end(outcome::failure).reason, "status 503; gave up after 1 min 30 s");
  last.why = reason::retry_budget;
  EXPECT_EQ(end(outcome::failure).reason, "status 503; the retry budget is used up");
}

TEST_F(ending_test, a_body_that_is_too_large_is_not_refused) {
  answer.too_large = true;
  answer.error = "x";
  auto const e = end(outcome::success);
  EXPECT_EQ(e.reason, "the body is longer than 64 MiB");
  EXPECT_EQ(e.refused_by, 0);
}

}  // namespace
}  // namespace headway::app
