#include "mock/completions.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headway::app {
namespace {

time_point at(duration since_start) {
  return time_point(since_start);
}

std::string field_of(completion const& c, std::string const& name) {
  for (auto const& [n, value] : c.fields)
    if (n == name) return value;
  return "";
}

TEST(completions, charges_what_might_be_used_and_tells_what_is_left) {
  completions api(parse_refilling("requests", "60/min"), parse_refilling("tokens", "600/min"));
  std::string body = R"({"max_tokens":90,"messages":[]})";
  body.resize(40, ' ');
  auto const first = api.arrive(at(1s), body, 0);
  EXPECT_EQ(first.charged, 100);
  EXPECT_EQ(first.completed, 1);
  EXPECT_EQ(first.refusal, "");
  EXPECT_EQ(field_of(first, "x-ratelimit-limit-tokens"), "600");
  EXPECT_EQ(field_of(first, "x-ratelimit-remaining-requests"), "59");
  EXPECT_EQ(field_of(first, "x-ratelimit-reset-requests"), "1s");
  EXPECT_EQ(field_of(first, "x-ratelimit-remaining-tokens"), std::to_string(600 - first.charged));
  for (int i = 0; i < 5; ++i) api.arrive(at(1s), body, 0);
  auto const refused = api.arrive(at(1s), body, 0);
  EXPECT_EQ(refused.charged, 0);
  EXPECT_NE(refused.refusal.find(R"("type":"tokens")"), std::string::npos) << refused.refusal;
  EXPECT_NE(refused.refusal.find("Limit 600, Used 600, Requested 100. Please try again in 10s."),
            std::string::npos)
      << refused.refusal;
  EXPECT_EQ(api.arrive(at(11s), body, 0).refusal, "");
}

TEST(completions, says_durations_as_go_does) {
  EXPECT_EQ(go_duration(374ms), "374ms");
  EXPECT_EQ(go_duration(7660ms), "7.66s");
  EXPECT_EQ(go_duration(6min), "6m0s");
  EXPECT_EQ(go_duration(1h + 500ms), "1h0m0.5s");
  EXPECT_EQ(go_duration(0s), "0ms");
}

TEST(completions, reads_its_quotas) {
  EXPECT_EQ(parse_refilling("tokens", "90000/min").capacity, 90000);
  EXPECT_EQ(parse_refilling("tokens", "90000/min").per_second, 1500);
  EXPECT_EQ(parse_refilling("tokens", "90000/min,burst=500").level, 500);
  for (auto const* const text : {"90000", "9/min,burst=0", "9/min,speed=1", "9/min,"})
    EXPECT_THROW(parse_refilling("tokens", text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace headway::app
