#include "run/lesson.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "run/test_scope.hpp"

namespace headway::app {
namespace {

struct lesson_test : testing::Test {
  lesson_test() {
    r.where = &s;
    r.id = std::get<ticket>(s.governor.submit(now, {}));
    s.governor.start(now, r.id, 0);
    r.receipt = s.book.take(now, r.size);
  }

  attempt_result learn() { return app::learn(now, r, judge(r, answer), answer, options); }

  time_point now{};
  run_options options;
  scope s = idle_scope();
  request r;
  std::array<http::field, 1> fields{{{"retry-after", "7"}}};
  reply answer{.state = send_state::answered, .status = 200};
};

TEST_F(lesson_test, an_answer_is_a_success_whatever_the_caller_thinks_of_it) {
  EXPECT_EQ(learn().what, outcome::success);
  answer.status = 404;
  EXPECT_EQ(learn().what, outcome::success);
}

TEST_F(lesson_test, a_throttle_holds_as_long_as_the_server_says) {
  answer.status = 429;
  answer.fields = fields;
  auto const taught = learn();
  EXPECT_EQ(taught.what, outcome::throttle);
  EXPECT_EQ(taught.advice.retry_after, duration(7s));
  EXPECT_FALSE(taught.held_elsewhere);
  EXPECT_EQ(s.refused_in_a_row, 1);
}

TEST_F(lesson_test, what_broke_off_proves_nothing) {
  answer.error = "the connection broke";
  EXPECT_EQ(learn().what, outcome::failure);
  answer.too_large = true;  // it is there, and we do not want it
  EXPECT_EQ(learn().what, outcome::success);
  answer = {.state = send_state::sent, .error = "the connection broke"};
  EXPECT_EQ(learn().what, outcome::failure);
}

TEST_F(lesson_test, what_broke_off_is_broken_whatever_its_status_unless_its_head_says_not_now) {
  answer.error = "the connection broke";
  for (int const status : {200, 301, 400, 401, 404, 409, 425, 500}) {
    answer.status = status;
    EXPECT_EQ(judge(r, answer).what, reaction::transient) << status;
  }
  answer.fields = fields;
  for (int const status : {429, 503}) {
    answer.status = status;
    auto const taught = learn();
    EXPECT_EQ(taught.what, outcome::throttle) << status;
    EXPECT_EQ(taught.advice.retry_after, duration(7s)) << status;
  }
}

TEST_F(lesson_test, what_broke_off_is_not_judged_by_its_body) {
  answer.status = 429;
  answer.type = "application/json";
  answer.body = R"({"error": {"code": "insufficient_quota"}})";
  s.speaks = &profile::of_host("api.openai.com");
  EXPECT_EQ(judge(r, answer).what, reaction::money);
  answer.error = "the connection broke";
  EXPECT_EQ(judge(r, answer).what, reaction::rate);
}

TEST_F(lesson_test, too_many_streams_are_a_throttle) {
  r.what.method = "POST";
  answer = {.error = "the server asks for calm", .too_many = true};
  EXPECT_EQ(learn().what, outcome::throttle);
}

TEST_F(lesson_test, a_kept_connection_that_was_closed_teaches_nothing_once) {
  answer = {.state = send_state::sent, .error = "it was closed", .stale = true};
  auto const taught = learn();
  EXPECT_EQ(taught.what, outcome::ignore);
  EXPECT_TRUE(taught.may_retry);
  EXPECT_TRUE(r.stale);
  EXPECT_EQ(learn().what, outcome::failure);
}

TEST_F(lesson_test, only_what_is_safe_may_go_again) {
  answer = {.state = send_state::sent, .error = "the connection broke"};
  EXPECT_TRUE(learn().may_retry);
  r.what.method = "POST";
  EXPECT_FALSE(learn().may_retry);
  options.retry_unsafe = true;
  EXPECT_TRUE(learn().may_retry);
  options.retry_unsafe = false;
  answer.state = send_state::not_sent;
  EXPECT_TRUE(learn().may_retry);
  answer.futile = true;
  EXPECT_FALSE(learn().may_retry);
}

TEST_F(lesson_test, a_long_quota_asks_for_more_patience_than_we_have) {
  auto const taught = app::learn(now, r, {.what = reaction::long_quota}, answer, options);
  EXPECT_EQ(taught.what, outcome::throttle);
  EXPECT_EQ(taught.short_of, resource::quota);
  EXPECT_EQ(taught.advice.retry_after, options.wait_max + 1s);
}

TEST_F(lesson_test, the_book_waits_for_its_quota_until_it_has_been_wrong_too_often) {
  judgement const told{
      .what = reaction::quota,
      .hold = 5s,
      .quotas = {{.name = "requests", .limit = 100, .remaining = 0, .reset = duration(5s)}}};
  answer.status = 429;
  auto const attempt = [&] {
    r.receipt = s.book.take(now, r.size);
    return app::learn(now, r, told, answer, options);
  };
  EXPECT_FALSE(attempt().held_elsewhere);  // which tells the book of it
  for (int i = 1; i < 8; ++i) {
    auto const taught = attempt();
    EXPECT_TRUE(taught.held_elsewhere) << i;
    EXPECT_EQ(taught.advice.retry_after, std::nullopt) << i;
  }
  auto const taught = attempt();
  EXPECT_FALSE(taught.held_elsewhere);
  EXPECT_EQ(taught.advice.retry_after, duration(5s));
}

}  // namespace
}  // namespace headway::app
