#include "whatif/forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "whatif/test_recording.hpp"

namespace headway::app {
namespace {

forecast::row const& of(forecast const& f, std::string_view law) {
  return *std::ranges::find(f.rows, law, &forecast::row::law);
}

TEST(forecast, says_what_other_laws_would_have_done) {
  temporary file;
  auto const f = forecast_of(recorded(fifty_a_second(), "seek", 1500, file.path));
  ASSERT_EQ(f.withheld, "") << f.like.in_words();
  EXPECT_EQ(f.requests, 1500);
  EXPECT_TRUE(f.whole);
  ASSERT_EQ(f.rows.front().law, "told");
  EXPECT_NEAR(to_seconds(f.rows.front().took), 1490 / 50.0, 0.5);
  EXPECT_LT(of(f, "seek").throttled, 0.03);
  EXPECT_NEAR(to_seconds(of(f, "seek").took), to_seconds(f.like.recorded_took), 3);
  EXPECT_GT(of(f, "exponential-full").throttled, 0.5);
  EXPECT_GT(of(f, "exponential-full").attempts, 3000);
  EXPECT_TRUE(std::ranges::is_sorted(f.rows.begin() + 1, f.rows.end(), {},
                                     [](auto const& r) { return std::pair(!r.ended, r.took); }));
}

TEST(forecast, takes_the_beginning_of_a_long_run) {
  temporary file;
  auto const run = recorded(fifty_a_second(), "seek", 1500, file.path);
  auto const f = forecast_of(run, 800);
  EXPECT_FALSE(f.whole);
  EXPECT_EQ(f.withheld, "");
  EXPECT_EQ(f.attempts, 800);
  EXPECT_NEAR(static_cast<double>(f.requests), 785, 15);
  EXPECT_NEAR(to_seconds(f.rows.front().took), 15.5, 0.5);
}

TEST(forecast, is_withheld_where_the_limit_moved) {
  temporary file;
  auto const f = forecast_of(recorded(changing(), "reno-0.9", 600, file.path));
  EXPECT_TRUE(f.rows.empty());
  EXPECT_NE(f.withheld.find("DOES NOT reproduce the run"), f.withheld.npos) << f.withheld;
}

TEST(forecast, is_withheld_where_refusals_come_by_chance) {
  temporary file;
  record({.latency = {20ms, 80ms}}, "fixed(rate=30/s,concurrency=8)", 1000, file.path, 7,
         {.noise = 0.05});
  auto const f = forecast_of(read_recording(file.path));
  EXPECT_TRUE(f.rows.empty());
  EXPECT_NE(f.withheld.find("refusals came at any pace"), f.withheld.npos) << f.withheld;
}

TEST(forecast, is_withheld_where_no_limit_was_met) {
  temporary file;
  auto const f = forecast_of(recorded_without_limit(file.path));
  EXPECT_TRUE(f.rows.empty());
  EXPECT_EQ(f.withheld,
            "no limit was met; not known: the limit: up to 31 in a second were all accepted");
}

}  // namespace
}  // namespace headway::app
