#include "base/json_text.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <stdexcept>

namespace headway::app {
namespace {

TEST(json_text, members) {
  EXPECT_TRUE(members_of(" { } ").empty());
  auto const members = members_of(R"({"a":1.10, "b \" }" : {"c":[1,{"d":"]}"}]} ,"e\\":"x\\" })");
  ASSERT_EQ(members.size(), 3);
  EXPECT_EQ(members[0].whole, R"("a":1.10)");
  EXPECT_EQ(members[0].value, "1.10");
  EXPECT_EQ(members[1].value, R"({"c":[1,{"d":"]}"}]})");
  EXPECT_EQ(members[2].whole, R"("e\\":"x\\")");
}

TEST(json_text, elements) {
  EXPECT_TRUE(elements_of(" [ ] ").empty());
  auto const elements = elements_of(R"([1.10, "]," ,{"a":[2]},[],null ])");
  EXPECT_EQ(elements,
            (std::vector<std::string_view>{"1.10", "\"],\"", R"({"a":[2]})", "[]", "null"}));
}

TEST(json_text, compact) {
  EXPECT_EQ(compact(" {\"a b\" : [ 1.10,\n{ } ] } "), R"({"a b":[1.10,{}]})");
}

TEST(json_text, parse_object) {
  simdjson::dom::parser parser;
  EXPECT_EQ(parse_object(parser, R"({"a":1,"b":2})").size(), 2);
  EXPECT_EQ(parse_object(parser, R"({"a":123456789012345678901234,"b":[1e400]})").size(), 2);
  for (auto const* text : {"", "{", "[]", "{} x", "1", R"({"a":"\ud800"})"})
    EXPECT_THROW(parse_object(parser, text), std::invalid_argument) << text;
}

TEST(json_text, mended_is_as_long_and_read) {
  struct {
    std::string_view json, mended;
  } const cases[] = {
      {R"({"a":123456789012345678901234})", R"({"a":1.234567890123e+23      })"},
      {"[-9223372036854775809,18446744073709551616]",
       "[-9.223372036855e+18 ,1.844674407371e+19  ]"},
      {"[1e400,-1.5e400]", "[1e308,-1e308  ]"},
      {R"(["\ud800","\udc00 \ud83d\ude00","\\ud800"])",
       R"(["\ufffd","\ufffd \ud83d\ude00","\\ud800"])"},
      {"\xef\xbb\xbf{}", "   {}"},
  };
  simdjson::dom::parser parser;
  for (auto const& [json, expected] : cases) {
    auto const text = mended(json, leniency::all);
    EXPECT_EQ(text, expected);
    EXPECT_EQ(text.size(), json.size());
    EXPECT_EQ(parser.parse(text.data(), text.size()).error(), simdjson::SUCCESS) << text;
  }
  EXPECT_EQ(mended(R"(["\ud800",1e400])", leniency::numbers), R"(["\ud800",1e308])");
}

TEST(json_text, what_is_sound_or_no_json_is_not_mended) {
  for (std::string_view const text :
       {R"({"12345678901234567890123":"12345678901234567890123"})", "[18446744073709551615,1e-400]",
        "[012345678901234567890123]", "[1-1234567890123456789012]", "", "-", "\"\\", "\"\\u12",
        "<html>", "[0.1234567890123456789012345]", "[-9223372036854775808,1E+2]"})
    EXPECT_EQ(mended(text, leniency::all), text);
}

TEST(json_text, parse_leniently) {
  simdjson::dom::parser parser;
  simdjson::dom::element read;
  EXPECT_EQ(parse_leniently(parser, R"({"a":1e400,"b":7})", leniency::all, read), "");
  EXPECT_EQ(read["b"].get_int64().value(), 7);
  EXPECT_NE(parse_leniently(parser, "<html>", leniency::all, read), "");
}

}  // namespace
}  // namespace headway::app
