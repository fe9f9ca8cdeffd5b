#include "status/bounds.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/fatal.hpp"
#include "status/progress.hpp"

namespace headway::app {
namespace {

bounds read(std::vector<std::string> arguments) {
  CLI::App command;
  bounds_options const options(command, "Go on");
  command.parse(std::move(arguments));
  return options.read();
}

TEST(bounds, none_are_crossed_by_default) {
  auto const b = read({});
  standing s;
  s.failed = 1000;
  EXPECT_TRUE(b.canary);
  EXPECT_FALSE(b.stops(s));
  EXPECT_FALSE(b.fails(s));
}

TEST(bounds, a_share_stops_a_run_once_there_are_twenty_and_fails_it_with_any) {
  auto const b = read({"failed>10%", "--fail-if", "failed>10%", "--stop-if", "--no-canary"});
  EXPECT_FALSE(b.canary);
  standing s;
  s.failed = 19;
  EXPECT_FALSE(b.stops(s));
  EXPECT_EQ(b.fails(s), "--fail-if failed>10%: 19 of 19 requests failed");
  s.failed = 20;
  EXPECT_EQ(b.stops(s), "failed>10% (20 of 20 requests failed)");
}

TEST(bounds, the_first_of_several_that_is_crossed_is_told) {
  auto const b = read({"failed>1", "--stop-if", "unknown>0", "--stop-if"});
  standing s;
  s.failed = 2;
  EXPECT_EQ(b.stops(s), "failed>1 (2 of 2 requests failed)");
}

TEST(bounds, what_makes_no_sense_is_refused_by_the_option) {
  EXPECT_THROW(read({"failed", "--fail-if"}), fatal);
}

}  // namespace
}  // namespace headway::app
