#include "run/shared_options.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_error.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

run_options rich() {
  run_options o;
  o.base_url = "http://a/v1";
  o.url = "/x?{{n}}";
  o.body = R"({"q": "{{q}}", "é": 1})";
  o.method = "PUT";
  o.id = "{{n}}";
  o.meta = {"n", "q\"q"};
  o.select = {{"a", "/choices/0"}, {"b", "/b"}};
  o.out_headers = true;
  o.retry_unsafe = true;
  o.ok_text = "200-299,404";
  o.prices = {parse_price("input=0.15/M,output=0.60/M"), parse_price("eur:pages=0.5")};
  o.speaks = profile::named("openai");
  return o;
}

TEST(shared_options, another_host_makes_the_same_of_lines) {
  run_options there;
  auto const [lines, preface] = adopt(there, shared_text(rich(), "n,q\n"));
  auto const given = rich();
  EXPECT_EQ(lines.base_url, given.base_url);
  EXPECT_EQ(lines.url, given.url);
  EXPECT_EQ(lines.body, given.body);
  EXPECT_EQ(lines.method, given.method);
  EXPECT_EQ(lines.id, given.id);
  EXPECT_EQ(lines.meta, given.meta);
  EXPECT_EQ(preface, "n,q\n");
  EXPECT_EQ(there.select, given.select);
  EXPECT_TRUE(there.out_headers);
  EXPECT_TRUE(there.retry_unsafe);
  EXPECT_TRUE(there.ok.contains(404));
  EXPECT_FALSE(there.ok.contains(500));
  ASSERT_EQ(there.prices.size(), 2U);
  for (auto const i : {0U, 1U}) {
    EXPECT_EQ(there.prices[i].name, given.prices[i].name);
    EXPECT_EQ(there.prices[i].parts, given.prices[i].parts);
  }
  ASSERT_TRUE(there.speaks);
  EXPECT_EQ(there.speaks->name(), "openai");
}

TEST(shared_options, tell_no_header) {
  auto o = rich();
  o.headers = {"Authorization: Bearer canary"};
  o.header_commands = {"X-Key: $(canary)"};
  EXPECT_EQ(shared_text(o, "").find("canary"), std::string::npos);
}

// What a database says must not make this host read its files.
TEST(shared_options, read_no_file_here) {
  run_options there;
  auto o = rich();
  o.speaks.reset();
  auto text = shared_text(o, "");
  auto const at = text.find(R"("profile":"")");
  ASSERT_NE(at, text.npos);
  text.replace(at, 12, R"("profile":"/etc/hostname")");
  EXPECT_NE(usage_error_of([&] { adopt(there, text); }).find("/etc/hostname"), std::string::npos);
  o.body = "{{line}}";
  auto const [lines, preface] = adopt(there, shared_text(o, ""));
  EXPECT_EQ(lines.folder, "/dev/null");
}

TEST(shared_options, another_version_is_refused) {
  run_options there;
  for (auto const* text : {"", "{}", R"({"version":2})", R"({"version":1,"base_url":7})"})
    EXPECT_NE(usage_error_of([&] { adopt(there, text); }), "") << text;
}

struct shared_files : folder_test {};

TEST_F(shared_files, a_body_is_told_as_it_is) {
  std::ofstream(folder + "/body") << "@/etc/hostname";
  run_options o, there;
  o.url = "http://a/";
  o.body = "@" + folder + "/body";
  EXPECT_EQ(adopt(there, shared_text(o, "")).options.body, "@/etc/hostname");
  std::ofstream(folder + "/body") << "\xff";
  EXPECT_NE(usage_error_of([&] { shared_text(o, ""); }), "");
}

}  // namespace
}  // namespace headway::app
