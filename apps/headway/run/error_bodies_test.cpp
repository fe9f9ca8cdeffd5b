#include "run/error_bodies.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(error_bodies, are_those_that_have_nothing_but_an_error) {
  for (auto const* const error :
       {R"({"error":{"code":"bad"}})", " \r\n{ \"error\" : { \"message\": \"no\" } }\n",
        R"({"jsonrpc":"2.0","id":7,"error":{"code":-32600}})", R"({"data":null,"error":{"a":1}})"})
    EXPECT_TRUE(is_error_body(error)) << error;
  for (auto const* const other :
       {"", "{", R"([{"error":{"a":1}}])", R"({"error":null})", R"({"error":{}})",
        R"({"error":false,"value":1})", R"({"data":{"a":1},"error":{"a":1}})",
        R"({"value":{"error":{"a":1}}})", R"({"error":{"a":1}} x)", R"({"a":"\"error\""})"})
    EXPECT_FALSE(is_error_body(other)) << other;
  EXPECT_FALSE(is_error_body(R"({"error":{"a":")" + std::string(4096, 'a') + R"("}})"));
}

TEST(error_bodies, are_said_once_with_the_first_line) {
  error_bodies e;
  e.succeeded(1, 200, "{}");
  EXPECT_EQ(e.words(), "");
  constexpr auto error = R"({"error":{"a":1}})";
  e.succeeded(7, 404, error);  // by --ok
  EXPECT_EQ(e.words(), "");
  e.succeeded(9, 200, error);
  e.succeeded(8, 202, error);
  EXPECT_TRUE(e.words().starts_with("2 succeeded, but have an error as their body, as line 9; "));
}

}  // namespace
}  // namespace headway::app
