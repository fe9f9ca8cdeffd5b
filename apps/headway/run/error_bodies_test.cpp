#include "run/error_bodies.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(error_bodies, are_those_that_have_nothing_but_an_error) {
  for (auto const* const error :
       {R"({"error":{"code":"bad"}})", " \r\n{ \"error\" : { \"message\": \"no\" } }\n",
        R"({"jsonrpc":"2.0","id":7,"error":{"code":-32600}})", R"({"data":null,"error":{"a":1}})",
        R"({"error":"no"})", R"({"ok":false})", R"({"ok":false,"error":"bad_auth"})",
        R"({"data":null,"errors":[{"message":"no"}]})", R"({"code":500,"message":"no"})"})
    EXPECT_TRUE(error_in(error)) << error;
  for (auto const* const other :
       {"", "{", R"([{"error":{"a":1}}])", R"({"error":null})", R"({"error":{}})",
        R"({"error":"","value":1})", R"({"error":false,"value":1})", R"({"ok":true})",
        R"({"data":{"a":1},"error":{"a":1}})", R"({"data":{"a":1},"errors":[{"message":"no"}]})",
        R"({"value":{"error":{"a":1}}})", R"({"error":{"a":1}} x)", R"({"a":"\"error\""})",
        R"({"errors":[]})", R"({"code":200})", R"({"code":"EUR","rate":1.1})"})
    EXPECT_FALSE(error_in(other)) << other;
  EXPECT_FALSE(error_in(R"({"error":{"a":")" + std::string(4096, 'a') + R"("}})"));
}

TEST(error_bodies, that_say_that_there_were_too_many_are_throttles) {
  struct {
    char const* body;
    error_body is;
  } const cases[] = {
      {R"({"ok":false,"error":"ratelimited"})", {"/ok", "false", true}},
      {R"({"data":null,"errors":[{"extensions":{"code":"THROTTLED"}}]})", {"/errors", "{", true}},
      {R"({"error":"Rate limit exceeded"})", {"/error", "Rate limit exceeded", true}},
      {R"({"error":{"code":429,"message":"slow down"}})", {"/error", "{", true}},
      {R"({"code":429})", {"/code", "429", true}},
      {R"({"error":"not found"})", {"/error", "not found", false}},
  };
  for (auto const& [body, is] : cases) EXPECT_EQ(error_in(body), is) << body;
}

TEST(error_bodies, are_said_once_with_the_first_line) {
  error_bodies e;
  e.succeeded(1, 200, "{}");
  EXPECT_EQ(e.words(), "");
  constexpr auto error = R"({"error":{"a":1}})";
  e.succeeded(7, 404, error);  // by --ok
  EXPECT_EQ(e.words(), "");
  e.succeeded(9, 200, error);
  e.succeeded(8, 202, R"({"ok":false,"error":"ratelimited"})");
  EXPECT_TRUE(e.words().starts_with("2 succeeded, but have an error as their body, as line 9; "));
  EXPECT_TRUE(e.words().ends_with("  means = \"permanent\"\n"));
  error_bodies throttled;
  throttled.succeeded(3, 200, R"({"error":"rate \"limit\""})");
  EXPECT_TRUE(throttled.words().ends_with(
      "  pointer = \"/error\"\n  contains = [\"rate \\\"limit\\\"\"]\n  means = \"rate\"\n"));
}

}  // namespace
}  // namespace headway::app
