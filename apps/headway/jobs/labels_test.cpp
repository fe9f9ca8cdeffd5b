#include "jobs/labels.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/test_error.hpp"

namespace headway::app {
namespace {

named_fields const fields = {{"key", {"a/b"}}, {"n", {"1.0", true}}, {"x y", {"caf\xe9 \"%\"\n"}}};

job labelled(line_options const& options, named_fields const& given = fields) {
  job j;
  j.line = 7;
  j.id = "seven";
  j.url = "http://a/?k";
  labels(options).put_on(j, given, "column");
  return j;
}
std::string meta(std::vector<std::string> names) {
  return labelled({.meta = std::move(names)}).meta;
}
std::string name(std::string text) {
  return labelled({.out_name = std::move(text)}).name;
}
std::string error(line_options const& options) {
  try {
    labelled(options);
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return "";
}

TEST(labels, carry_fields_as_json) {
  EXPECT_TRUE(labels(line_options{}).empty());
  EXPECT_EQ(meta({"key", "n"}), R"({"key":"a/b","n":1.0})");
  EXPECT_EQ(meta({"x y", "x y"}), "{\"x y\":\"caf\xc3\xa9 \\\"%\\\"\\n\"}");
  EXPECT_EQ(meta({"url", "line", "id"}), R"({"url":"http://a/?k","line":7,"id":"seven"})");
  EXPECT_EQ(meta({""}), "{\"key\":\"a/b\",\"n\":1.0,\"x y\":\"caf\xc3\xa9 \\\"%\\\"\\n\"}");
  EXPECT_EQ(meta({"", "n", "line"}).find("\"line\":7") != std::string::npos, true);
  EXPECT_EQ(labelled({.meta = {"line"}}, {{"line", {"mine"}}}).meta, R"({"line":"mine"})");
  EXPECT_EQ(labelled({.meta = {""}}, {{"url", {"u"}}, {"headers", {"{}", true}}}).meta,
            R"({"url":"u"})");
  EXPECT_EQ(error({.meta = {"none"}}),
            R"(there is no column "none", which --meta asks for; known: "key", "n", "x y")");
}

TEST(labels, name_files_in_one_folder) {
  EXPECT_EQ(name("{{n}}-{{line}}.json"), "1.0-7.json");
  EXPECT_EQ(name("{{key}}"), "a%2Fb");
  EXPECT_EQ(name("{{x y}}"), "caf\xc3\xa9 \"%25\"%0A");
  EXPECT_EQ(labelled({.out_name = "..{{key}}"}, {{"key", {"/"}}}).name, "..%2F");
  for (auto const* bad : {"", ".", "..", "a.new"})
    EXPECT_THROW(labelled({.out_name = "{{f}}"}, {{"f", {bad}}}), std::invalid_argument) << bad;
  EXPECT_THROW(labelled({.out_name = "{{f}}"}, {{"f", {std::string(252, 'x')}}}),
               std::invalid_argument);
  EXPECT_EQ(error({.out_name = "{{f}}"}),
            R"(there is no column "f", which --out-name asks for; known: "key", "n", "x y")");
  EXPECT_EQ(usage_error_of([] { labels all({.out_name = "a/{{f}}"}); }),
            "--out-name is a name in the folder of --out-dir; want no / in it");
  EXPECT_EQ(usage_error_of([] { labels all({.out_name = "{{f"}); }),
            R"(--out-name: "{{f" is not a {{field}})");
}

TEST(labels, make_ids) {
  auto const id = [](std::string text) {
    return labels({.id = std::move(text)}).id_of(fields, 7, "column");
  };
  EXPECT_EQ(id("key")->text, "a/b");
  EXPECT_FALSE(id("key")->is_json);
  EXPECT_TRUE(id("n")->is_json);
  EXPECT_EQ(id("{{n}}-{{key}}")->text, "1.0-a/b");
  EXPECT_EQ(id("{{line}}")->text, "7");
  EXPECT_EQ(id(""), std::nullopt);
  EXPECT_THROW(id("url"), std::invalid_argument);
}

}  // namespace
}  // namespace headway::app
