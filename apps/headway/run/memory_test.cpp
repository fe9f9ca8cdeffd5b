#include "run/memory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.hpp"

namespace headway::app {
namespace {

std::string text_of(std::string const& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

struct memories : testing::Test {
  memories() {
    std::string pattern = testing::TempDir() + "headway-memory-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    path = folder + "/state/headway/limits.json";
  }
  ~memories() override { std::filesystem::remove_all(folder); }

  std::string folder;
  std::string path;

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
  for (std::string const& text :
       {std::string("my diary"), std::string("{}"), std::string("[1]"), std::string(""),
        std::string(R"({"headway_limits": 2, "scopes": {}})"),
        std::string(R"({"headway_limits": 1, "scopes": {"a": {"rate": "x"}}})"),
        std::string(
            R"({"headway_limits": 1, "scopes": {"a": {"rate":1,"slots":0,"latency":0,"at":-1}}})"),
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
