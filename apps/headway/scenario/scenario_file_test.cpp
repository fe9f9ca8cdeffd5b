#include "scenario/scenario_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <variant>

#include "base/fatal.hpp"
#include "scenario/comparison.hpp"

namespace headway::app {
namespace {

sim::scenario read(std::string_view text, std::vector<setting> const& instead = {}) {
  return parse_scenario(text, "dir/mine.toml", instead);
}

std::string error_of(std::string_view text, std::vector<setting> const& instead = {}) {
  try {
    read(text, instead);
  } catch (fatal const& error) {
    EXPECT_EQ(error.code, exit_usage);
    return error.what();
  }
  return "none";
}

TEST(scenario_file, requests_of_all_clients_fit_into_memory) {
  EXPECT_EQ(error_of("clients = { count = 100000, requests = 1000 }"),
            "dir/mine.toml:1: requests is 1000 for each of 100000 clients; want at most 2000000 in "
            "all, a tenth of --events-max");
  EXPECT_EQ(
      error_of("[[clients]]\ncount = 1500\n[[clients]]\ncount = 1500"),
      "dir/mine.toml:4: count is 1000 for each of 1500 clients; want at most 500000 in all, a "
      "tenth of --events-max");
  EXPECT_EQ(error_of("clients = { count = 1000000, requests = 1000000000 }").substr(0, 27),
            "dir/mine.toml:1: requests i");
  EXPECT_EQ(error_of("clients = { count = 100000, requests = 1000, arrivals = \"1/s\" }"), "none");
}

TEST(scenario_file, every_limit_is_in_the_documentation_and_understood) {
  std::ifstream page(HEADWAY_SCENARIOS "/../docs/simulate.md");
  std::string line;
  while (line != "### Limits") ASSERT_TRUE(std::getline(page, line));
  std::set<std::size_t> kinds;
  while (std::getline(page, line) && !line.starts_with("#"))
    if (line.starts_with("| `")) {
      auto const text = line.substr(3, line.find('`', 3) - 3);
      kinds.insert(read("limit = \"" + text + "\"").server.limits.at(0).index());
    }
  EXPECT_EQ(kinds.size(), std::variant_size_v<sim::limit>);
}

TEST(scenario_file, every_part_of_a_scenario_can_be_said) {
  auto const s = read(R"(
about = "all of it"
limit = ["ban=5/10s,for=1min", "queue=50,waiting=500,shows=silence",
         "table=100/s,saved=5min,level=20%,fastest=400/s,hot=80%,hot-minutes=3",
         "slope=30%/2min,from=100/s,burst=7"]
schedule = "0s:rate=50/s,burst=10; 20s:outage,shows=failure; 50s:unlimited"
drift = { every = "1s", step = 0.05, min = 0.25, max = 4, seed = 7 }
refusal = "failure"
latency = ["1ms,weight=9", "lognormal=8s,cv=0.5", "exponential=2s"]
slowdowns = "20s:10; 40s:1"
error-latency = "3ms"
failures = "1%"
hints = { factor = 0.5, offset = "-2s" }
connect = "4ms"
jitter = "5ms"
wakes-late = "6us"
lost = "2%"
timeout = "7s"
misread = "3%"
told = { rate = "25/s", window = 9 }
lasts = "2h"
first-alone = "0s"
attempts-max = 7
retry-budget = "5%,20/s"
recovery-from = "50s"
clients = [
  { name = "a", count = 3, requests = 7, arrivals = "5/s", cost = 2, cost-cv = 1, joins = "1s" },
  { requests = 7, connect = "1ms..9ms", poisoned = 2, poisoned-at = "start", poisoned-shows = "failure" },
  { law = "reno", workers = 4, think = "8ms", stagger = "9ms", leaves = "10s", rate = "5/s:2", concurrency = 3 },
  { arrivals = "6/s", evenly = true, on = "30s", off = "20s", background = true },
]
)");
  sim::scenario is{.name = "mine", .about = "all of it"};
  is.server.limits = {sim::ban{.rejects = 5, .period = 10s, .lasts = 1min},
                      sim::queue{50, 500, sim::symptom::silence},
                      sim::table_capacity{10ms, 5min, 0.2, 2500us, 0.8, 3},
                      sim::slope{10ms, 0.3, 2min, 7}};
  is.server.schedule = {{time_point(0s), sim::token_bucket{20ms, 10}},
                        {time_point(20s), sim::outage{sim::symptom::failure}},
                        {time_point(50s), sim::unlimited{}}};
  is.server.drifts = {.every = 1s, .step = 0.05, .min = 0.25, .max = 4, .seed = 7};
  is.server.refusal = sim::symptom::failure;
  is.server.latency = sim::mixture{
      {{9, sim::spread{1ms}}, {1, sim::lognormal{8s, 0.5}}, {1, sim::exponential{2s}}}};
  is.server.slowdowns = {{time_point(20s), 10}, {time_point(40s), 1}};
  is.server.error_latency = 3ms;
  is.server.failures = 0.01;
  is.server.hints = {.factor = 0.5, .offset = -2s};
  is.hints = sim::telling::retry_after;
  is.net = {4ms, 5ms, 6us, 0.02, 7s, 0.03};
  is.told = {25, 9};
  is.lasts = 2h;
  is.first_alone = 0ns;
  is.attempts_max = 7;
  is.budget = {.ratio = 0.05, .per_second = 20, .balance_max = 200, .balance = 200};
  is.recovery_from = 50s;
  sim::group a{.name = "a", .clients = 3, .work = sim::batch{7, 5}, .joins = 1s, .cost_mean = 2};
  a.cost_cv = 1;
  sim::group b{.law = "reno", .work = sim::closed_loop{4, 8ms}, .stagger = 9ms, .leaves = 10s};
  b.rate_ceiling = gcra::per(5, 1s, 2);
  b.in_flight_max = 3;
  sim::group c{.work = sim::open_arrivals{6, false, 30s, 20s}, .background = true};
  sim::group d{.work = sim::batch{7}};
  d.connect = {1ms, 9ms};
  d.poisoned = 2;
  d.poisoned_at = sim::placing::start;
  d.poisoned_shows = sim::symptom::failure;
  is.groups = {a, d, b, c};
  EXPECT_EQ(s, is);
}

TEST(scenario_file, errors_are_one_line_with_file_line_key_and_range) {
  std::pair<char const*, char const*> const cases[]{
      {"limt = \"rate=5/s\"", "1: 'limt' is not a key here; known are about, limit, schedule"},
      {"\nlimit = \"rate=5\"", "2: limit '5' is not a count per time"},
      {"limit = \"pace=5/s\"", "1: limit 'pace=5/s' is not rate=N/PER, concurrent=N, window"},
      {"limit = \"queue=5,wait=3\"", "1: limit 'wait' is not a setting of queue; it has waiting"},
      {"latency = \"1s\"\nlimit = [\"shared=5\", \"queue=5\"]",
       "2: limit shared does not go with concurrent, queue or another shared"},
      {"schedule = \"0s:shared=5; 1s:unlimited\"",
       "1: schedule shared does not go with other limits in one schedule"},
      {"limit = \"shared=5\"\nhead = \"1s\"", "1: limit shared does not go with head"},
      {"limit = \"slope=50%\"", "1: limit '' is not a time, such as"},
      {"limit = \"ban=3\"", "1: limit '' is not a time, such as"},
      {"limit = \"slope=50%/5min,rate=5/s\"",
       "1: limit 'rate' is not a setting of slope; it has from"},
      {"limit = 5", "1: limit 5 is not text: it takes quotes"},
      {"limit = []", "1: limit has none"},
      {"latency = \"lognormal=8s,cv=x\"", "1: latency 'x' is not a number from 0 to 100"},
      {"clients = { requests = 0 }", "1: requests '0' is not a whole number from 1 to 1"},
      {"clients = { requests = 1.5 }", "1: requests '1.5' is not a whole number"},
      {"clients = { law = \"magic\" }", "1: law 'magic' is not a law"},
      {"clients = { workers = 3, arrivals = \"5/s\" }", "1: arrivals does not go with workers"},
      {"clients = { rate = \"5\" }", "1: rate '5' is not a count per time"},
      {"clients = { concurrency = 0 }", "1: concurrency '0' is not a whole number from 1 to 1"},
      {"clients = { rate = \"5/s\" }\nfleet = { members = 2 }",
       "2: fleet does not go with rate or concurrency of clients"},
      {"clients = { think = \"5s\" }", "1: think goes with workers only"},
      {"clients = { suspended-each = \"5s\" }", "1: suspended-each goes with suspended-for only"},
      {"clients = { suspended-for = \"5s\", suspended-each = \"5s\" }",
       "1: suspended-each '5s' is not longer than suspended-for"},
      {"clients = { suspended-for = \"0s\" }", "1: suspended-for want from 1ms to 8760h"},
      {"clients = { leaves = \"0s\" }", "1: leaves want from 1ms to 8760h"},
      {"clients = { joins = \"5s\", leaves = \"5s\" }", "1: leaves '5s' is not later than joins"},
      {"clients = { arrivals = \"0/s\" }", "1: arrivals rate '0/s' is not from one a day to"},
      {"clients = { arrivals = \"5/s\", on = \"0s\", off = \"5s\" }",
       "1: on want from 1ms to 8760h"},
      {"clients = { arrivals = \"5/s\", on = \"5s\", off = \"0s\" }",
       "1: off want from 1ms to 8760h"},
      {"drift = { every = \"0s\" }", "1: every want from 1ms to 8760h"},
      {"drift = { every = \"1s\", step = nan }", "1: step 'nan' is not a number from 0 to 1"},
      {"drift = { every = \"1s\", min = 0 }", "1: min '0' is not a number from 0.001 to 1"},
      {"timeout = \"0s\"", "1: timeout want from 1ms to 8760h"},
      {"lasts = \"0s\"", "1: lasts want from 1ms to 8760h"},
      {"latency = [\"5ms,weight=0\", \"6ms,weight=0\"]",
       "1: latency '0' is not a number from 1e-06 to"},
      {"clients = { background = true }", "1: clients are all background"},
      {"clients = { requests = 9, poisoned = 10 }",
       "1: poisoned '10' is not a whole number from 0 to"},
      {"clients = { workers = 9, poisoned = 1 }", "1: poisoned goes with requests only"},
      {"clients = { requests = 9, poisoned-at = \"end\" }",
       "1: poisoned-at 'end' is not spread, random, start or middle"},
      {"hints = \"yes\"", "1: hints 'yes' is not retry-after or remaining"},
      {"attempts-max = 0", "1: attempts-max '0' is not a whole number from 1 to"},
      {"retry-budget = \"some\"", "1: retry-budget 'some' is not a share from 0% to 100%"},
      {"schedule = \"5s:unlimited; 5s:unlimited\"", "1: schedule '5s:unlimited' is not later"},
      {"about = \"a\nb\"", "1: "},
  };
  for (auto const& [text, what] : cases) {
    auto const error = error_of(text);
    EXPECT_EQ(error.find(std::string("dir/mine.toml:") + what), 0U) << text << " → " << error;
    EXPECT_EQ(error.find('\n'), error.npos);
  }
}

TEST(scenario_file, a_sweep_puts_values_where_their_path_leads) {
  auto const s = read("limit = \"rate=5/s\"\nclients = [{ requests = 3 }, { requests = 4 }]",
                      {{"latency", "20ms"},
                       {"clients.requests", "30"},
                       {"clients.1.count", "7"},
                       {"told.rate", "9/s"}});
  EXPECT_EQ(s.server.latency, sim::distribution(20ms));
  EXPECT_EQ(std::get<sim::batch>(s.groups[0].work).requests, 30);
  EXPECT_EQ(s.groups[1].clients, 7);
  EXPECT_EQ(s.told.rate, 9);
  EXPECT_EQ(error_of("", {{"latency", "fast"}}).find("dir/mine.toml: --sweep: latency 'fast'"), 0U);
  EXPECT_EQ(error_of("", {{"about.x", "1"}}).find("dir/mine.toml:"), 0U);
}

TEST(scenario_file, a_sender_that_knows_the_limits_is_told_the_tightest) {
  std::pair<char const*, sim::truth> const cases[]{
      {"limit = \"rate=50/s,burst=10\"", {50, 0}},
      {"limit = \"window=300/min\"", {5, 0}},
      {"limit = [\"rate=50/s,burst=10\", \"window=300/min\"]", {5, 0}},
      {"limit = \"concurrent=50\"\nlatency = \"500ms\"\nconnect = \"100ms\"", {99.5, 60}},
      {"limit = \"concurrent=50\"\nlatency = \"500ms\"\nclients = { count = 2, connect = "
       "\"0ms..200ms\" }",
       {49.75, 30}},
      {"limit = \"rate=50/s,burst=9\"\nclients = { count = 5, cost = 2 }", {5, 0}},
      {"schedule = \"0s:rate=9/s,burst=2; 9s:rate=20/s,burst=2\"", {20, 0}},
      {"limit = \"shared=4\"\nlatency = \"200ms\"", {19.9, 4}},
      {"", {}},
  };
  for (auto const& [text, truth] : cases) {
    EXPECT_NEAR(read(text).told.rate, truth.rate, 1e-9) << text;
    EXPECT_NEAR(read(text).told.window, truth.window, 1e-9) << text;
  }
  auto const window = [](std::string const& limit) {
    return read("limit = \"" + limit + "\"\nlatency = \"exponential=1s\"").told.window;
  };
  EXPECT_EQ(window("shared=4"), 8);  // none is idle
  EXPECT_EQ(window("shared=4,at-work=6"), 6);
}

TEST(comparison, does_not_depend_on_the_threads) {
  auto const s = read("limit = \"rate=50/s,burst=10\"\nlatency = \"20ms..80ms\"");
  comparing how{.laws = {sim::contender_of("seek"), sim::contender_of("reno")},
                .seeds = {1, 2, 3, 4, 5}};
  how.threads = 1;
  auto const one = compare({s, s}, how);
  how.threads = 7;
  EXPECT_EQ(compare({s, s}, how), one);
  EXPECT_EQ(one[0].told.runs.size(), 5U);
}

TEST(comparison, median_and_90th_percentile_are_by_nearest_rank) {
  auto const ten = spread({10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(ten.median, 5);
  EXPECT_EQ(ten.p90, 9);
  EXPECT_EQ(spread({3}).p90, 3);
}

}  // namespace
}  // namespace headway::app
