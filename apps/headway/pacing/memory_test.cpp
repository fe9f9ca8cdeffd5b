#include "pacing/memory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

std::string text_of(std::string const& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

struct memories : folder_test {
  std::string path = folder + "/state/headway/limits.json";

  void learn(std::string const& scope, learned const& what) const {
    memory m(path);
    m.learn(scope, what);
    m.keep();
  }
};

TEST_F(memories, what_was_kept_is_recalled) {
  EXPECT_EQ(memory(path).recall("http://a"), std::nullopt);
  learn("http://a", {.rate = 49.5, .latency = 0.05});
  learn("http://b \"x\"\n", {.rate = 99.5, .slots = 60, .latency = 0.6});
  memory const m(path);
  EXPECT_EQ(m.recall("http://a").value().what, (learned{.rate = 49.5, .latency = 0.05}));
  EXPECT_EQ(m.recall("http://b \"x\"\n").value().what,
            (learned{.rate = 99.5, .slots = 60, .latency = 0.6}));
  EXPECT_LT(m.recall("http://a").value().age, 1min);
  EXPECT_EQ(m.recall("http://c"), std::nullopt);
}

TEST_F(memories, two_runs_at_once_keep_both) {
  memory one(path);
  memory other(path);
  one.learn("a", {.rate = 1});
  other.learn("b", {.rate = 2});
  one.keep();
  other.keep();
  EXPECT_TRUE(memory(path).recall("a"));
  EXPECT_TRUE(memory(path).recall("b"));
}

TEST_F(memories, only_its_owner_reads_it) {
  learn("a", {.rate = 1});
  struct stat s {};
  ASSERT_EQ(stat(path.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600U);
}

TEST_F(memories, another_file_is_refused_and_left_alone) {
  std::string const huge =
      R"({"headway_limits": 1, "scopes": {)" + std::string(2 << 20, ' ') + "}}";
  for (
      std::string const& text :
      {std::string("my diary"), std::string("{}"), std::string("[1]"), std::string(""),
       std::string(R"({"headway_limits": 2, "scopes": {}})"),
       std::string(R"({"headway_limits": 1, "scopes": {"a": {"rate": "x"}}})"),
       std::string(
           R"({"headway_limits": 1, "scopes": {"a": {"rate":1,"slots":0,"latency":0,"at":-1}}})"),
       std::string(
           R"({"headway_limits": 1, "scopes": {"a": {"rate":1,"slots":0,"latency":0,"at":1,"quotas":{"x":[1]},"quotas_at":1}}})"),
       std::string(
           R"({"headway_limits": 1, "scopes": {"a": {"rate":1,"slots":0,"latency":0,"at":1,"quotas":{"x":[1,1,1,1,1,-1]},"quotas_at":1}}})"),
       huge}) {
    auto const file = folder + "/other";
    std::ofstream(file) << text;
    try {
      memory const m(file);
      FAIL() << text.substr(0, 80);
    } catch (fatal const& e) {
      EXPECT_EQ(e.code, exit_usage);
      EXPECT_NE(std::string(e.what()).find("is not a file of learned limits"), std::string::npos);
    }
    EXPECT_EQ(text_of(file), text);
  }
}

TEST_F(memories, quotas_are_kept_beside_the_law_s) {
  std::vector<known_quota> const quotas{{.name = "tokens",
                                         .limit = 90000,
                                         .per_second = 1500,
                                         .whole = {0.25, 12},
                                         .sized = {0.2, 3}},
                                        {.name = "a \"b\"", .whole = {0, 7}}};
  learn("a", {.rate = 5});
  memory m(path);
  m.learn_quotas("a", quotas);
  m.learn_quotas("b", quotas);
  m.keep();
  memory const again(path);
  EXPECT_EQ(again.recall_quotas("a").what, quotas);
  EXPECT_LT(again.recall_quotas("a").age, 1min);
  EXPECT_EQ(again.recall("a").value().what, (learned{.rate = 5}));
  EXPECT_EQ(again.recall("b"), std::nullopt);
  EXPECT_TRUE(again.recall_quotas("c").what.empty());
  learn("a", {.rate = 6});
  EXPECT_EQ(memory(path).recall_quotas("a").what, quotas);
}

TEST_F(memories, quotas_of_more_than_a_day_ago_are_not_recalled) {
  std::filesystem::create_directories(folder + "/state/headway");
  std::ofstream(path)
      << R"({"headway_limits": 1, "scopes": {"a": {"rate": 5, "slots": 0, "latency": 0, )"
      << R"("at": 1780000000, "quotas": {"x": [9, 1, 0, 0, 0, 0]}, "quotas_at": 1780000000}}})";
  EXPECT_TRUE(memory(path).recall("a"));
  EXPECT_TRUE(memory(path).recall_quotas("a").what.empty());
}

TEST_F(memories, the_oldest_of_a_thousand_is_forgotten) {
  memory m(path);
  for (int i = 0; i < 1010; ++i) m.learn("scope " + std::to_string(i), {.rate = 1});
  m.keep();
  EXPECT_LT(text_of(path).size(), 200'000U);
  int there = 0;
  memory const again(path);
  for (int i = 0; i < 1010; ++i) there += again.recall("scope " + std::to_string(i)).has_value();
  EXPECT_EQ(there, 1000);
}

TEST_F(memories, a_place_that_cannot_be_written_is_said) {
  memory m("/proc/headway/limits.json");
  m.learn("a", {.rate = 1});
  EXPECT_THROW(m.keep(), fatal);
}

}  // namespace
}  // namespace headway::app
