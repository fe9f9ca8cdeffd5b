#include "jobs/record.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <stdexcept>

namespace headway::app {
namespace {

/// Reads lines one after the other.
struct reading {
  simdjson::dom::parser parser;
  record_reader reader;

  explicit reading(std::vector<std::string> fields) : reader(std::move(fields)) {}

  /// "id: value value"; JSON in parentheses; "-" for none; or the error.
  std::string operator()(std::string_view line) {
    auto const shown = [](field_value const& v) { return v.is_json ? "(" + v.text + ")" : v.text; };
    try {
      auto const r = reader.read(line, parser);
      if (!r) return "-";
      auto text = r->id ? shown(*r->id) + ":" : "";
      for (auto const& v : r->values) text += " " + shown(v);
      return text;
    } catch (std::invalid_argument const& e) {
      return e.what();
    }
  }
};

TEST(record, csv) {
  reading read({"b", "First Name"});
  EXPECT_EQ(read(" "), "-");
  EXPECT_EQ(read("id,\"First Name\",unused,b"), "-");
  EXPECT_EQ(read("7, x ,,\"y,\"\"z\"\"\""), "7: y,\"z\"  x ");
  EXPECT_EQ(read(""), "-");
  EXPECT_EQ(read("#8,a,b,{"), "#8: { a");
  EXPECT_EQ(read("9,\"a"), "-");
  EXPECT_TRUE(read.reader.open());
  EXPECT_EQ(read(""), "-");
  EXPECT_EQ(read("b\",,c"), "9: c a\n\nb");
  EXPECT_FALSE(read.reader.open());
  EXPECT_EQ(read("1,2,3"), "the record has 3 fields; want 4 as in the header");
}

TEST(record, csv_header) {
  EXPECT_EQ(reading({"b"})("a,c"),
            "there is no column \"b\", which the template asks for; known: \"a\", \"c\"");
  EXPECT_EQ(reading({"a"})("a,b,a"), "column \"a\" is given twice");
  EXPECT_EQ(reading({"a"})("a,,"), "-");
}

TEST(record, json_lines) {
  reading read({"b", "a"});
  EXPECT_EQ(read(""), "-");
  EXPECT_EQ(read(R"( {"a":"x\n","b": 1.10,"c":0})"), " (1.10) x\n");
  EXPECT_EQ(read("# note"), "-");
  EXPECT_EQ(read(R"({"id":"i","b":{ "k" : [ ] },"a":null})"), "i: ({\"k\":[]}) (null)");
  EXPECT_EQ(read(R"({"id":7,"a":true,"b":"\u007b{a}}"})"), "(7): {{a}} (true)");
  EXPECT_EQ(read(R"({"a":1,"c":2})"),
            "there is no key \"b\", which the template asks for; known: \"a\", \"c\"");
  EXPECT_EQ(read("{}"), "there is no key \"b\", which the template asks for; known: none");
  EXPECT_EQ(read(R"({"a":1,"a":2,"b":3})"), "key \"a\" is given twice");
  EXPECT_TRUE(read("a,b").starts_with("not valid JSON"));
}

TEST(record, plain_lines_have_one_field) {
  simdjson::dom::parser parser;
  record_reader reader({"line"}, true);
  auto const r = reader.read("a b", parser);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->values.front().text, "a b");
  ASSERT_EQ(r->all.size(), 1U);
  EXPECT_EQ(r->all.front().name, "line");
  EXPECT_EQ(r->all.front().value.text, "a b");
  EXPECT_FALSE(reader.has_header());
}

TEST(record, id_as_field) {
  reading read({"id"});
  EXPECT_EQ(read("id"), "-");
  EXPECT_EQ(read("x"), "x: x");
}

}  // namespace
}  // namespace headway::app
