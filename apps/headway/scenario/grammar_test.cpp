#include "scenario/grammar.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace headway::app {
namespace {

time_point at(duration since_start) {
  return time_point(since_start);
}

TEST(mock_grammar, limits) {
  struct {
    char const* text;
    sim::limit expect;
  } const rows[] = {
      {"rate=50/s", sim::token_bucket{20ms, 1}},
      {"rate=50/s,burst=10", sim::token_bucket{20ms, 10}},
      {"rate=90/min", sim::token_bucket{duration(666'666'667), 1}},
      {"rate=0.5/s", sim::token_bucket{2s, 1}},
      {"rate=1000000/s", sim::token_bucket{1us, 1}},
      {"rate=1/h", sim::token_bucket{1h, 1}},
      {"concurrent=50", sim::concurrency{50}},
      {"concurrent=1", sim::concurrency{1}},
      {"concurrent=50,error-holds=50ms", sim::concurrency{50, 50ms}},
      {"window=300/min", sim::fixed_window{300, 1min}},
      {"window=300/min,aligned", sim::fixed_window{300, 1min, true}},
      {"sliding=50/s", sim::sliding_window{50, 1s}},
      {"sliding=10/250ms,counts-rejects", sim::sliding_window{10, 250ms, true}},
      {"counter=100/10s,counts-rejects", sim::window_counter{100, 10s, true}},
      {"unlimited", sim::unlimited{}},
      {"queue=4,waiting=9,shows=silence", sim::queue{4, 9, sim::symptom::silence}},
      {"shared=4", sim::shared{4}},
      {"shared=4,at-work=9,patience=5s,drops", sim::shared{4, 9, 5s, true}},
      {"ban=5/10s,for=1min", sim::ban{5, 10s, 1min}},
      {"ban=0/1s,for=3s,prolonged", sim::ban{0, 1s, 3s, true}},
      {"table=1000/s,fastest=4000/s", sim::table_capacity{1ms, 5min, 0.1, 250us}},
      {"slope=50%/5min,from=500/s", sim::slope{2ms, 0.5, 5min}},
      {"outage,shows=failure", sim::outage{sim::symptom::failure}},
  };
  for (auto const& r : rows) EXPECT_TRUE(parse_limit(r.text) == r.expect) << r.text;
}

TEST(mock_grammar, schedules) {
  std::vector<sim::step> const expect{{at(0s), sim::token_bucket{20ms, 5}},
                                      {at(15s), sim::concurrency{8}},
                                      {at(90s), sim::unlimited{}}};
  EXPECT_TRUE(parse_schedule("0s:rate=50/s,burst=5; 15s:concurrent=8; 1.5min:unlimited") == expect);
  EXPECT_TRUE(parse_schedule("0s:rate=50/s,burst=5;15s: concurrent=8 ;90s:unlimited;") == expect);
}

TEST(mock_grammar, times_and_shares) {
  EXPECT_EQ(parse_time("0.57s"), 570ms);
  EXPECT_EQ(parse_time("250us"), 250us);
  EXPECT_EQ(parse_spread("50ms"), (sim::spread{50ms, 50ms}));
  EXPECT_EQ(parse_spread("20ms..80ms"), (sim::spread{20ms, 80ms}));
  EXPECT_EQ(parse_share("2.5%"), 0.025);
}

TEST(mock_grammar, says_what_is_wrong_and_what_is_allowed) {
  auto const limit = [](std::string_view s) { parse_limit(s); };
  auto const schedule = [](std::string_view s) { parse_schedule(s); };
  auto const spread = [](std::string_view s) { parse_spread(s); };
  auto const share = [](std::string_view s) { parse_share(s); };
  struct {
    void (*parse)(std::string_view);
    char const* text;
    char const* expect;
  } const rows[] = {
      {limit, "", "'' is not rate=N/PER, concurrent=N, …"},
      {limit, "rate", "'rate' is not rate=N/PER, concurrent=N, …"},
      {limit, "speed=5/s", "'speed=5/s' is not rate=N/PER, concurrent=N, …"},
      {limit, "rate=50", "'50' is not a count per time, such as 50/s, 300/min or 10/250ms"},
      {limit, "rate=50/week", "'week' is not a time, such as 250us, 50ms, 2s, 1.5min or 1h"},
      {limit, "rate=fast/s", "'fast/s' is not a count per time, such as 50/s, 300/min or 10/250ms"},
      {limit, "rate=-1/s", "'-1/s' is not a count per time, such as 50/s, 300/min or 10/250ms"},
      {limit, "rate=0/s", "rate '0/s' is not from one a day to 1000000/s"},
      {limit, "rate=1000001/s", "rate '1000001/s' is not from one a day to 1000000/s"},
      {limit, "rate=1/h,burst=1000000", "burst '1000000' would take more than a year to save up"},
      {limit, "rate=5/100us", "period '100us' is not from 1ms to 24h"},
      {limit, "rate=5/25h", "time '25h' is not from 0s to 24h"},
      {limit, "rate=5/s,burst=0", "burst '0' is not a whole number from 1 to 1000000"},
      {limit, "rate=5/s,burst=1e3", "burst '1e3' is not a whole number from 1 to 1000000"},
      {limit, "rate=5/s,aligned", "'aligned' is not a setting of rate; it has burst"},
      {limit, "rate=5/s,", "'' is not a setting of rate; it has burst"},
      {limit, "concurrent=-1", "concurrent '-1' is not a whole number from 1 to 1000000"},
      {limit, "concurrent=0", "concurrent '0' is not a whole number from 1 to 1000000"},
      {limit, "queue=0", "queue '0' is not a whole number from 1 to 1000000"},
      {limit, "shared=0", "shared '0' is not a whole number from 1 to 1000000"},
      {limit, "shared=4,at-work=0", "at-work '0' is not a whole number from 1 to 1000000"},
      {limit, "shared=4,patience=0s", "want from 1ms to 8760h"},
      {limit, "shared=4,waiting=9",
       "'waiting' is not a setting of shared; it has at-work, patience, drops"},
      {limit, "concurrent=5,error-holds=9",
       "'9' is not a time, such as 250us, 50ms, 2s, 1.5min or 1h"},
      {limit, "ban=5/10s,for=0s", "want from 1ms to 8760h"},
      {limit, "table=50/s,saved=0s", "saved '0s' is less than a unit takes to come back"},
      {limit, "table=50/s,fastest=5/s", "fastest '5/s' is below the rate"},
      {limit, "window=0.5/s", "window '0.5' is not a whole number from 1 to 1000000"},
      {limit, "window=5/s,aligned=1", "'aligned' takes no value"},
      {limit, "sliding=9/s,burst=2", "'burst' is not a setting of sliding; it has counts-rejects"},
      {limit, "unlimited,burst=2", "'burst' is not a setting of unlimited; it has none"},
      {schedule, " ; ", "no steps; say TIME:VALUE; TIME:VALUE, such as 15s:rate=200/s"},
      {schedule, "rate=5/s", "'rate=5/s' is not TIME:VALUE, such as 15s:rate=200/s"},
      {schedule, "5s:rate=5/s; 5s:unlimited",
       "'5s:unlimited' is not later than the step before it"},
      {schedule, "x:unlimited", "'x' is not a time, such as 250us, 50ms, 2s, 1.5min or 1h"},
      {spread, "80ms..20ms", "'80ms..20ms' is not ascending, such as 20ms..80ms"},
      {spread, "50", "'50' is not a time, such as 250us, 50ms, 2s, 1.5min or 1h"},
      {share, "0.01", "'0.01' is not a share from 0% to 100%"},
      {share, "101%", "'101%' is not a share from 0% to 100%"},
  };
  for (auto const& r : rows) try {
      r.parse(r.text);
      ADD_FAILURE() << "accepted: " << r.text;
    } catch (std::invalid_argument const& wrong) {
      std::string_view const expect(r.expect), begins(expect.substr(0, expect.find("…")));
      auto const said = std::string_view(wrong.what());
      EXPECT_EQ(begins == expect ? said : said.substr(0, begins.size()), begins) << r.text;
    }
}

}  // namespace
}  // namespace headway::app
