#include "status/losses.hpp"

#include <gtest/gtest.h>

#include <string>

namespace headway::app {
namespace {

using enum final_outcome;

TEST(losses, are_counted_by_status_with_an_example_of_each) {
  losses all;
  EXPECT_EQ(all.words(), "");
  all.add({.how = failed, .host = "h", .line = 9, .reason = "status 500"});
  for (int i = 0; i < 3; ++i)
    all.add({failed, "h", 13 + i, "status 400", "\"price must be >= 0\"\n"});
  all.add({failed, "h", 20, "status 429: insufficient_quota", "{}"});
  all.add({unknown, "h", 5, "the connection was closed before there was an answer", ""});
  EXPECT_EQ(
      all.words(),
      "failed: 3 × status 400 (line 13: \"\"price must be >= 0\"\"), 1 × status 429 (line 20: "
      "insufficient_quota), 1 × status 500 (line 9)\n"
      "unknown: 1 × the connection was closed before there was an answer (line 5)\n");
}

TEST(losses, of_several_hosts_are_told_apart) {
  losses all;
  all.add({.how = failed, .host = "a", .line = 1, .reason = "status 404"});
  all.add(
      {.how = failed, .host = "b", .line = 2, .reason = "connection refused; gave up after 1 s"});
  EXPECT_EQ(all.words(),
            "failed at a: 1 × status 404 (line 1)\nfailed at b: 1 × connection refused (line 2)\n");
}

TEST(losses, are_one_kind_whatever_numbers_are_in_their_words) {
  losses all;
  all.add({.how = failed, .host = "h", .line = 1, .reason = "timed out after 5001 ms"});
  all.add({.how = failed, .host = "h", .line = 2, .reason = "timed out after 4999 ms"});
  EXPECT_EQ(all.words(), "failed: 2 × timed out after 5001 ms (line 1)\n");
}

TEST(losses, are_told_apart_by_the_exit_code_of_commands) {
  losses all;
  for (auto const* const reason : {"exit 1", "exit 2", "exit 2", "exit 3: no 17", "exit 3: no 18"})
    all.add({.how = failed, .host = "sh", .line = 1, .reason = reason});
  EXPECT_EQ(all.words(),
            "failed: 2 × exit 2 (line 1), 2 × exit 3: no 17 (line 1), 1 × exit 1 (line 1)\n");
}

TEST(losses, take_little_memory_and_few_lines) {
  losses all;
  for (int i = 0; i < 3000; ++i)
    all.add(
        {failed, "h" + std::to_string(i), i, "status 404", "\x1b[2J" + std::string(10'000, 'x')});
  auto const text = all.words();
  EXPECT_LT(text.size(), 3000U);
  EXPECT_NE(text.find("and 2000 more, in other ways\n"), text.npos) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos);
}

}  // namespace
}  // namespace headway::app
