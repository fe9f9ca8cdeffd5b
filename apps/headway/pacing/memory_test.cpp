#include "pacing/memory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {

namespace fs = std::filesystem;

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

TEST_F(memories, one_without_a_file_lasts_as_long_as_it_does) {
  memory m;
  m.learn("http://a", {.rate = 49.5});
  EXPECT_EQ(m.recall("http://a"), std::nullopt) << "nothing is kept yet";
  m.keep();
  EXPECT_EQ(m.recall("http://a").value().what, (learned{.rate = 49.5}));
  EXPECT_EQ(memory().recall("http://a"), std::nullopt);
  for (int i = 0; i < 2'000; ++i) m.learn(std::to_string(i), {.rate = 1});
  m.keep();
  EXPECT_EQ(m.all().size(), 1'000);
}

TEST_F(memories, what_is_no_file_is_not_waited_for) {
  fs::create_directories(fs::path(path).parent_path());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(memory{path}, fatal);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_THROW(memory{path}, fatal);
  fs::remove(path);
  fs::create_symlink("/dev/zero", path);
  EXPECT_THROW(memory{path}, fatal);
}

TEST_F(memories, a_link_stays_one) {
  fs::create_directories(folder + "/elsewhere");
  fs::create_directories(fs::path(path).parent_path());
  fs::create_symlink("../../elsewhere/mine", path);
  for (double rate : {1.0, 2.0}) {  // made, then replaced
    learn("a", {.rate = rate});
    EXPECT_TRUE(fs::is_symlink(path));
    EXPECT_EQ(memory(folder + "/elsewhere/mine").recall("a").value().what.rate, rate);
  }
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

TEST_F(memories, what_is_forgotten_while_a_run_lives_is_not_written_back) {
  learn("http://a", {.rate = 1});
  memory run(path);
  memory other(path);
  EXPECT_EQ(memory(path).forget("*://a*"), std::vector<std::string>{"http://a"});
  run.learn("http://a", {.rate = 2});
  run.learn_quotas("http://a", {{.name = "x", .limit = 1}});
  run.learn("http://b", {.rate = 3});
  run.keep();
  EXPECT_FALSE(memory(path).recall("http://a"));
  EXPECT_TRUE(memory(path).recall("http://b"));
  other.learn("http://a", {.rate = 2});
  other.keep();
  EXPECT_FALSE(memory(path).recall("http://a"));
}

TEST_F(memories, what_a_run_learns_after_a_forget_is_kept) {
  memory(path).forget("*");
  std::this_thread::sleep_for(2ms);  // the file tells milliseconds
  learn("http://a", {.rate = 4});
  EXPECT_TRUE(memory(path).recall("http://a"));
}

TEST_F(memories, what_others_may_have_brought_is_doubted_once_it_was_forgotten) {
  auto const doubtful = [&](std::string const& scope) {
    memory run(path);
    run.learn(scope, {.rate = 4});
    run.doubt(scope);
    run.keep();
    return memory(path).recall(scope).has_value();
  };
  EXPECT_TRUE(doubtful("http://a"));
  memory(path).forget("http://a");
  std::this_thread::sleep_for(2ms);
  EXPECT_FALSE(doubtful("http://a"));
  EXPECT_TRUE(doubtful("http://ab"));
}

TEST_F(memories, a_pattern_is_of_the_name_or_the_short_one) {
  EXPECT_TRUE(matches("api.example", "https://api.example:443"));
  EXPECT_TRUE(matches("https://api.example:443", "https://api.example:443"));
  EXPECT_TRUE(matches("*", "https://api.example:443 gpt"));
  EXPECT_TRUE(matches("api.example gpt-[45]*", "https://api.example:443 gpt-4o"));
  EXPECT_FALSE(matches("api.example", "https://api.example:443 gpt"));
  EXPECT_FALSE(matches("", "https://api.example:443"));
}

TEST_F(memories, what_is_set_by_hand_takes_the_place_of_what_a_living_run_knows) {
  memory run(path);
  std::string const scope = "http://a [1]*";
  memory(path).set(scope, {.rate = 40});
  run.learn(scope, {.rate = 2});
  run.keep();
  EXPECT_EQ(memory(path).recall(scope).value().what, (learned{.rate = 40}));
  EXPECT_TRUE(memory(path).all().at(scope).by_hand);
  std::this_thread::sleep_for(2ms);
  learn(scope, {.rate = 45});
  EXPECT_EQ(memory(path).recall(scope).value().what, (learned{.rate = 45}));
  EXPECT_FALSE(memory(path).all().at(scope).by_hand);
}

TEST_F(memories, the_last_cut_is_kept) {
  memory m(path);
  m.learn("a", {.rate = 1});
  m.learn_cut("a", {wall_time(std::chrono::milliseconds(1780000000123)), "status 429: \"slow\""});
  m.keep();
  learn("a", {.rate = 2});
  memory const again(path);
  auto const& last = again.all().at("a").last_cut.value();
  EXPECT_EQ(last.at.time_since_epoch().count(), 1780000000123);
  EXPECT_EQ(last.by, "status 429: \"slow\"");
}

TEST_F(memories, a_file_stays_small_enough_to_be_read) {
  memory m(path);
  for (int i = 0; i < 1000; ++i) m.learn(std::string(2000, 'x') + std::to_string(i), {.rate = 1});
  m.keep();
  EXPECT_LE(text_of(path).size(), 1U << 20);
  EXPECT_GT(memory(path).all().size(), 100U);
}

TEST_F(memories, forgotten_patterns_are_bounded) {
  for (int i = 0; i < 120; ++i) memory(path).forget("http://" + std::to_string(i));
  EXPECT_LT(text_of(path).size(), 10'000U);
}

TEST_F(memories, a_place_that_cannot_be_written_is_said) {
  memory m("/proc/headway/limits.json");
  m.learn("a", {.rate = 1});
  EXPECT_THROW(m.keep(), fatal);
}

}  // namespace
}  // namespace headway::app
