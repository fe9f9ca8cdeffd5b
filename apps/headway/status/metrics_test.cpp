#include "status/metrics.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace headway::app {
namespace {

std::string page_of(metrics& m, std::vector<scope_gauges> const& now = {}) {
  exposition page;
  m.write(page, now);
  return page.text();
}

bool has(std::string const& page, std::string const& line) {
  return ("\n" + page).find("\n" + line + "\n") != std::string::npos;
}

TEST(exposition, escapes_what_ends_a_label) {
  exposition page;
  page.family("a_total", exposition::kind::counter, "Help.");
  page.sample({{"scope", "a\"b\\c\nd"}, {"x", "\xff"}}, std::int64_t{1});
  EXPECT_EQ(page.text(),
            "# HELP a_total Help.\n# TYPE a_total counter\n"
            "a_total{scope=\"a\\\"b\\\\c\\nd\",x=\"ÿ\"} 1\n");
}

TEST(exposition, leaves_out_what_is_not_known) {
  exposition page;
  page.family("a", exposition::kind::gauge, "Help.");
  page.sample({}, scope_gauges::unknown);
  EXPECT_EQ(page.text(), "");
  page.family("b", exposition::kind::gauge, "Help.");
  page.sample({}, 0.25);
  EXPECT_EQ(page.text(), "# HELP b Help.\n# TYPE b gauge\nb 0.25\n");
}

TEST(histogram, has_each_time_in_the_buckets_from_its_own_on) {
  histogram h;
  for (auto const took : {duration(-1s), duration(1ms), duration(1ms + 1ns), duration(1h)})
    h.add(took);
  exposition page;
  page.family("t", exposition::kind::histogram, "Help.");
  page.sample({}, h);
  EXPECT_TRUE(has(page.text(), "t_bucket{le=\"0.001\"} 2"));
  EXPECT_TRUE(has(page.text(), "t_bucket{le=\"0.002\"} 3"));
  EXPECT_TRUE(has(page.text(), "t_bucket{le=\"524.288\"} 3"));
  EXPECT_TRUE(has(page.text(), "t_bucket{le=\"+Inf\"} 4"));
  EXPECT_TRUE(has(page.text(), "t_count 4"));
}

TEST(metrics, adds_what_others_counted) {
  metrics a, b;
  for (auto* const m : {&a, &b}) {
    m->ended("x", final_outcome::success);
    m->attempted("x", outcome::throttle, 3ms);
    m->held("x", reason::pace, 500ms);
  }
  b.ended("y", final_outcome::failed);
  a.add(b);
  auto const page = page_of(a);
  EXPECT_TRUE(has(page, "headway_requests_total{scope=\"x\",outcome=\"success\"} 2"));
  EXPECT_TRUE(has(page, "headway_requests_total{scope=\"y\",outcome=\"failed\"} 1"));
  EXPECT_TRUE(has(page, "headway_attempts_total{scope=\"x\",outcome=\"throttle\"} 2"));
  EXPECT_TRUE(has(page, "headway_attempt_seconds_sum{scope=\"x\"} 0.006"));
  EXPECT_TRUE(has(page, "headway_scope_held_seconds_total{scope=\"x\",reason=\"pace\"} 1"));
}

TEST(metrics, counts_by_scope_and_outcome) {
  metrics m;
  m.ended("a", final_outcome::success);
  m.ended("a", final_outcome::success);
  m.ended("b", final_outcome::unknown);
  m.attempted("a", outcome::throttle, 3ms);
  m.held("a", reason::server_hint, 1500ms);
  auto const page = page_of(m);
  EXPECT_TRUE(has(page, "headway_requests_total{scope=\"a\",outcome=\"success\"} 2"));
  EXPECT_TRUE(has(page, "headway_requests_total{scope=\"b\",outcome=\"unknown\"} 1"));
  EXPECT_TRUE(has(page, "headway_attempts_total{scope=\"a\",outcome=\"throttle\"} 1"));
  EXPECT_TRUE(has(page, "headway_attempt_seconds_count{scope=\"a\"} 1"));
  EXPECT_TRUE(
      has(page, "headway_scope_held_seconds_total{scope=\"a\",reason=\"server_hint\"} 1.5"));
}

TEST(metrics, counts_scopes_beyond_the_limit_together) {
  metrics m;
  std::vector<scope_gauges> now;
  for (int i = 0; i < 150; ++i) {
    m.ended(fmt::format("{:03}", i), final_outcome::success);
    now.push_back(
        {.scope = fmt::format("{:03}", i), .rate = 5, .in_flight = 2, .quotas = {{"q", 1}}});
  }
  auto const page = page_of(m, now);
  EXPECT_TRUE(has(page, "headway_requests_total{scope=\"099\",outcome=\"success\"} 1"));
  EXPECT_TRUE(has(page, "headway_requests_total{scope=\"other\",outcome=\"success\"} 50"));
  EXPECT_TRUE(has(page, "headway_scope_in_flight{scope=\"other\"} 100"));
  EXPECT_TRUE(has(page, "headway_scope_rate{scope=\"099\"} 5"));
  EXPECT_EQ(page.find("headway_scope_rate{scope=\"other\"}"), page.npos);
  EXPECT_EQ(page.find("headway_scope_quota_remaining{scope=\"other\""), page.npos);
  EXPECT_EQ(page.find("scope=\"100\""), page.npos);
}

TEST(metrics, adds_up_the_lanes_of_one_scope) {
  metrics m;
  auto const page = page_of(
      m, {{.scope = "a", .rate = 5, .in_flight = 2}, {.scope = "a", .rate = 7, .in_flight = 1}});
  EXPECT_TRUE(has(page, "headway_scope_rate{scope=\"a\"} 12"));
  EXPECT_TRUE(has(page, "headway_scope_in_flight{scope=\"a\"} 3"));
  EXPECT_EQ(page.find("headway_scope_slots"), page.npos);
}

}  // namespace
}  // namespace headway::app
