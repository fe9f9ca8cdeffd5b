#include "headway/http/advice.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

#include "headway/http/retry_after.hpp"

namespace headway::http {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

constexpr sys_seconds now{1'780'000'000s};  // 2026-05-28T20:26:40Z
constexpr auto none = std::nullopt;

advice of(std::initializer_list<field> fields) {
  return advice_of(std::vector<field>(fields), now);
}

duration ms(std::int64_t n) {
  return std::chrono::milliseconds(n);
}

TEST(advice, every_way_to_say_how_long) {
  struct {
    std::initializer_list<field> fields;
    std::optional<duration> wait;
    int ignored = 0;
  } const rows[] = {
      {{{"Retry-After", "120"}}, 120s},
      {{{"retry-after", "2.0"}}, 2s},
      {{{"RETRY-AFTER", "64.57"}}, ms(64570)},
      {{{"Retry-After", "2"}, {"Retry-After", "3"}}, 3s},
      {{{"Retry-After", "2, 3"}}, 3s},
      {{{"Retry-After", "Thu, 28 May 2026 20:26:45 GMT"}}, 5s},
      {{{"Retry-After", "Thu, 28 May 2026 20:26:45 GMT, 5"}}, 5s},
      {{{"Retry-After", "Thu, 28 May 2026 20:26:45 GMT"},
        {"Date", "Thu, 28 May 2026 20:26:35 GMT"}},
       10s},
      {{{"Retry-After", "Thu, 28 May 2026 22:26:45 +0200"}}, 5s},
      {{{"Retry-After", "Thu, 28 May 2026 16:26:45 EDT"}}, 5s},
      {{{"Retry-After", "28 May 2026 20:26:45 Z, 7"}}, 7s},
      {{{"Retry-After", "Thu, 28 May 2026 22:26:45 +0200"},
        {"Date", "Thu, 28 May 2026 22:26:35 +0200"}},
       10s},
      {{{"Retry-After", "Thu, 28 May 2026 22:26:45 CEST"}}, none, 1},
      {{{"Retry-After", "2026-05-28T20:26:45Z"}}, 5s},
      {{{"Retry-After", " 2026-05-28T22:26:45.5+02:00 "}}, ms(5500)},
      {{{"Retry-After", "2026-05-28T20:26:45"}}, none, 1},
      {{{"Retry-After", "Thu, 28 May 2026 20:25:40 GMT"}}, 0s},
      {{{"Retry-After", "Thu, 28 May 2026 20:25:39 GMT"}}, 0s, 1},
      {{{"Retry-After", "2026-05-28T20:25:39Z"}}, 0s, 1},
      {{{"Retry-After", "0"}}, 0s},
      {{{"retry-after-ms", "250.5"}}, 250500us},
      {{{"Retry-After", "9"}, {"retry-after-ms", "250"}}, 250ms},
      {{{"retry-after-ms", "junk"}, {"Retry-After", "9"}}, 9s, 1},
      {{{"x-ms-retry-after-ms", "1500"}}, 1500ms},
      {{{"x-ms-retry-after-ms", "1500"}, {"Retry-After", "1"}}, 1s},
      {{{"x-amz-retry-after", "700"}}, 700ms},
      {{{"Retry-After", "-1"}}, none, 1},
      {{{"Retry-After", "1e3"}}, none, 1},
      {{{"Retry-After", "inf"}}, none, 1},
      {{{"Retry-After", "nan"}}, none, 1},
      {{{"Retry-After", ""}}, none, 1},
      {{{"Retry-After", "2, 99999999999"}}, 2s},
      {{{"retry-after-ms", "-5"}}, none, 1},
  };
  for (auto const& row : rows) {
    auto const found = of(row.fields);
    EXPECT_EQ(found.retry_after, row.wait) << row.fields.begin()->value;
    EXPECT_EQ(found.ignored, row.ignored) << row.fields.begin()->value;
  }
}

TEST(advice, the_first_value_that_made_no_sense_is_named) {
  auto const told = of({{"Date", "junk"},
                        {"Retry-After", "5"},
                        {"X-RateLimit-Reset", "soon"},
                        {"Retry-After", "later"}});
  EXPECT_EQ(told.ignored, 2);
  ASSERT_TRUE(told.first_ignored);
  EXPECT_EQ(told.first_ignored->name, "X-RateLimit-Reset");
  EXPECT_EQ(told.first_ignored->value, "soon");
  EXPECT_FALSE(of({{"Retry-After", "5"}}).first_ignored);
}

TEST(advice, a_server_that_overrules_its_status) {
  EXPECT_EQ(of({{"x-should-retry", "true"}}).should_retry, true);
  EXPECT_EQ(of({{"Stripe-Should-Retry", "false"}}).should_retry, false);
  EXPECT_EQ(of({{"grpc-retry-pushback-ms", "-1"}}).should_retry, false);
  EXPECT_EQ(of({{"grpc-retry-pushback-ms", "10"}}).should_retry, none);
  EXPECT_EQ(of({{"x-should-retry", "maybe"}}).should_retry, none);
  EXPECT_EQ(of({{"x-should-retry", "maybe"}}).ignored, 1);
}

TEST(advice, resets_are_written_in_six_ways) {
  struct {
    std::string_view text;
    std::optional<duration> wait;
  } const rows[] = {
      {"1s", 1s},
      {"6m0s", 360s},
      {"2m59.56s", ms(179560)},
      {"7.66s", ms(7660)},
      {"374ms", 374ms},
      {"1h2m3s", 3723s},
      {"15us", 15us},
      {"2026-05-28T20:27:40Z", 60s},
      {"2026-05-28T20:27:40.5Z", 60500ms},
      {"2026-05-28T22:27:40+02:00", 60s},
      {"2026-05-28T20:27Z", 20s},
      {"Thu, 28 May 2026 20:27:40 GMT", 60s},
      {"Thu, 28 May 2026 13:27:40 PDT", 60s},
      {"1780000060", 60s},
      {"1780000060.25", 60250ms},
      {"1780000060250", 60250ms},
      {"50", 50s},
      {"0.5", 500ms},
      {"0", 0s},
      {"1700000000", 0s},
      {"2020-01-01T00:00:00Z", 0s},
      {"31622400", wait_max},
      {"31622401", none},
      {"1811622400", wait_max},
      {"1811622401", none},
      {"1811622401000", none},
      {"9000h", none},
      {"2027-05-30T20:26:40Z", none},
      {"999999999999999999999999", none},
      {"", none},
      {"-5", none},
      {"soon", none},
      {"5 s", none},
      {"5d", none},
      {"1..5s", none},
      {"2026-13-01T00:00:00Z", none},
      {"2026-05-28T25:00:00Z", none},
      {"2026-05-28", none},
      {"0x10", none},
  };
  for (auto const& row : rows) EXPECT_EQ(parse_reset(row.text, now), row.wait) << row.text;
}

// 2^63 - 1 and the like park no run: one rule, wherever a time may stand.
TEST(advice, a_wait_of_more_than_a_year_is_no_hint) {
  field const too_long[] = {
      {"Retry-After", "31622401"},
      {"Retry-After", "9223372036854775807"},
      {"Retry-After", "99999999999999999999"},
      {"Retry-After", "99999999999.5"},
      {"Retry-After", "99999999999, 99999999999"},
      {"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"},
      {"Retry-After", "Fri, 31 Dec 9999 23:59:59 -2359"},
      {"Retry-After", "9999-12-31T23:59:59-23:59"},
      {"retry-after-ms", "31622400001"},
      {"x-ms-retry-after-ms", "9223372036854775807"},
      {"x-amz-retry-after", "9223372036854775807"},
      {"RateLimit", R"("default";r=0;t=1000000000000000000)"},
      {"RateLimit", "limit=1, remaining=0, reset=31622401"},
      {"X-RateLimit-Reset", "9999999999"},
      {"X-RateLimit-Reset", "31622401"},
      {"X-RateLimit-Reset", "9999-12-31T23:59:59Z"},
      {"X-RateLimit-Reset", "99999h"},
      {"X-RateLimit-Reset-After", "31622401"},
      {"RateLimit-Policy", R"("a";q=5;w=31622401)"},
  };
  for (auto const& f : too_long) {
    auto const told = of({f, {"X-RateLimit-Remaining", "0"}});
    EXPECT_EQ(told.retry_after, none) << f.name << ": " << f.value;
    for (auto const& q : told.quotas) {
      EXPECT_EQ(q.reset, none) << f.name << ": " << f.value;
      EXPECT_EQ(q.window, none) << f.name << ": " << f.value;
    }
    EXPECT_EQ(told.ignored, 1) << f.name << ": " << f.value;
  }
  EXPECT_EQ(time_in_text("try again in 9000h"), none);
  EXPECT_EQ(time_in_text("try again in 367 days"), none);
  EXPECT_EQ(time_in_text("try again in 366 days"), wait_max);
}

TEST(advice, of_what_is_told_twice_the_least_and_the_latest_hold) {
  struct {
    std::initializer_list<field> fields;
    double limit, remaining;
    duration reset;
  } const rows[] = {
      {{{"X-RateLimit-Limit", "100"},
        {"X-RateLimit-Limit", "50"},
        {"X-RateLimit-Remaining", "0"},
        {"X-RateLimit-Remaining", "9"},
        {"X-RateLimit-Reset", "3"},
        {"X-RateLimit-Reset", "8"}},
       50,
       0,
       8s},
      {{{"X-RateLimit-Limit", "50, 100"},
        {"X-RateLimit-Remaining", "9, 0"},
        {"X-RateLimit-Reset", "8, 3"}},
       50,
       0,
       8s},
      {{{"X-RateLimit-Limit", "50"},
        {"X-RateLimit-Remaining", "9"},
        {"X-RateLimit-Remaining", "junk"},
        {"X-RateLimit-Reset", "3"},
        {"X-RateLimit-Reset", "-1"}},
       50,
       9,
       3s},
      {{{"X-RateLimit-Limit", "50"},
        {"X-RateLimit-Remaining", "0"},
        {"X-RateLimit-Reset-After", "1"},
        {"X-RateLimit-Reset", "9"},
        {"X-RateLimit-Reset-After", "2"}},
       50,
       0,
       2s},
      {{{"RateLimit", "limit=100, remaining=9, reset=3"},
        {"RateLimit", "limit=50, remaining=0, reset=8"},
        {"RateLimit", "limit=70, remaining=2, reset=90"}},
       50,
       0,
       8s},
  };
  for (auto const& row : rows) {
    auto const told = of(row.fields);
    ASSERT_EQ(told.quotas.size(), 1U);
    EXPECT_EQ(told.quotas[0].limit, row.limit);
    EXPECT_EQ(told.quotas[0].remaining, row.remaining);
    EXPECT_EQ(told.quotas[0].reset, row.reset);
  }
}

struct seen {
  std::string_view name;
  double remaining;
  std::optional<duration> reset;
};

// Source: constructed from the providers' documents as of 2026-06 (profiles/ names them).
TEST(advice, quotas_of_every_family) {
  struct {
    std::initializer_list<field> fields;
    std::initializer_list<seen> quotas;
  } const rows[] = {
      {{{"x-ratelimit-limit-requests", "60"},  // openai
        {"x-ratelimit-limit-tokens", "150000"},
        {"x-ratelimit-remaining-requests", "59"},
        {"x-ratelimit-remaining-tokens", "149984"},
        {"x-ratelimit-reset-requests", "1s"},
        {"x-ratelimit-reset-tokens", "6m0s"}},
       {{"requests", 59, 1s}, {"tokens", 149984, 360s}}},
      {{{"anthropic-ratelimit-requests-remaining", "999"},
        {"anthropic-ratelimit-requests-reset", "2026-05-28T20:27:40Z"},
        {"anthropic-ratelimit-input-tokens-remaining", "40000"}},
       {{"requests", 999, 60s}, {"input-tokens", 40000, none}}},
      {{{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1780000060"}},
       {{"", 0, 60s}}},  // github
      {{{"RateLimit-Remaining", "3"}, {"RateLimit-Reset", "1780000060"}},
       {{"", 3, 60s}}},  // gitlab
      {{{"x-rate-limit-remaining", "7"}, {"x-rate-limit-reset", "1780000900"}}, {{"", 7, 900s}}},
      {{{"X-RateLimit-Remaining", "0"},  // discord: the one that is relative wins
        {"X-RateLimit-Reset", "1780000009.5"},
        {"X-RateLimit-Reset-After", "1.25"}},
       {{"", 0, 1250ms}}},
      {{{"x-ratelimit-remaining", "994.0"}, {"x-ratelimit-reset", "305"}}, {{"", 994, 305s}}},
      {{{"X-RateLimit-Requests-Remaining", "5"},  // linear
        {"X-RateLimit-Requests-Reset", "1780000060000"}},
       {{"requests", 5, 60s}}},
      {{{"ratelimit-remaining", "76;w=21600"}}, {{"", 76, none}}},  // docker hub
      {{{"RateLimit-Remaining", "50"}, {"RateLimit-Reset", "5"}}, {{"", 50, 5s}}},
      {{{"RateLimit", "limit=100, remaining=50, reset=5"}}, {{"", 50, 5s}}},
      {{{"RateLimit", "\"default\";r=50;t=30;pk=:Zm9v:"}}, {{"default", 50, 30s}}},
      {{{"RateLimit", "\"burst\";r=9;t=1, \"day\";r=990;t=36000"}},
       {{"burst", 9, 1s}, {"day", 990, 36000s}}},
      {{{"ratelimit", "\"fixed window\";\"api\";r=0;t=55, junk, \"b\";r=1;t=2"}},
       {{"fixed window", 0, 55s}, {"b", 1, 2s}}},
      {{{"X-RateLimit-Remaining", "many"}}, {}},
      {{{"RateLimit", "\"default\";r=-5;t=30"}}, {}},
      {{{"x-ratelimit-bucket", "abcd"}, {"x-ratelimit-resource", "core"}}, {}},
  };
  for (auto const& row : rows) {
    auto const found = of(row.fields);
    std::vector<seen> what;
    for (auto const& q : found.quotas)
      if (q.remaining) what.push_back({q.name, *q.remaining, q.reset});
    ASSERT_EQ(what.size(), row.quotas.size()) << row.fields.begin()->name;
    for (std::size_t i = 0; i < what.size(); ++i) {
      EXPECT_EQ(what[i].name, row.quotas.begin()[i].name);
      EXPECT_EQ(what[i].remaining, row.quotas.begin()[i].remaining);
      EXPECT_EQ(what[i].reset, row.quotas.begin()[i].reset) << what[i].name;
    }
  }
}

// Source: draft-ietf-httpapi-ratelimit-headers-10, its grammar and what it says of malformed
// fields.
TEST(advice, the_draft_s_field_and_what_is_wrong_with_it) {
  struct {
    std::string_view value;
    std::initializer_list<seen> quotas;
  } const rows[] = {
      {R"("a";r=50;t=30)", {{"a", 50, 30s}}},
      {R"(  "a" ; r=50 ; t=30  )", {{"a", 50, 30s}}},
      {R"("a";r=0;t=0)", {{"a", 0, 0s}}},
      {R"("a";r=50)", {{"a", 50, none}}},
      {R"("a";t=30;pk=:Zm9v:;r=50)", {{"a", 50, 30s}}},
      {R"("a";r=1;t=1,"b";r=2;t=2)", {{"a", 1, 1s}, {"b", 2, 2s}}},
      {R"("a";r=1;t=1, "b", "c";r=3;t=3)", {{"a", 1, 1s}, {"c", 3, 3s}}},
      {R"("a";t=30)", {}},
      {R"("a";r=-1;t=30)", {}},
      {R"("a";r=;t=30)", {}},
      {R"("a";r="5";t=30)", {}},
      {R"("a";R=5;t=30)", {}},
      {R"("a";r=50;t=-1)", {{"a", 50, none}}},
      {R"("a";r=50;t=soon)", {{"a", 50, none}}},
      {R"("a";r=1e3;t=1)", {}},
      {R"("a";r=7;t=99999999999999999999999999)", {{"a", 7, none}}},
      {R"("a";r=7;t=1, "a";r=3;t=9, "a";r=5;t=99)", {{"a", 3, 9s}}},
      {R"("a";r=3;t=1, "a";r=3;t=9)", {{"a", 3, 9s}}},
      {"", {}},
      {";;;", {}},
      {",,,", {}},
      {"\"a", {}},
      {"r=5;t=1", {}},
      {"?1", {}},
  };
  for (auto const& row : rows) {
    auto const told = of({{"RateLimit", row.value}});
    std::vector<seen> what;
    for (auto const& q : told.quotas)
      if (q.remaining) what.push_back({q.name, *q.remaining, q.reset});
    ASSERT_EQ(what.size(), row.quotas.size()) << row.value;
    for (std::size_t i = 0; i < what.size(); ++i) {
      EXPECT_EQ(what[i].name, row.quotas.begin()[i].name) << row.value;
      EXPECT_EQ(what[i].remaining, row.quotas.begin()[i].remaining) << row.value;
      EXPECT_EQ(what[i].reset, row.quotas.begin()[i].reset) << row.value;
    }
  }
  // Split over two fields; and the hold that is said is the one that holds.
  EXPECT_EQ(of({{"RateLimit", R"("a";r=1;t=1)"}, {"ratelimit", R"("b";r=2;t=2)"}}).quotas.size(),
            2U);
  EXPECT_EQ(of({{"RateLimit", R"("a";r=0;t=9)"}, {"Retry-After", "3"}}).retry_after, 3s);
}

TEST(advice, knows_what_a_quota_counts) {
  for (auto const* name : {"", "requests", "default", "burst"})
    EXPECT_TRUE(quota{.name = name}.of_requests()) << name;
  for (auto const* name : {"tokens", "input-tokens", "content-bytes", "complexity"})
    EXPECT_FALSE(quota{.name = name}.of_requests()) << name;
}

TEST(advice, does_not_grow_with_what_is_sent) {
  std::vector<std::string> names;
  std::vector<field> fields;
  for (int i = 0; i < 100'000; ++i) names.push_back("x-ratelimit-remaining-" + std::to_string(i));
  for (auto const& name : names) fields.push_back({name, "1"});
  EXPECT_LE(advice_of(fields, now).quotas.size(), 16U);
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "\"q" + std::to_string(i) + "\";r=1;t=1,";
  EXPECT_LE(of({{"RateLimit", many}}).quotas.size(), 16U);
}

TEST(advice, text_of_a_refusal) {
  EXPECT_EQ(time_in_text("Please try again in 374ms. Visit …"), 374ms);
  EXPECT_EQ(time_in_text("Please try again in 1m30s."), 90s);
  EXPECT_EQ(time_in_text("please try again in 59.977s."), 59977ms);
  EXPECT_EQ(time_in_text("try again in 20 seconds"), 20s);
  EXPECT_EQ(time_in_text("try again in a while"), none);
  EXPECT_EQ(time_in_text("try again in "), none);
  EXPECT_EQ(time_in_text(""), none);
  EXPECT_TRUE(never_fits("on tokens per min. Limit: 30000, Used: 5, Requested: 31000."));
  EXPECT_TRUE(never_fits("Limit 10, Requested 11"));
  EXPECT_FALSE(never_fits("Limit 30000, Used 29000, Requested 2000."));
  EXPECT_FALSE(never_fits("Limit none, Requested 2000"));
}

TEST(advice, a_refusal_s_text_names_its_limit) {
  struct {
    char const* text;
    char const* name;
    double limit, remaining;
    duration reset, period;
  } const rows[] = {
      {"Rate limit reached for m in organization o on tokens per min (TPM): Limit 90000, Used "
       "89000, "
       "Requested 2000. Please try again in 1.3s.",
       "tokens", 90000, 1000, 59333333us, 1min},
      {"Rate limit reached for m on requests per min. Limit: 3 / min. Please try again in 20s.",
       "requests", 3, 0, 1min, 1min},
      {"Rate limit reached for m on requests per day (RPD): Limit 200, Used 200, Requested 1.",
       "requests", 200, 0, 24h, 24h},
      {"This request would exceed your organization's rate limit of 50,000 input tokens per minute "
       "(org: o).",
       "input-tokens", 50000, 0, 1min, 1min},
      {"rate limit of 8,000 output tokens per minute", "output-tokens", 8000, 0, 1min, 1min},
      {"on tokens per min: Limit 10, Used 99, Requested 1", "tokens", 10, 0, 1min, 1min},
  };
  for (auto const& row : rows) {
    auto const all = quotas_in_text(row.text);
    ASSERT_EQ(all.size(), 1U) << row.text;
    auto const* const q = all.data();
    EXPECT_EQ(q->name, row.name);
    EXPECT_EQ(q->limit, row.limit) << row.text;
    EXPECT_EQ(q->remaining, row.remaining);
    EXPECT_EQ(q->reset, row.reset);
    EXPECT_EQ(q->period, row.period);
  }
  for (auto const* const text : {"",
                                 "limit",
                                 "limit per",
                                 "Too many requests, please try again later.",
                                 "rate limited",
                                 "Limit 10, Used 10",
                                 "tokens per min",
                                 "Limit 0 tokens per min",
                                 "Limit -1 requests per min",
                                 "limit 5 requests per ",
                                 "limit 5 wishes per min",
                                 "limit 99999999999999999 tokens per min",
                                 " per ",
                                 "limit: per min",
                                 "5 per",
                                 "5 per cent",
                                 "5 per 0 s",
                                 "5 requests per 1e9 days",
                                 "per 5 s",
                                 "1 per 99999999999999 days",
                                 "7/8",
                                 "0 per minute",
                                 "5 tickets per minute",
                                 "-5 per minute",
                                 "1.2.3 per minute",
                                 "<h1>429 Too Many Requests</h1><hr><center>nginx/1.22.1</center>",
                                 "429 Requests</h1>",
                                 "429 requests. In 5 minutes",
                                 "HTTP 429 Too Many Requests in 24 hours",
                                 "{\"requests\": 5, \"per\": \"minute\"}"})
    EXPECT_TRUE(quotas_in_text(text).empty()) << text;
}

// What servers write, and no more: a ceiling, of which nothing is said to be left.
TEST(advice, sentences_that_state_limits) {
  struct ceiling {
    std::string_view name;
    double limit;
    duration window;
  };
  struct {
    std::string_view text;
    std::initializer_list<ceiling> says;
    std::optional<duration> wait = none;
  } const rows[] = {
      {"limit 20 per minute, retry in 3 s", {{"requests", 20, 1min}}, 3s},
      {"Maximum 5 requests within 1 minutes", {{"requests", 5, 1min}}},
      {"Quota: 600 RPM (10 QPS) and 180000 TPM",
       {{"requests", 600, 1min}, {"tokens", 180000, 1min}}},
      {"Only 100 requests per 10 seconds are allowed", {{"requests", 100, 10s}}},
      {"You have exceeded the 100 requests in 24 hrs limit!", {{"requests", 100, 24h}}},
      {"API calls quota exceeded! maximum admitted 2 per 1m.", {{"requests", 2, 1min}}},
      {"429 Too Many Requests: 10 per 1 minute", {{"requests", 10, 1min}}},
      {"Limit: 1,000 API calls/hour", {{"requests", 1000, 1h}}},
      {"at most 3 queries every 2 seconds", {{"requests", 3, 2s}}},
      {"You may make 40,000 input tokens a minute", {{"input-tokens", 40000, 1min}}},
      {"50 requests/s, wait 200ms", {{"requests", 50, 1s}}, 200ms},
      {"Rate limit exceeded, retry in 1 minute", {}, 60s},
      {"Request was throttled. Expected available in 52 seconds.", {}, 52s},
      {"Please retry your request after 7 s", {}, 7s},
      {"Too many requests, please try again after 15 minutes", {}, 15min},
      {"Slow down: wait for at least 2 hours", {}, 2h},
      {"TRY AGAIN IN 4 SECONDS", {}, 4s},
      {"Too many requests, please try again later.", {}},
      {"please wait a moment", {}},
      {"retry in -3 s", {}},
      {"retry in 3 wishes", {}},
      {"order 66 per our last mail of 5/6, 1 in 7 days", {}},
  };
  for (auto const& row : rows) {
    auto const found = quotas_in_text(row.text);
    ASSERT_EQ(found.size(), row.says.size()) << row.text;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, row.says.begin()[i].name) << row.text;
      EXPECT_EQ(found[i].limit, row.says.begin()[i].limit) << row.text;
      EXPECT_EQ(found[i].window, row.says.begin()[i].window) << row.text;
      EXPECT_FALSE(found[i].remaining) << "a ceiling excuses no refusal: " << row.text;
    }
    EXPECT_EQ(time_in_text(row.text), row.wait) << row.text;
  }
  std::string many;
  for (int i = 1; i < 10'000; ++i) many += std::to_string(i) + " requests per second ";
  EXPECT_EQ(quotas_in_text(many).size(), 1U);
}

// Source: draft-ietf-httpapi-ratelimit-headers-11, and -03 and -07 for those without a name.
TEST(advice, policies) {
  using enum counted;
  struct seen_policy {
    std::string_view name;
    double limit;
    std::optional<duration> window;
    counted counts;
    std::string_view partition = "";
  };
  struct {
    std::string_view value;
    std::initializer_list<seen_policy> policies;
    int ignored = 0;
  } const rows[] = {
      {R"("burst";q=100;w=60)", {{"burst", 100, 60s, requests}}},
      {R"("burst";q=100;w=60;qu="requests";pk=:Zm9v:)", {{"burst", 100, 60s, requests, ":Zm9v:"}}},
      {R"("b";q=100;w=1, "day";q=5000;w=86400)",
       {{"b", 100, 1s, requests}, {"day", 5000, 86400s, requests}}},
      {R"("c";q=9;qu="concurrent-requests")", {{"c", 9, none, concurrent}}},
      {R"("b";q=9;w=1;qu="content-bytes")", {{"b", 9, 1s, bytes}}},
      {R"("b";q=9;w=1;qu="wishes")", {{"b", 9, 1s, other}}},
      {R"("tokens";q=9;w=1)", {{"tokens", 9, 1s, unsaid}}},
      {R"("500-in-10sec"; q=500; w=10; pk=:YWJj:)",
       {{"500-in-10sec", 500, 10s, requests, ":YWJj:"}}},
      {R"("a, b;c";q=5;w=1)", {{"a, b;c", 5, 1s, requests}}},
      {R"("a";w=1, "b";q=2;w=1)", {{"b", 2, 1s, requests}}, 1},
      {R"("a";q=-1;w=1)", {}, 1},
      {R"("a";q=5;w=0)", {}, 1},
      {R"("a";q=5;w=soon)", {}, 1},
      {R"("a";q=)", {}, 1},
      {R"("a;q=5;w=1)", {}, 1},
      {";;,=,\"", {}, 3},
  };
  for (auto const& row : rows) {
    auto const told = of({{"RateLimit-Policy", row.value}});
    ASSERT_EQ(told.quotas.size(), row.policies.size()) << row.value;
    EXPECT_EQ(told.ignored, row.ignored) << row.value;
    for (std::size_t i = 0; i < told.quotas.size(); ++i) {
      auto const& got = told.quotas[i];
      auto const& want = row.policies.begin()[i];
      EXPECT_EQ(got.name, want.name) << row.value;
      EXPECT_EQ(got.limit, want.limit) << row.value;
      EXPECT_EQ(got.window, want.window) << row.value;
      EXPECT_EQ(got.counts, want.counts) << row.value;
      EXPECT_EQ(got.partition, want.partition) << row.value;
      EXPECT_FALSE(got.remaining) << row.value;
    }
  }
}

TEST(advice, a_policy_and_what_remains_of_it_come_in_any_order) {
  field const policy{"RateLimit-Policy", R"("a";q=500;w=10;pk=:Zm9v:)"};
  field const state{"RateLimit", R"("a";r=499;t=10)"};
  for (auto const& told : {of({policy, state}), of({state, policy})}) {
    ASSERT_EQ(told.quotas.size(), 1U);
    auto const& q = told.quotas.front();
    EXPECT_EQ(q.limit, 500);
    EXPECT_EQ(q.remaining, 499);
    EXPECT_EQ(q.reset, 10s);
    EXPECT_EQ(q.window, 10s);
    EXPECT_EQ(q.counts, counted::requests);
    EXPECT_EQ(q.partition, ":Zm9v:");
  }
}

TEST(advice, a_quota_s_name_has_its_period) {
  EXPECT_EQ(period_in_name("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), 1min);
  EXPECT_EQ(period_in_name("1/min/{project}/{region}"), 1min);
  EXPECT_EQ(period_in_name("ReadRequestsPer100Seconds"), std::nullopt);
  EXPECT_EQ(period_in_name("RequestsPerDay"), 24h);
  EXPECT_EQ(period_in_name("PerUser"), std::nullopt);
  EXPECT_EQ(period_in_name("per"), std::nullopt);
  EXPECT_EQ(period_in_name(""), std::nullopt);
}

}  // namespace
}  // namespace headway::http
