// The scenarios that come with headway, in all folders.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "headway/sim/simulation.hpp"
#include "scenario/scenario_file.hpp"

namespace headway::app {
namespace {

TEST(scenarios, tell_what_they_are_and_let_a_sender_that_knows_the_limit_through) {
  namespace fs = std::filesystem;
  int crowds = 0;
  for (auto const& entry : fs::recursive_directory_iterator(HEADWAY_SCENARIOS)) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path().string());
    auto s = read_scenario(entry.path().string());
    EXPECT_FALSE(s.about.empty());
    bool const crowd = entry.path().parent_path().filename() == "crowds";
    crowds += crowd;
    s.lasts = std::min<duration>(s.lasts, 1min);
    auto const told = sim::simulate(s, *sim::contender_named("told"));
    EXPECT_GT(told.done, 0);
    EXPECT_EQ(told.poisoned_attempts, 0);
    if (!crowd) continue;
    auto clients = 0;
    for (auto const& g : s.groups) clients += g.clients;
    EXPECT_GT(clients, 1);
  }
  EXPECT_GT(crowds, 30);
}

}  // namespace
}  // namespace headway::app
