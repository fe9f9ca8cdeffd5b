#include "simulate/output.hpp"

#include <gtest/gtest.h>

#include <string>

#include "scenario/scenario_file.hpp"

namespace headway::app {
namespace {

TEST(output, leaves_out_a_law_that_does_not_come_to_an_end) {
  auto const s = parse_scenario("limit = \"rate=1/s\"", "here");
  auto const all =
      compare({s}, {.laws = {sim::contender_of("hammer")}, .seeds = {1, 2}, .events_max = 10'000});
  EXPECT_TRUE(all[0].rows[0].runs.empty());
  EXPECT_NE(as_table(all[0], false).find("too many events: hammer"), std::string::npos);
}

TEST(output, says_where_the_law_fixed_has_no_rate) {
  auto const table = [](std::string const& clients, char const* law) {
    auto const s =
        parse_scenario("limit = \"rate=100/s\"\nclients = { requests = 9" + clients + " }", "here");
    return as_table(compare({s}, {.laws = {sim::contender_of(law)}, .seeds = {1}})[0], false);
  };
  EXPECT_NE(table("", "fixed").find("\nfixed has no rate here, "), std::string::npos);
  for (auto const& [clients, law] :
       {std::pair{", rate = \"50/s\"", "fixed"}, {", concurrency = 2", "fixed"}, {"", "seek"}})
    EXPECT_EQ(table(clients, law).find("no rate"), std::string::npos) << clients << law;
}

TEST(output, golden_results_are_cut_to_their_first_seeds) {
  auto const was =
      "{\n\"a\": {\"done\": [1, 2, 3], \"digest\": [\"x\", \"y\", \"z\"]},\n\"b\": null\n}\n";
  auto const is =
      "{\n\"a\": {\"done\": [7, 2], \"digest\": [\"x\", \"y\"]},\n\"b\": {\"done\": [4, 5]}\n}\n";
  EXPECT_EQ(
      first_seeds(was, is, 2),
      "{\n\"a\": {\"done\": [1, 2], \"digest\": [\"x\", \"y\"]},\n\"b\": {\"done\": [4, 5]}\n}\n");
  EXPECT_EQ(first_seeds("\"a\": {\"done\": [1, 2, 3], \"jain\": [.1, .2, .3]}\n", "", 1),
            "\"a\": {\"done\": [1], \"jain\": [.1]}\n");
}

TEST(output, a_difference_shows_what_moved) {
  EXPECT_EQ(difference("a\nb\n", "a\nc\n"), "- b\n+ c\n");
  EXPECT_EQ(difference("a\n", "a\n"), "");
}

}  // namespace
}  // namespace headway::app
