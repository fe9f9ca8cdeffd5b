#include "journal/result.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace headway::app {
namespace {

/// What follows the latency, without the brace that ends it.
std::string rest_of(result const& r) {
  result_writer writer;
  std::string const line(writer.line_of(r));
  auto const at = line.find(R"("latency_ms":0)") + 14;
  return line.substr(at, line.size() - at - 1);
}

std::string parts(std::vector<selection> const& select, std::string_view body) {
  return rest_of({.body = body, .type = "application/json", .select = select});
}
std::string part(std::string_view pointer, std::string_view body) {
  return parts({{.name = "", .pointer = std::string(pointer)}}, body);
}

TEST(result, keeps_the_body_as_what_it_is) {
  EXPECT_EQ(rest_of({.body = R"({"a" : 1.0})", .type = "application/json"}),
            R"(,"body":{"a":1.0})");
  EXPECT_EQ(rest_of({.body = R"({"a")", .type = "application/json"}), R"(,"body":"{\"a\"")");
  EXPECT_EQ(rest_of({.body = "a\n", .type = "text/plain"}), R"(,"body":"a\n")");
  EXPECT_EQ(rest_of({.body = "\xff"}), R"(,"body_base64":"/w==")");
  EXPECT_EQ(rest_of({}), "");
}

TEST(result, is_nested_no_deeper_than_others_read) {
  auto const nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  auto const fits = nested(99), deep = nested(100);
  EXPECT_EQ(rest_of({.body = fits, .type = "application/json"}), R"(,"body":)" + fits);
  EXPECT_EQ(rest_of({.body = deep, .type = "application/json"}), R"(,"body":")" + deep + '"');
  auto const within = R"({"a":)" + deep + R"(,"b":[1]})";
  EXPECT_EQ(part("/a", within), R"(,"body":")" + deep + '"');
  EXPECT_EQ(part("/a/0", within), R"(,"body":)" + fits);
  EXPECT_EQ(part("/b", within), R"(,"body":[1])");
  EXPECT_EQ(part("", deep), R"(,"body":")" + deep + '"');
}

TEST(result, keeps_a_part_as_it_was_written) {
  auto const* const body =
      R"( {"a": {"b": [10, {"c": 1.50e0}, "x\u00e9\n"]}, "d/e": null, "~": true, "\u0066": [ 1 ]} )";
  EXPECT_EQ(part("/a/b/0", body), R"(,"body":10)");
  EXPECT_EQ(part("/a/b/1/c", body), R"(,"body":1.50e0)");
  EXPECT_EQ(part("/a/b/1", body), R"(,"body":{"c":1.50e0})");
  EXPECT_EQ(part("/a/b/2", body), R"(,"body":"x\u00e9\n")");
  EXPECT_EQ(part("/d~1e", body), R"(,"body":null)");
  EXPECT_EQ(part("/~0", body), R"(,"body":true)");
  EXPECT_EQ(part("/f", body), R"(,"body":[1])");
  EXPECT_EQ(part("", R"( [1, 2.0] )"), R"(,"body":[1,2.0])");
  EXPECT_EQ(part("", "7"), R"(,"body":7)");
}

TEST(result, a_part_that_is_not_there_is_null) {
  for (auto const* body : {"7", R"({"b": 1})", R"(["a"])", R"({"b":1e400})"})
    EXPECT_EQ(part("/a", body), R"(,"body":null)") << body;
  EXPECT_EQ(part("/2", "[1, 2]"), R"(,"body":null)");
}

TEST(result, says_that_nothing_can_be_selected_of_an_empty_body) {
  std::string const why = R"(,"reason":"the body is empty; nothing is selected of it")";
  EXPECT_EQ(part("/a", ""), why + R"(,"body":null)");
  EXPECT_EQ(parts({{"p", "/a"}, {"q", "/b"}}, ""), why + R"(,"body":{"p":null,"q":null})");
}

TEST(result, says_of_a_body_that_it_is_too_deep) {
  auto const told = [](std::size_t depth) {
    return part("/a", std::string(depth, '[') + std::string(depth, ']')).substr(0, 46);
  };
  EXPECT_EQ(told(1024), R"(,"body":null)");
  EXPECT_EQ(told(1025),
            std::string(R"(,"reason":"the body is nested deeper than 1024;)").substr(0, 46));
  EXPECT_EQ(told(1025), told(3000));
}

TEST(result, a_body_that_nothing_can_be_selected_of_is_kept_whole) {
  std::string const why =
      R"(,"reason":"the body is no JSON that can be read; nothing is selected of it, and the results have it whole")";
  EXPECT_EQ(part("/a", "<html>"), why + R"(,"body":"<html>")");
  EXPECT_EQ(part("", "text"), why + R"(,"body":"text")");
  EXPECT_EQ(part("/a", R"({"a": 1} x)"), why + R"(,"body":"{\"a\": 1} x")");
  EXPECT_EQ(part("/a", "{\"a\": 1,}"), why + R"(,"body":"{\"a\": 1,}")");
  EXPECT_EQ(part("/a", "{\"a\": \"\xff\"}"), why + R"(,"body_base64":"eyJhIjogIv8ifQ==")");
  EXPECT_EQ(parts({{"p", "/a"}, {"q", "/b"}}, "text"), why + R"(,"body":"text")");
}

TEST(result, a_part_is_found_beside_what_parsers_refuse) {
  EXPECT_EQ(part("/a", R"({"n":123456789012345678901234,"a":[1.50]})"), R"(,"body":[1.50])");
  EXPECT_EQ(part("/a", R"({"n":"\ud800","a":1.50})"), R"(,"body":1.50)");
  EXPECT_EQ(part("/a", "\xef\xbb\xbf{\"n\":1e400,\"a\":1.50}"), R"(,"body":1.50)");
  EXPECT_EQ(part("", "\xef\xbb\xbf[1.0]"), R"(,"body":[1.0])");
  EXPECT_EQ(parts({{"p", "/a/b"}, {"q", "/c"}}, R"({"n":18446744073709551616,"a":{"b":1}})"),
            R"(,"body":{"p":1,"q":null})");
  EXPECT_EQ(part("/n/0", R"({"n":[123456789012345678901234]})"),
            R"(,"body":"123456789012345678901234")");
  // No digit is lost behind a key with escapes either.
  EXPECT_EQ(part("/a~1/1/b", R"({"n":1e400,"\u0061/":[0,{"b":[1.50]}]})"), R"(,"body":[1.50])");
}

TEST(result, says_of_how_many_bodies_nothing_could_be_selected) {
  result_writer writer;
  std::vector<selection> const all = {{.name = "", .pointer = "/a"}};
  writer.line_of({.line = 3, .body = "{}", .select = all});
  EXPECT_EQ(writer.unread(), "");
  writer.line_of({.line = 7, .body = "{\"a\":1,}", .select = all});
  EXPECT_TRUE(writer.unread().starts_with(
      "--select: 1 body is no JSON that can be read, and is kept whole (line 7: "))
      << writer.unread();
  writer.line_of({.line = 8, .body = "<html>", .select = all});
  EXPECT_TRUE(writer.unread().starts_with(
      "--select: 2 bodies are no JSON that can be read, and are kept whole (line 7: "))
      << writer.unread();
  writer.line_of({.line = 9, .body = "", .select = all});
  EXPECT_TRUE(writer.unread().ends_with("\n--select: 1 body is empty (line 9)\n"))
      << writer.unread();
}

TEST(result, a_body_that_is_in_a_file_is_named) {
  EXPECT_EQ(rest_of({.body = "a", .meta = "7", .body_file = "out/\"1\".txt"}),
            R"(,"body_file":"out/\"1\".txt","meta":7)");
}

TEST(result, has_several_parts_by_their_names) {
  auto const* const body = R"({"a": {"b": 1.0}, "c": "x"})";
  EXPECT_EQ(parts({{"p", "/a/b"}, {"say \"q\"", "/c"}, {"none", "/d"}}, body),
            R"(,"body":{"p":1.0,"say \"q\"":"x","none":null})");
  EXPECT_EQ(parts({{"p", ""}}, "[ 1 ]"), R"(,"body":{"p":[1]})");
}

TEST(result, tells_the_url) {
  result_writer writer;
  auto const line = std::string(writer.line_of({.id = "a", .line = 7, .url = "http://a/\""}));
  EXPECT_TRUE(line.starts_with(R"({"id":"a","line":7,"url":"http://a/\"","outcome")")) << line;
}

TEST(result, pointers_are_those_of_rfc_6901) {
  for (auto const* good : {"", "/", "/a/0/b~0~1", "//", "/ü", "/a=b", "/a=/b"})
    EXPECT_EQ(parse_selection(good), (selection{"", good}));
  EXPECT_EQ(parse_selection("a=/b"), (selection{"a", "/b"}));
  EXPECT_EQ(parse_selection("a b=/b=/c"), (selection{"a b", "/b=/c"}));
  EXPECT_EQ(parse_selection("a="), (selection{"a", ""}));
  for (auto const* bad :
       {"a", "#/a", "/~", "/a~2b", "/~/", "/\xff", "a=b", "=/a", "a/b=/c", "a=/~"})
    EXPECT_THROW(parse_selection(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace headway::app
