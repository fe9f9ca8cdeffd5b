#include "jobs/template.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

using fields = std::vector<std::string>;

std::string body_of(std::string_view text, std::vector<field_value> const& values) {
  return request_template("http://x/", text).body(values);
}

TEST(filled_template, typed_json) {
  struct {
    field_value value;
    char const* put_in;
  } const rows[] = {
      {{"a"}, R"("a")"},
      {{""}, R"("")"},
      {{"1"}, R"("1")"},
      {{"say \"hi\"\\\n\t\x01 \xc3\xa9"}, "\"say \\\"hi\\\"\\\\\\n\\t\\u0001 \xc3\xa9\""},
      {{"1.10", true}, "1.10"},
      {{"true", true}, "true"},
      {{"null", true}, "null"},
      {{R"({"a":["b"]})", true}, R"({"a":["b"]})"},
  };
  for (auto const& row : rows)
    EXPECT_EQ(body_of(R"({"x":{{f}}})", {row.value}), R"({"x":)" + std::string(row.put_in) + "}");
}

TEST(filled_template, within_string_literals) {
  EXPECT_EQ(body_of(R"({"x":"Say {{f}}: \" {{f}}","y":{{f}}})", {{"a\"b"}}),
            R"({"x":"Say a\"b: \" a\"b","y":"a\"b"})");
  EXPECT_EQ(body_of(R"(["\\",{{f}},"\\{{f}}"])", {{"a"}}), R"(["\\","a","\\a"])");
  EXPECT_EQ(body_of(R"(["{{f}}"])", {{"1.10", true}}), R"(["1.10"])");
  EXPECT_EQ(body_of(R"(["{{f}}"])", {{R"({"a":"b\n"})", true}}), R"(["{\"a\":\"b\\n\"}"])");
}

TEST(filled_template, values_are_not_templates) {
  EXPECT_EQ(body_of("[{{a}},{{b}}]", {{"{{b}}"}, {"\""}}), R"(["{{b}}","\""])");
}

TEST(filled_template, url) {
  request_template const t("http://x/{{ id }}?q={{q}}", std::nullopt);
  EXPECT_EQ(t.fields(), (fields{"id", "q"}));
  EXPECT_FALSE(t.has_body());
  EXPECT_EQ(t.url(std::vector<field_value>{{"azAZ09-._~"}, {"a b/&=?#%\xc3\xa9"}}),
            "http://x/azAZ09-._~?q=a%20b%2F%26%3D%3F%23%25%C3%A9");
  EXPECT_EQ(t.url(std::vector<field_value>{{"7", true}, {"[1]", true}}), "http://x/7?q=%5B1%5D");
}

TEST(filled_template, fields) {
  request_template const t("http://x/{{b}}", R"({"m":{{a}},"n":{{First Name}},"o":{{b}}})");
  EXPECT_EQ(t.fields(), (fields{"b", "a", "First Name"}));
  EXPECT_EQ(t.body(std::vector<field_value>{{"1"}, {"2"}, {"3"}}), R"({"m":"2","n":"3","o":"1"})");
}

TEST(filled_template, json_body) {
  EXPECT_TRUE(request_template("u", "\n {\"a\":1}").has_json_body());
  EXPECT_TRUE(request_template("u", "[]").has_json_body());
  EXPECT_FALSE(request_template("u", "a={{b}}").has_json_body());
  EXPECT_FALSE(request_template("u", "").has_json_body());
  EXPECT_TRUE(request_template("u", "").has_body());
}

TEST(filled_template, refused) {
  for (auto const* text :
       {"{{", "{{a", "{{a}", "{{}}", "{{ }}", "{{{a}}}", "{{a{{b}}", "{{a\n}}"}) {
    EXPECT_THROW(request_template("u", text), std::invalid_argument) << text;
    EXPECT_THROW(request_template(text, std::nullopt), std::invalid_argument) << text;
  }
}

TEST(filled_template, from_file) {
  auto const path = std::filesystem::path(testing::TempDir()) / "headway_template_test.json";
  std::ofstream(path) << "{\"a\":\n{{b}}}\n";
  EXPECT_EQ(expand_body("@" + path.string()), "{\"a\":\n{{b}}}\n");
  std::filesystem::remove(path);
  EXPECT_THROW(expand_body("@" + path.string()), fatal);
  EXPECT_THROW(expand_body("@/"), fatal);
  EXPECT_EQ(expand_body("{}"), "{}");
}

}  // namespace
}  // namespace headway::app
