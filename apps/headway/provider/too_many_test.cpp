#include "provider/too_many.hpp"

#include <gtest/gtest.h>

#include <string>

namespace headway::app {
namespace {

TEST(too_many, is_said_in_many_ways) {
  for (auto const* const text :
       {"rate limit", R"({"error":{"code":"rate_limit_exceeded"}})", R"({"error":"ratelimited"})",
        "API rate limit exceeded for user", "Too many requests", R"({"code":"TooManyRequests"})",
        R"({"Code":"Throttling.User"})", "Request was throttled.", R"({"error":{"code":429}})",
        R"({"status": "429"})", "(#4) Application request limit reached",
        R"({"status":"OVER_QUERY_LIMIT"})", "rate limit exceeded for your plan"}) {
    EXPECT_TRUE(says_too_many(text)) << text;
    EXPECT_TRUE(says_too_many_now(text)) << text;
  }
  for (auto const* const text : {"", "not found", R"({"id":142945})", "field limit is missing",
                                 "too many fields", "requests are limited to JSON"})
    EXPECT_FALSE(says_too_many(text)) << text;
  EXPECT_TRUE(says_too_many("rate limit" + std::string(4086, ' ')));
  EXPECT_FALSE(says_too_many("rate limit" + std::string(4087, ' ')));
}

TEST(too_many, of_a_day_or_of_money_is_not_of_a_short_time) {
  for (auto const* const text :
       {R"({"error":{"code":"insufficient_quota","message":"Too many requests, check billing"}})",
        "Quota exceeded", "daily rate limit exceeded", "rate limit of 100 requests per day",
        "Rate limit exceeded: payment required", "request limit reached, no credits left",
        "monthly request limit"})
    EXPECT_FALSE(says_too_many_now(text)) << text;
  EXPECT_TRUE(says_too_many("Quota exceeded"));
}

TEST(too_many, may_be_meant_by_a_status_that_says_nothing_of_the_request) {
  for (int const status : {400, 402, 403, 409, 418, 420, 423, 430, 499})
    EXPECT_TRUE(may_pass(status)) << status;
  for (int const status : {200, 302, 399, 401, 404, 405, 407, 408, 410, 415, 422, 429, 451, 500})
    EXPECT_FALSE(may_pass(status)) << status;
}

}  // namespace
}  // namespace headway::app
