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
  for (auto const* text : {"", "{", "[]", "{} x", "1"})
    EXPECT_THROW(parse_object(parser, text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace headway::app
