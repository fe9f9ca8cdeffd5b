#include "hosts/limit_at.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_error.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr char url[] = "postgresql://headway@db/work";

struct limit_at_test : testing::Test {
  limit_at_test() { ::unsetenv("HEADWAY_FLEET"); }
  ~limit_at_test() override { ::unsetenv("HEADWAY_FLEET"); }
};

std::string problem(std::string const& given, beside_limit const& beside) {
  return usage_error_of([&] { checked_limit_at(given, beside); });
}

TEST_F(limit_at_test, is_of_the_option_and_else_of_the_environment) {
  EXPECT_FALSE(checked_limit_at("", {}));
  EXPECT_TRUE(checked_limit_at(url, {}).from_arguments);
  ::setenv("HEADWAY_FLEET", url, 1);
  auto const at = checked_limit_at("", {});
  EXPECT_EQ(at.url, url);
  EXPECT_FALSE(at.from_arguments);
  EXPECT_EQ(checked_limit_at("postgresql://other", {}).url, "postgresql://other");
}

TEST_F(limit_at_test, alone_is_stronger_than_the_environment_and_contradicts_the_option) {
  EXPECT_EQ(problem(url, {.alone = true}),
            "--alone shares no pace, --limit-at shares it with other hosts");
  ::setenv("HEADWAY_FLEET", url, 1);
  EXPECT_FALSE(checked_limit_at("", {.alone = true}));
}

TEST_F(limit_at_test, hosts_share_neither_a_trace_nor_another_law) {
  auto const reno = law_named("reno");
  EXPECT_EQ(problem(url, {.traced = true}),
            "--trace: the decisions of many hosts cannot be replayed; leave it out, or --limit-at");
  EXPECT_EQ(problem(url, {.law = &reno}), "--law reno: --limit-at shares the default law only");
  ::setenv("HEADWAY_FLEET", url, 1);
  EXPECT_EQ(problem("", {.law = &reno}), "--law reno: HEADWAY_FLEET shares the default law only");
  EXPECT_NE(problem("", {.traced = true}).find("unset HEADWAY_FLEET"), std::string::npos);
}

}  // namespace
}  // namespace headway::app
