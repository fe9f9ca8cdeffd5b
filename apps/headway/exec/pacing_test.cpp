#include "exec/pacing.hpp"

#include <gtest/gtest.h>

#include "base/test_error.hpp"

namespace headway::app {
namespace {

struct exec_pacing : testing::Test {
  pacing_settings paced(char const* program) const {
    return pacing_of(options, command_profile::of_program(program), {.most = 7, .why = ""},
                     nullptr);
  }

  exec_options options;
};

TEST_F(exec_pacing, a_program_that_asks_a_server_learns_its_limit) {
  auto const s = paced("aws");
  EXPECT_EQ(s.law.name, shipped_laws().front().name);
  EXPECT_FALSE(s.alone);
  EXPECT_GT(s.governor.first_alone, 0ns);
  EXPECT_EQ(s.governor.in_flight_max, 7);
  EXPECT_EQ(s.in_flight_most, 7);
}

TEST_F(exec_pacing, a_program_that_asks_none_is_held_by_the_machine_alone) {
  auto const s = paced("gzip");
  EXPECT_EQ(s.law.name, "fixed");
  EXPECT_TRUE(s.alone);
  EXPECT_EQ(s.governor.first_alone, 0ns);
}

TEST_F(exec_pacing, options_come_first) {
  options.concurrency = 3;
  options.attempts_max = 9;
  options.wait_max = 1min;
  auto const s = paced("aws");
  EXPECT_EQ(s.in_flight_most, 0);
  EXPECT_EQ(s.governor.attempts_max, 9);
  EXPECT_EQ(s.governor.hint_max, duration(1min));
}

TEST_F(exec_pacing, no_host_shares_what_asks_no_server) {
  options.fleet = {.url = "postgresql://x/y", .from_arguments = false};
  EXPECT_EQ(fleet_of(options, command_profile::of_program("gzip"), "gzip"), nullptr);
  options.fleet.from_arguments = true;
  EXPECT_EQ(usage_error_of([&] { fleet_of(options, command_profile::of_program("gzip"), "gzip"); }),
            "--limit-at: \"gzip\" asks no server; its limit is this machine");
}

}  // namespace
}  // namespace headway::app
