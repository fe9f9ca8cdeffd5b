#include "run/answer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "base/clock.hpp"
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

TEST_F(answer_test, what_broke_off_is_broken_whatever_its_status_unless_its_head_says_not_now) {
  answer.error = "the connection broke";
  for (int const status : {200, 301, 400, 401, 404, 409, 425, 500}) {
    answer.status = status;
    EXPECT_EQ(judged(), reaction::transient) << status;
  }
  std::array<http::field, 1> const fields{{{"retry-after", "7"}}};
  answer.fields = fields;
  for (int const status : {429, 503}) {
    answer.status = status;
    EXPECT_EQ(judged(), reaction::rate) << status;
    EXPECT_EQ(judge(r, answer).hold, duration(7s)) << status;
  }
}

TEST_F(answer_test, what_broke_off_is_not_judged_by_its_body) {
  auto openai = test_lane("seek", {}, quota_book(), 15min, "api.openai.com");
  r.where = &openai;
  answer.status = 429;
  answer.type = "application/json";
  answer.body = R"({"error": {"code": "insufficient_quota"}})";
  EXPECT_EQ(judged(), reaction::money);
  answer.error = "the connection broke";
  EXPECT_EQ(judged(), reaction::rate);
}

TEST_F(answer_test, too_many_streams_are_a_throttle) {
  r.what.method = "POST";
  answer = {.error = "the server asks for calm", .too_many = true};
  EXPECT_EQ(judged(), reaction::rate);
}

TEST_F(answer_test, says_whether_its_request_may_go_again) {
  answer = {.state = send_state::sent, .error = "the connection broke"};
  auto const again = [&](bool retry_unsafe) {
    return read_answer(r, answer, {}, retry_unsafe).may_repeat;
  };
  EXPECT_TRUE(again(false));
  r.what.method = "POST";
  EXPECT_FALSE(again(false));
  EXPECT_TRUE(again(true));
  answer.state = send_state::not_sent;
  EXPECT_TRUE(again(false));
  answer.futile = true;
  EXPECT_FALSE(again(false));
  answer = {.state = send_state::answered, .status = 404};
  EXPECT_FALSE(again(true));
}

TEST_F(answer_test, may_have_cost_something_where_no_whole_answer_says_what) {
  auto const owes = [&] { return read_answer(r, answer, {}, false), r.owes; };
  EXPECT_FALSE(owes());
  answer.error = "the connection broke";
  EXPECT_TRUE(owes());
  answer = {.state = send_state::sent, .error = "the connection broke"};
  EXPECT_TRUE(owes());
  answer.state = send_state::not_sent;
  EXPECT_FALSE(owes());
  answer = {.state = send_state::answered, .status = 429, .error = "the connection broke"};
  std::array<http::field, 1> const fields{{{"retry-after", "7"}}};
  answer.fields = fields;
  EXPECT_FALSE(owes());
}

TEST_F(answer_test, a_closed_connection_is_forgiven_once) {
  answer = {.state = send_state::sent, .error = "the connection broke", .stale = true};
  EXPECT_TRUE(read_answer(r, answer, {}, false).gone);
  EXPECT_FALSE(r.owes);
  EXPECT_FALSE(read_answer(r, answer, {}, false).gone);
}

TEST_F(answer_test, an_error_in_a_stream_is_told_in_the_server_s_words) {
  answer.type = "text/event-stream";
  answer.body = "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n";
  EXPECT_EQ(read_answer(r, answer, {}, false).error, "status 200: slow down");
}

TEST_F(answer_test, a_long_wait_is_told_as_it_came) {
  std::array<http::field, 3> const fields{
      {{"Retry-After", "7200"}, {"Content-Type", "text/plain"}, {"X-RateLimit-Reset", "1e9"}}};
  answer.status = 429;
  answer.fields = fields;
  EXPECT_EQ(long_wait(r, judge(r, answer), answer, 1h),
            "Retry-After: 7200 (taken for seconds), X-RateLimit-Reset: 1e9");
  EXPECT_EQ(long_wait(r, judge(r, answer), answer, 3h), "");
}

TEST_F(answer_test, a_value_that_makes_no_sense_is_told_as_it_came) {
  auto const said = [&](std::vector<http::field> const& fields) {
    answer = {.state = send_state::answered, .status = 429, .fields = fields};
    return read_answer(r, answer, {}, false).told.first_ignored;
  };
  EXPECT_EQ(said({{"Retry-After", "5"}}), "");
  EXPECT_EQ(said({{"retry-after", "soon"}, {"X-RateLimit-Reset", "later"}}), "retry-after: soon");
  EXPECT_EQ(said({{"Retry-After", std::string(200, 'x')}}),
            "Retry-After: " + std::string(100, 'x'));
  EXPECT_EQ(said({{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"},
                  {"Date", "Sun, 06 Nov 1994 09:49:37 GMT"}}),
            "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT (1 h 0 min before the answer's Date)");
  EXPECT_EQ(said({{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}}),
            "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(said({{"Retry-After", "0001-01-01T00:00:00Z"}}), "Retry-After: 0001-01-01T00:00:00Z");
  std::chrono::year_month_day const day{std::chrono::floor<std::chrono::days>(wall_now() - 24h)};
  auto const midnight = fmt::format("{}-{:02}-{:02}T00:00Z", int(day.year()), unsigned(day.month()),
                                    unsigned(day.day()));
  auto const undated = said({{"Retry-After", midnight}});
  EXPECT_NE(undated.find("00Z ("), undated.npos) << undated;
  EXPECT_NE(undated.find(" ago by this host's clock)"), undated.npos) << undated;
  std::vector<std::string> const headers{"Authorization: Bearer k-0123456789"};
  r.headers = headers;
  EXPECT_EQ(said({{"Retry-After", "Bearer k-0123456789?"}}), "Retry-After: …?");
  EXPECT_EQ(said({{"Retry-After", std::string(95, 'x') + "k-0123456789"}}),
            "Retry-After: " + std::string(95, 'x') + "…");
}

TEST_F(answer_test, the_unit_of_a_long_reset_is_told) {
  auto const said = [&](char const* reset, char const* remaining) {
    std::array<http::field, 2> const fields{
        {{"X-RateLimit-Remaining", remaining}, {"X-RateLimit-Reset", reset}}};
    answer = {.state = send_state::answered, .status = 200, .fields = fields};
    return long_wait(r, judge(r, answer), answer, 1h);
  };
  EXPECT_EQ(said("19072", "0"),
            "X-RateLimit-Remaining: 0, X-RateLimit-Reset: 19072 (taken for seconds)");
  EXPECT_EQ(said("19072", "1"), "") << "there is one";
  EXPECT_EQ(said("5h", "0"), "X-RateLimit-Remaining: 0, X-RateLimit-Reset: 5h");
}

TEST_F(answer_test, an_error_names_the_status_unless_there_is_a_better_word) {
  answer.status = 404;
  EXPECT_EQ(read_answer(r, answer, {}, false).error, "status 404");
  r.said = "no_such_thing";
  EXPECT_EQ(error_of(r, answer), "status 404: no_such_thing");
  answer.error = "the connection broke";
  EXPECT_EQ(error_of(r, answer), "the connection broke");
  answer = {.state = send_state::answered, .status = 200};
  EXPECT_EQ(read_answer(r, answer, {}, false).error, "");
}

}  // namespace
}  // namespace headway::app
