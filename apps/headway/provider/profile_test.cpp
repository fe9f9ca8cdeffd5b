#include "provider/profile.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::sys_seconds now{1'780'000'000s};

struct answer {
  int status;
  std::initializer_list<http::field> fields;
  std::string_view body;
  std::string_view type = "application/json";
};

judgement judged(profile const& p, answer const& a, std::string_view request = "{}") {
  std::vector<http::field> const fields(a.fields);
  return p.judge({.status = a.status, .fields = fields, .type = a.type, .body = a.body}, request,
                 now);
}

struct fixture {
  std::string_view host;
  answer from;
  reaction what;
  std::optional<duration> hold{};
};

// Constructed from what each profile names as its source, and says how well that is known.
fixture const fixtures[] = {
    {"any", {200, {}, "{}"}, reaction::served},
    {"any", {200, {{"Retry-After", "10"}}, "{}"}, reaction::served},  // nginx: add_header … always
    {"any", {200, {{"Retry-After", "10"}, {"X-RateLimit-Remaining", "4"}}, "{}"}, reaction::served},
    {"any",
     {200, {{"Retry-After", "10"}, {"X-RateLimit-Remaining", "0"}}, "{}"},
     reaction::served,
     10s},
    {"any", {202, {{"Retry-After", "10"}}, "{}"}, reaction::served},
    {"any", {404, {}, ""}, reaction::permanent},
    {"any", {401, {}, ""}, reaction::permanent},
    {"any", {403, {}, ""}, reaction::permanent},
    {"any", {403, {{"Retry-After", "9"}}, ""}, reaction::rate, 9s},
    {"any",
     {403, {{"Retry-After", "9"}, {"x-should-retry", "false"}}, ""},
     reaction::permanent,
     9s},
    {"any", {403, {{"Retry-After", "99999999999"}}, ""}, reaction::permanent},
    {"any", {403, {{"RateLimit", R"("default";r=0;t=9)"}}, ""}, reaction::quota},
    {"any", {403, {{"RateLimit", R"("default";r=1;t=9)"}}, ""}, reaction::permanent},
    {"any", {403, {{"X-RateLimit-Remaining", "0"}}, ""}, reaction::permanent},
    {"any",
     {403,
      {{"X-RateLimit-Limit", "0"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "9"}},
      ""},
     reaction::permanent},
    {"any",
     {403, {}, R"({"message":"You have exceeded a secondary rate limit."})"},
     reaction::concurrency,
     1min},
    {"any", {404, {{"Retry-After", "9"}}, ""}, reaction::permanent, 9s},
    // any other refusal that says when to come back, unless something is left, or it would not pass
    {"any", {400, {{"Retry-After", "9"}}, ""}, reaction::rate, 9s},
    {"any", {402, {{"Retry-After", "9"}}, ""}, reaction::rate, 9s},
    {"any", {409, {{"Retry-After", "9"}}, ""}, reaction::rate, 9s},
    {"any", {423, {{"retry-after-ms", "90"}}, ""}, reaction::rate, 90ms},
    {"any", {401, {{"Retry-After", "9"}}, ""}, reaction::permanent, 9s},
    {"any", {422, {{"Retry-After", "9"}}, ""}, reaction::permanent, 9s},
    {"any",
     {400, {{"Retry-After", "9"}, {"x-should-retry", "false"}}, ""},
     reaction::permanent,
     9s},
    {"any", {400, {{"Retry-After", "9"}, {"X-RateLimit-Remaining", "4"}}, ""}, reaction::permanent},
    {"any", {400, {{"Retry-After", "9"}, {"X-RateLimit-Remaining", "0"}}, ""}, reaction::rate, 9s},
    {"any", {403, {{"Retry-After", "9"}, {"X-RateLimit-Remaining", "4"}}, ""}, reaction::rate, 9s},
    // Facebook, Alibaba, Binance, Twitter, Shopify: a limit by other statuses than 429
    {"any",
     {400, {}, R"({"error":{"message":"(#4) Application request limit reached","code":4}})"},
     reaction::permanent},
    {"any", {400, {}, "no such field: rate limit"}, reaction::permanent},
    {"any", {402, {}, "rate limit exceeded for your plan"}, reaction::rate},
    {"any", {403, {}, R"({"message":"API rate limit exceeded for user"})"}, reaction::rate},
    {"any", {418, {}, "Way too many requests; try again in 7s"}, reaction::rate, 7s},
    {"any", {430, {}, "Too many requests", "text/plain"}, reaction::rate},
    {"any", {401, {}, "rate limit"}, reaction::permanent},
    {"any", {404, {}, "rate limit"}, reaction::permanent},
    {"any", {422, {}, "rate limit must be a number"}, reaction::permanent},
    {"any", {200, {}, "rate limit"}, reaction::served},
    {"any", {500, {}, "rate limit"}, reaction::transient},
    {"any", {400, {{"x-should-retry", "false"}}, "rate limit"}, reaction::permanent},
    {"any", {402, {}, R"({"error":{"code":"insufficient_quota"}})"}, reaction::permanent},
    {"any", {403, {}, "Quota exceeded: daily request limit"}, reaction::permanent},
    {"api.openai.com",
     {403, {}, R"({"error":{"code":"insufficient_quota","message":"rate limit"}})"},
     reaction::money},
    {"api.binance.com", {418, {}, "too many requests"}, reaction::refused},
    {"me.my.salesforce.com",
     {403, {}, R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED"}])"},
     reaction::long_quota,
     1h},
    {"any", {200, {}, "Please try again in 1m30s."}, reaction::served},
    {"any", {429, {}, "Please try again in 1m30s."}, reaction::rate, 90s},
    {"any", {302, {}, ""}, reaction::permanent},
    {"any", {429, {}, ""}, reaction::rate},
    {"any", {429, {{"Retry-After", "7"}}, ""}, reaction::rate, 7s},
    {"any", {429, {{"Retry-After", "junk"}}, ""}, reaction::rate},
    {"any", {503, {}, "<html>503</html>", "text/html"}, reaction::rate},
    {"any", {500, {}, ""}, reaction::transient},
    {"any", {500, {{"Retry-After", "3"}}, ""}, reaction::rate, 3s},
    {"any", {529, {}, ""}, reaction::concurrency},
    {"any", {409, {{"x-should-retry", "true"}}, ""}, reaction::transient},
    {"any", {500, {{"x-should-retry", "false"}}, ""}, reaction::permanent},
    {"any",
     {400, {}, R"({"__type":"com.amazon.coral.availability#ThrottlingException"})"},
     reaction::rate},
    {"any", {503, {}, "<Error><Code>SlowDown</Code></Error>", "application/xml"}, reaction::rate},
    {"any",
     {429, {}, R"({"type":"https://iana.org/#abnormal-usage-detected"})"},
     reaction::refused},
    {"api.openai.com",
     {429, {}, R"({"error":{"code":"insufficient_quota","type":"insufficient_quota"}})"},
     reaction::money},
    {"api.openai.com",
     {429,
      {{"retry-after-ms", "374"}},
      R"({"error":{"code":"rate_limit_exceeded","type":"tokens","message":"Limit 30000, Used 29000, Requested 2000. Please try again in 20s."}})"},
     reaction::rate,
     374ms},
    {"api.openai.com",
     {429,
      {},
      R"({"error":{"code":"rate_limit_exceeded","message":"Limit 30000, Used 29000, Requested 2000. Please try again in 1m2s."}})"},
     reaction::rate,
     62s},
    {"api.openai.com",
     {429,
      {},
      R"({"error":{"code":"rate_limit_exceeded","message":"Limit 30000, Used 0, Requested 31000."}})"},
     reaction::permanent},
    {"api.groq.com",
     {413,
      {},
      R"({"error":{"code":"rate_limit_exceeded","message":"Limit 6000, Requested 9000"}})"},
     reaction::permanent},
    {"api.openai.com", {401, {}, R"({"error":{"code":"invalid_api_key"}})"}, reaction::refused},
    {"api.openai.com",
     {400, {}, R"({"error":{"code":"context_length_exceeded"}})"},
     reaction::permanent},
    {"api.anthropic.com",
     {529, {}, R"({"type":"error","error":{"type":"overloaded_error"}})"},
     reaction::concurrency},
    {"api.anthropic.com",
     {200,
      {},
      "event: message_start\ndata: {}\n\nevent: error\ndata: "
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
      "text/event-stream; charset=utf-8"},
     reaction::concurrency},
    {"api.anthropic.com",
     {200,
      {},
      "event: message_start\ndata: {}\n\nevent: message_stop\ndata: {}\n\n",
      "text/event-stream"},
     reaction::served},
    {"api.anthropic.com",
     {429, {{"retry-after", "12"}}, R"({"error":{"type":"rate_limit_error"}})"},
     reaction::rate,
     12s},
    {"generativelanguage.googleapis.com",
     {429,
      {},
      R"({"error":{"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]},{"@type":"x","retryDelay":"19s"}]}})"},
     reaction::rate,
     19s},
    {"generativelanguage.googleapis.com",
     {429,
      {},
      R"({"error":{"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"retryDelay":"19s"}]}})"},
     reaction::long_quota,
     1h},
    // js-genai, processStreamResponse(): "if (code >= 400 && code < 600)", of a 200
    {"generativelanguage.googleapis.com",
     {200,
      {},
      R"({"error":{"code":429,"message":"Rate limit exceeded, retry in 1 second","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"1s"}]}})"},
     reaction::rate,
     1s},
    {"generativelanguage.googleapis.com", {200, {}, R"({"error":{"code":429}})"}, reaction::rate},
    {"generativelanguage.googleapis.com",
     {200, {}, R"({"error":{"code":503,"status":"UNAVAILABLE"}})"},
     reaction::transient},
    // google/longrunning/operations.proto: it failed, and asking again changes nothing
    {"www.googleapis.com",
     {200, {}, R"({"name":"operations/1","done":true,"error":{"code":8,"message":"full"}})"},
     reaction::served},
    {"any", {200, {}, R"({"error":{"code":429}})"}, reaction::served},
    // googlemaps/openapi-specification, PlacesStatus
    {"maps.googleapis.com", {200, {}, R"({"status":"OK","results":[]})"}, reaction::served},
    {"maps.googleapis.com", {200, {}, R"({"status":"OVER_QUERY_LIMIT"})"}, reaction::rate},
    {"maps.googleapis.com", {200, {}, R"({"status":"OVER_DAILY_LIMIT"})"}, reaction::money},
    {"maps.googleapis.com", {200, {}, R"({"status":"REQUEST_DENIED"})"}, reaction::refused},
    {"www.googleapis.com",
     {403, {}, R"({"error":{"errors":[{"reason":"userRateLimitExceeded"}]}})"},
     reaction::rate},
    {"www.googleapis.com",
     {403, {}, R"({"error":{"errors":[{"reason":"forbidden"}]}})"},
     reaction::permanent},
    {"api.github.com",
     {403, {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1780000060"}}, "{}"},
     reaction::quota},
    {"api.github.com",
     {403, {}, R"({"message":"You have exceeded a secondary rate limit."})"},
     reaction::concurrency,
     1min},
    {"api.github.com", {403, {{"x-ratelimit-remaining", "9"}}, "{}"}, reaction::permanent},
    {"api.github.com", {200, {}, R"({"errors":[{"type":"RATE_LIMITED"}]})"}, reaction::quota},
    {"dynamodb.us-east-1.amazonaws.com",
     {400,
      {},
      R"({"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"})"},
     reaction::rate},
    {"dynamodb.us-east-1.amazonaws.com",
     {400, {}, R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"})"},
     reaction::permanent},
    {"dynamodb.us-east-1.amazonaws.com", {200, {}, R"({"UnprocessedItems":{}})"}, reaction::served},
    {"bucket.s3.amazonaws.com",
     {503, {}, "<Error><Code>SlowDown</Code></Error>", "application/xml"},
     reaction::rate},
    {"bucket.s3.amazonaws.com",
     {403, {}, "<Error><Code>InvalidAccessKeyId</Code></Error>", "application/xml"},
     reaction::refused},
    {"sqs.us-east-1.amazonaws.com",
     {403, {{"x-amzn-ErrorType", "RequestThrottled:http://x"}}, ""},
     reaction::rate},
    {"lambda.us-east-1.amazonaws.com",
     {429, {{"x-amzn-errortype", "TooManyRequestsException:http://x"}}, ""},
     reaction::rate},
    {"api.stripe.com",
     {429, {{"Stripe-Rate-Limited-Reason", "endpoint-concurrency"}}, "{}"},
     reaction::concurrency},
    {"api.stripe.com",
     {429, {{"Stripe-Rate-Limited-Reason", "global-rate"}}, "{}"},
     reaction::rate},
    {"api.stripe.com", {429, {}, R"({"error":{"code":"lock_timeout"}})"}, reaction::transient},
    {"api.linear.app",
     {400, {}, R"({"errors":[{"extensions":{"code":"RATELIMITED"}}]})"},
     reaction::rate},
    {"shop.myshopify.com",
     {200, {}, R"({"errors":[{"extensions":{"code":"THROTTLED"}}]})"},
     reaction::quota},
    {"api.telegram.org", {429, {}, R"({"parameters":{"retry_after":35}})"}, reaction::rate, 35s},
    {"discord.com", {429, {}, R"({"retry_after":1.25})"}, reaction::rate, 1250ms},
    {"en.wikipedia.org",
     {200, {{"Retry-After", "5"}}, R"({"error":{"code":"maxlag"}})"},
     reaction::concurrency,
     5s},
    {"api.binance.com", {418, {}, ""}, reaction::refused},
    {"shop.myshopify.com", {429, {{"Retry-After", "2.0"}}, "{}"}, reaction::rate, 2s},
    {"shop.myshopify.com",
     {200, {}, R"({"errors":[{"extensions":{"code":"MAX_COST_EXCEEDED"}}]})"},
     reaction::permanent},
    {"shop.myshopify.com", {402, {}, "{}"}, reaction::refused},
    {"slack.com",
     {429, {{"Retry-After", "30"}}, R"({"ok":false,"error":"ratelimited"})"},
     reaction::rate,
     30s},
    {"slack.com", {200, {}, R"({"ok":false,"error":"ratelimited"})"}, reaction::rate},
    {"slack.com", {200, {}, R"({"ok":false,"error":"invalid_auth"})"}, reaction::refused},
    {"slack.com", {200, {}, R"({"ok":false,"error":"channel_not_found"})"}, reaction::served},
    {"discord.com", {429, {}, "error code: 1015", "text/plain"}, reaction::refused},
    {"management.azure.com",
     {429, {{"Retry-After", "17"}}, R"({"error":{"code":"SubscriptionRequestsThrottled"}})"},
     reaction::rate,
     17s},
    {"me.documents.azure.com",
     {429, {{"x-ms-substatus", "3200"}, {"x-ms-retry-after-ms", "9"}}, "{}"},
     reaction::quota,
     9ms},
    {"me.blob.core.windows.net",
     {503, {}, "<Error><Code>ServerBusy</Code></Error>", "application/xml"},
     reaction::rate},
    {"management.azure.com",
     {401, {}, R"({"error":{"code":"ExpiredAuthenticationToken"}})"},
     reaction::refused},
    {"me.my.salesforce.com",
     {403,
      {},
      R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}])"},
     reaction::long_quota,
     1h},
    {"me.my.salesforce.com",
     {403,
      {},
      R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"ConcurrentPerOrgLongTxn Limit exceeded."}])"},
     reaction::concurrency},
    {"me.my.salesforce.com",
     {401, {}, R"([{"errorCode":"INVALID_SESSION_ID"}])"},
     reaction::refused},
    {"api.hubapi.com",
     {429, {}, R"({"errorType":"RATE_LIMIT","policyName":"TEN_SECONDLY_ROLLING"})"},
     reaction::rate},
    {"api.hubapi.com",
     {429, {}, R"({"errorType":"RATE_LIMIT","policyName":"DAILY"})"},
     reaction::long_quota,
     1h},
    {"api.twilio.com", {429, {}, R"({"code":20429,"status":429})"}, reaction::concurrency},
    {"api.twilio.com", {401, {}, R"({"code":20003,"status":401})"}, reaction::refused},
    {"api.sendgrid.com",
     {429, {{"X-RateLimit-Reset", "1780000030"}, {"X-RateLimit-Remaining", "0"}}, "{}"},
     reaction::rate},
    {"api.sendgrid.com",
     {401, {}, R"({"errors":[{"message":"Maximum credits exceeded"}]})"},
     reaction::money},
    {"me.atlassian.net",
     {429, {{"RateLimit-Reason", "jira-quota-tenant-based"}, {"Retry-After", "900"}}, ""},
     reaction::quota,
     15min},
    {"me.atlassian.net",
     {429, {{"RateLimit-Reason", "jira-burst-based"}, {"Retry-After", "1"}}, ""},
     reaction::rate,
     1s},
    {"api.notion.com",
     {429, {{"Retry-After", "3"}}, R"({"object":"error","code":"rate_limited"})"},
     reaction::rate,
     3s},
    {"api.notion.com", {529, {}, R"({"code":"service_overload"})"}, reaction::concurrency},
    {"api.notion.com", {409, {}, R"({"code":"conflict_error"})"}, reaction::transient},
    {"api.airtable.com",
     {429, {}, R"({"errors":[{"error":"RATE_LIMIT_REACHED"}]})"},
     reaction::rate,
     30s},
    {"api.airtable.com",
     {429, {}, R"({"errors":[{"error":"PUBLIC_API_BILLING_LIMIT_EXCEEDED"}]})"},
     reaction::money},
    {"me.zendesk.com", {429, {{"Retry-After", "93"}}, ""}, reaction::rate, 93s},
    {"oauth.reddit.com", {429, {{"x-ratelimit-reset", "305"}}, ""}, reaction::rate},
    {"gitlab.com", {429, {{"Retry-After", "30"}}, "Retry later"}, reaction::rate, 30s},
    {"api.x.com", {429, {}, R"({"errors":[{"code":88}]})"}, reaction::quota},
    {"api.x.com",
     {429, {}, R"({"title":"UsageCapExceeded","period":"Monthly"})"},
     reaction::long_quota,
     1h},
    {"x.es.amazonaws.com",
     {429, {}, R"({"error":{"type":"es_rejected_execution_exception"},"status":429})"},
     reaction::rate},
    {"x.es.amazonaws.com",
     {429, {}, R"({"error":{"type":"circuit_breaking_exception"},"status":429})"},
     reaction::concurrency},
};

TEST(profile, knows_its_providers) {
  for (auto const& f : fixtures) {
    auto const j = judged(profile::of_host(f.host), f.from);
    EXPECT_EQ(to_string(j.what), to_string(f.what))
        << f.host << " " << f.from.status << " " << f.from.body;
    EXPECT_EQ(j.hold, f.hold) << f.host << " " << f.from.body;
  }
}

TEST(profile, what_was_not_processed_goes_again) {
  auto const& aws = profile::of_host("dynamodb.eu-west-1.amazonaws.com");
  auto const j = judged(aws, {200, {}, R"({"UnprocessedItems":{"t":[{"PutRequest":{"a":1}}]}})"},
                        R"({"RequestItems":{"t":[1,2,3]},"ReturnConsumedCapacity":"TOTAL"})");
  EXPECT_EQ(j.what, reaction::rate);
  EXPECT_EQ(j.remainder,
            R"({"RequestItems":{"t":[{"PutRequest":{"a":1}}]},"ReturnConsumedCapacity":"TOTAL"})");
  // A request that the rest does not fit into goes again as it was.
  EXPECT_EQ(judged(aws, {200, {}, R"({"UnprocessedItems":{"t":[1]}})"}, "junk").remainder,
            std::nullopt);
}

TEST(profile, only_refused_operations_go_again) {
  auto const& p = profile::of_host("x.es.amazonaws.com");
  EXPECT_EQ(p.name(), "elasticsearch");
  std::string request;
  std::string items;
  for (int i = 0; i < 300; ++i) {
    request += "{\"index\":{}}\n{\"n\":" + std::to_string(i) + "}\n";
    items += i > 0 ? "," : "";
    items += i == 299
                 ? R"({"index":{"status":429,"error":{"type":"es_rejected_execution_exception"}}})"
                 : R"({"index":{"status":201}})";
  }
  auto const answer = R"({"errors":true,"items":[)" + items + "]}";
  auto const j = judged(p, {200, {}, answer}, request);
  EXPECT_EQ(j.what, reaction::served);  // most of it was done
  EXPECT_EQ(j.remainder, "{\"index\":{}}\n{\"n\":299}\n");
  EXPECT_EQ(judged(p, {200, {}, answer}, *j.remainder).what, reaction::permanent);
  EXPECT_EQ(p.joined(answer, R"({"errors":false,"items":[{"index":{"status":200}}]})").find("429"),
            std::string::npos);

  // Longer than what is looked at of other answers.
  auto const pad = R"({"pad":")" + std::string(2 << 20, 'x') + R"(",)";
  EXPECT_TRUE(judged(p, {200, {}, pad + answer.substr(1)}, request).remainder);

  auto const failed = judged(
      p,
      {200,
       {},
       R"({"items":[{"index":{"status":400,"error":{"type":"mapper_parsing_exception"}}}]})"},
      request);
  EXPECT_EQ(failed.what, reaction::permanent);
  EXPECT_EQ(failed.code, "mapper_parsing_exception");
}

TEST(profile, what_was_read_before_is_kept) {
  auto const& aws = profile::of_host("dynamodb.eu-west-1.amazonaws.com");
  EXPECT_EQ(aws.joined(R"({"Responses":{"t":[1]},"UnprocessedKeys":{"t":{}}})",
                       R"({"Responses":{"t":[2]},"UnprocessedKeys":{}})"),
            R"({"Responses":{"t":[1,2]},"UnprocessedKeys":{}})");
}

struct recorded {
  std::initializer_list<http::field> fields;
  std::string_view name;
  std::optional<double> limit;
};

// Recorded from express-rate-limit 8.7.4 on 2026-11-21: the third of two requests a minute, in each
// mode of its headers.
recorded const express[] = {
    {{{"X-RateLimit-Limit", "2"},
      {"X-RateLimit-Remaining", "0"},
      {"Date", "Sat, 21 Nov 2026 12:55:14 GMT"},
      {"X-RateLimit-Reset", "1795265775"},
      {"Retry-After", "60"}},
     "",
     2},
    {{{"RateLimit-Policy", "2;w=60"},
      {"RateLimit-Limit", "2"},
      {"RateLimit-Remaining", "0"},
      {"RateLimit-Reset", "60"},
      {"Retry-After", "60"},
      {"Date", "Sat, 21 Nov 2026 12:55:14 GMT"}},
     "",
     2},
    {{{"RateLimit-Policy", "2;w=60"},
      {"RateLimit", "limit=2, remaining=0, reset=60"},
      {"Retry-After", "60"},
      {"Date", "Sat, 21 Nov 2026 12:55:14 GMT"}},
     "",
     2},
    {{{"RateLimit", R"("2-in-1min"; r=0; t=60)"},
      {"RateLimit-Policy", R"("2-in-1min"; q=2; w=60; pk=:MTJjYTE3YjQ5YWYy:)"},
      {"Retry-After", "60"},
      {"Date", "Sat, 21 Nov 2026 12:55:14 GMT"}},
     "2-in-1min",
     2},
};

TEST(profile, express_rate_limit_is_understood) {
  for (auto const& r : express) {
    auto const j =
        profile::named("generic").judge({.status = 429,
                                         .fields = std::vector<http::field>(r.fields),
                                         .type = "text/html; charset=utf-8",
                                         .body = "Too many requests, please try again later."},
                                        {}, now);
    SCOPED_TRACE(r.fields.begin()->value);
    EXPECT_EQ(j.what, reaction::rate);
    EXPECT_EQ(j.hold, 60s);
    EXPECT_EQ(j.ignored, 0);
    ASSERT_EQ(j.quotas.size(), 1U);
    EXPECT_EQ(j.quotas[0].name, r.name);
    EXPECT_EQ(j.quotas[0].limit, r.limit);
    EXPECT_EQ(j.quotas[0].remaining, 0);
    ASSERT_TRUE(j.quotas[0].reset);
    EXPECT_NEAR(to_seconds(*j.quotas[0].reset), 60, 1);
  }
}

TEST(profile, whatever_a_server_sends_is_judged) {
  std::string deep(2000, '[');
  std::string huge = R"({"error":{"code":")" + std::string(2 << 20, 'x') + "\"}}";
  for (auto const& name : profile::names()) {
    auto const p = profile::named(name);
    for (std::string_view const body :
         {std::string_view(""), std::string_view("{"), std::string_view("\xff\xfe"),
          std::string_view("[]"), std::string_view("null"), std::string_view(deep),
          std::string_view(huge), std::string_view("<Code>"), std::string_view(R"({"error":null})"),
          std::string_view(R"({"error":{"details":{"a":{"retryDelay":-1e300}}}})"),
          std::string_view("event: error\ndata:")})
      for (int const status : {0, 100, 200, 400, 403, 429, 500, 503, 999})
        for (auto const* type : {"", "text/event-stream"}) {
          auto const j = judged(p, {status, {{"Retry-After", "-1"}}, body, type});
          EXPECT_FALSE(j.hold && *j.hold < 0s);
          EXPECT_LE(j.code.size(), 100U);
          EXPECT_LE(j.message.size(), 200U);
        }
  }
}

TEST(profile, a_file_that_is_wrong_is_named) {
  struct {
    char const* text;
    char const* error;
  } const rows[] = {
      {"rule = 3", "f.toml:1: 'rule' must be written [[rule]]"},
      {"color = 1",
       "f.toml:1: 'color' is not a key here; known are about, hosts, computes, scope, rule, quota, "
       "cost, "
       "usage, price"},
      {"[[rule]]\nstatus = [429]", "f.toml:1: a rule needs 'means'"},
      {"[[rule]]\nmeans = \"slow\"",
       "f.toml:2: 'means' is 'slow'; known are served, rate, concurrency, quota, long-quota, "
       "money, "
       "refused, transient, permanent"},
      {"[[rule]]\nmeans = \"rate\"\nstatus = [42]",
       "f.toml:3: 'status' must be like 429 or \"500-599\", from 100 to 599"},
      {"[[rule]]\nmeans = \"rate\"\nstatus = [\"500-499\"]",
       "f.toml:3: 'status' must be like 429 or \"500-599\", from 100 to 599"},
      {"[[rule]]\nmeans = \"rate\"\npointer = \"error\"",
       "f.toml:3: 'pointer' must begin with / (RFC 6901)"},
      {"[[rule]]\nmeans = \"rate\"\nin = [\"x\"]",
       "f.toml:1: 'in' needs pointer, xml or header, whose text it is"},
      {"[[rule]]\nmeans = \"rate\"\nremainder = \"/x\"",
       "f.toml:1: 'remainder' and 'into' go together"},
      {"[[rule]]\nmeans = \"rate\"\nlimit = \"/x\"",
       "f.toml:1: 'limit' and 'limit-name' go together"},
      {"[[rule]]\nmeans = \"rate\"\ncollect = \"x\"", "f.toml:1: 'collect' needs 'remainder'"},
      {"[[rule]]\nmeans = \"rate\"\nbulk = true",
       "f.toml:1: 'bulk' needs pointer = \"/items/*/*/status\" and 'in', and no 'remainder'"},
  };
  for (auto const& row : rows) {
    try {
      profile::parse(row.text, "f.toml");
      ADD_FAILURE() << row.text;
    } catch (fatal const& e) {
      EXPECT_STREQ(e.what(), row.error);
      EXPECT_EQ(e.code, exit_usage);
    }
  }
}

TEST(profile, of_hosts) {
  EXPECT_EQ(profile::of_host("API.OpenAI.com").name(), "openai");
  EXPECT_EQ(profile::of_host("me.openai.azure.com").name(), "openai");
  EXPECT_EQ(profile::of_host("openai.com.evil.example").name(), "generic");
  EXPECT_EQ(profile::of_host("googleapis.com").name(), "generic");
  EXPECT_EQ(profile::of_host("127.0.0.1").name(), "generic");
}

TEST(profile, what_a_request_has_cost) {
  auto const cost = [](std::string_view host, std::string_view body) {
    std::string text;
    for (auto const& c : judged(profile::of_host(host), {200, {}, body}).costs)
      text += c.quota + "=" + std::to_string(static_cast<int>(c.units)) + " " +
              std::to_string(static_cast<int>(c.of_size.value_or(-1))) + ";";
    return text;
  };
  EXPECT_EQ(cost("api.openai.com", R"({"usage":{"prompt_tokens":9,"total_tokens":12}})"),
            "tokens=12 9;");
  EXPECT_EQ(cost("any", R"({"usage":{"prompt_tokens":9,"total_tokens":12}})"), "tokens=12 9;");
  EXPECT_EQ(cost("api.anthropic.com", R"({"usage":{"input_tokens":9,"output_tokens":3}})"),
            "input-tokens=9 -1;output-tokens=3 -1;tokens=12 -1;");
  EXPECT_EQ(cost("x.amazonaws.com", R"({"ConsumedCapacity":{"CapacityUnits":2.0,"Table":{)"
                                    R"("CapacityUnits":2.0}}})"),
            "capacity=2 -1;");
  EXPECT_EQ(cost("x.amazonaws.com", R"({"ConsumedCapacity":[{"CapacityUnits":2},)"
                                    R"({"CapacityUnits":3}]})"),
            "capacity=5 -1;");
  EXPECT_EQ(cost("a.myshopify.com", R"({"extensions":{"cost":{"actualQueryCost":7}}})"),
            "points=7 -1;");
  // What parsers refuse elsewhere in the body hides no cost.
  for (auto const* const beside :
       {R"({"seed":123456789012345678901234,)", R"({"text":"\ud800",)", "\xef\xbb\xbf{"})
    EXPECT_EQ(cost("any", std::string(beside) + R"("usage":{"total_tokens":12}})"),
              "tokens=12 -1;");
  for (auto const* const junk : {R"({"usage":{"total_tokens":-1}})", R"({"usage":[]})",
                                 R"({"usage":{"total_tokens":"12"}})", "\"usage\"", ""})
    EXPECT_EQ(cost("any", junk), "") << junk;
}

TEST(profile, what_remains_keeps_its_digits) {
  auto const j = judged(profile::of_host("dynamodb.us-east-1.amazonaws.com"),
                        {200, {}, R"({"UnprocessedItems":{"t":[1.50,123456789012345678901234]}})"},
                        R"({"RequestItems":{"t":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}})");
  EXPECT_EQ(j.remainder, R"({"RequestItems":{"t":[1.50,123456789012345678901234]}})");
}

TEST(profile, a_refusal_names_its_limit) {
  auto const text =
      R"({"error":{"code":"rate_limit_exceeded","message":"Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s."}})";
  auto const j = judged(profile::of_host("api.openai.com"), {429, {}, text});
  ASSERT_EQ(j.quotas.size(), 1U);
  EXPECT_EQ(j.quotas[0].name, "tokens");
  EXPECT_EQ(j.quotas[0].limit, 30000);
  EXPECT_EQ(j.quotas[0].remaining, 1000);
  EXPECT_EQ(j.hold, 2s);
  // Fields are more exact; a success tells no limit.
  EXPECT_EQ(judged(profile::of_host("api.openai.com"),
                   {429, {{"x-ratelimit-remaining-tokens", "7"}}, text})
                .quotas[0]
                .remaining,
            7);
  EXPECT_TRUE(judged(profile::of_host("api.openai.com"), {200, {}, text}).quotas.empty());

  auto const google = judged(
      profile::of_host("generativelanguage.googleapis.com"),
      {429,
       {},
       R"({"error":{"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaMetric":"x","quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},{"retryDelay":"19s"}]}})"});
  ASSERT_EQ(google.quotas.size(), 1U);
  EXPECT_EQ(google.quotas[0].name, "input-tokens");
  EXPECT_EQ(google.quotas[0].limit, 250000);
  EXPECT_EQ(google.quotas[0].period, 1min);
}

TEST(profile, a_body_says_what_remains) {
  auto const& shopify = profile::of_host("shop.myshopify.com");
  auto const j = judged(
      shopify,
      {200,
       {},
       R"({"data":{},"extensions":{"cost":{"requestedQueryCost":101,"actualQueryCost":46,"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":954,"restoreRate":50}}}})"});
  ASSERT_EQ(j.quotas.size(), 1U);
  EXPECT_EQ(j.quotas[0].name, "points");
  EXPECT_EQ(j.quotas[0].limit, 1000);
  EXPECT_EQ(j.quotas[0].remaining, 954);
  EXPECT_EQ(j.quotas[0].reset, 920ms);
  EXPECT_EQ(j.quotas[0].period, 20s);
  ASSERT_EQ(j.costs.size(), 1U);
  EXPECT_EQ(j.costs[0].units, 46);
  for (auto const* const junk : {"0", "-1", "\"50\"", "null"})
    EXPECT_TRUE(
        judged(
            shopify,
            {200,
             {},
             std::string(
                 R"({"extensions":{"cost":{"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":9,"restoreRate":)") +
                 junk + "}}}}"})
            .quotas.empty());
  EXPECT_THROW(profile::parse("[[quota]]\nname = \"x\"", "f.toml"), fatal);
}

TEST(profile, a_stream_says_what_it_has_cost) {
  auto const cost = [](std::string_view host, std::string_view body) {
    std::string text;
    for (auto const& c :
         judged(profile::of_host(host), {200, {}, body, "text/event-stream; charset=utf-8"}).costs)
      text += c.quota + "=" + std::to_string(static_cast<int>(c.units)) + " " +
              std::to_string(static_cast<int>(c.of_size.value_or(-1))) + ";";
    return text;
  };
  // Constructed from the providers' documents as of 2026-06: stream_options.include_usage, and
  // Messages.
  EXPECT_EQ(
      cost("api.openai.com",
           "data: {\"choices\":[{}],\"usage\":null}\n\n"
           "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"total_tokens\":12}}\r\n\r\n"
           "data: [DONE]\n\n"),
      "tokens=12 9;");
  EXPECT_EQ(cost("api.openai.com",
                 "event: response.completed\ndata: "
                 "{\"response\":{\"usage\":{\"input_tokens\":9,\"total_tokens\":12}}}\n\n"),
            "tokens=12 -1;");
  EXPECT_EQ(
      cost("api.anthropic.com",
           "event: message_start\ndata: "
           "{\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
           "event: message_delta\ndata: {\"usage\":{\"output_tokens\":5}}\n\n"
           "event: message_delta\ndata: {\"usage\":{\"input_tokens\":9,\"output_tokens\":15}}\n\n"),
      "input-tokens=9 -1;output-tokens=15 -1;tokens=24 -1;");
  EXPECT_EQ(cost("generativelanguage.googleapis.com",
                 "data: {\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":6}}\n\n"
                 "data: {\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":9}}\n\n"),
            "tokens=9 4;input-tokens=4 -1;");
  for (auto const* const junk :
       {"", "data: usage", "data: {\"usage\":", "usage", "data:\ndata: \n"})
    EXPECT_EQ(cost("api.openai.com", junk), "") << junk;
}

TEST(profile, the_head_of_a_success_is_enough_unless_a_rule_looks_into_its_body) {
  auto const of = [](std::string_view host, int status, std::string_view type = "application/json",
                     std::string_view body = "") -> std::optional<reaction> {
    auto const told = profile::of_host(host).judge_head(
        {.status = status, .type = type, .body = body}, std::chrono::sys_seconds{});
    if (!told) return std::nullopt;
    return told->what;
  };
  EXPECT_EQ(of("api.example", 200), reaction::served);
  EXPECT_EQ(of("api.example", 429), std::nullopt);
  EXPECT_EQ(of("api.example", 500), std::nullopt);
  EXPECT_EQ(of("api.example", 200, "text/event-stream"), std::nullopt);
  EXPECT_EQ(of("api.example", 200, "text/event-stream", "data: 1\n\n"), reaction::served);
  EXPECT_EQ(of("api.example", 200, "text/event-stream", "event: error\ndata: {}\n\n"),
            reaction::transient);
  EXPECT_EQ(of("api.example", 200, "text/event-stream", "data: 1\n\nevent: error\ndata: {\"er"),
            reaction::served);                                           // its end tells more
  EXPECT_EQ(of("dynamodb.us-east-1.amazonaws.com", 200), std::nullopt);  // a partial success
}

TEST(profile, an_error_within_a_stream_is_no_success) {
  struct {
    char const* host;
    std::string end;  // of the stream
    reaction what;
    char const* words;
  } const rows[] = {
      {"any", "data: [DONE]", reaction::served, ""},
      {"any", R"(data: {"error":null})", reaction::served, ""},
      {"any", R"(data: {"error":{}})", reaction::served, ""},
      {"any", R"(data: {"text":"\"error\""})", reaction::served, ""},
      {"any", R"(data: [{"error":"e"}])", reaction::served, ""},
      {"any", "event: errors\ndata: {}", reaction::served, ""},
      {"any", ": event: error", reaction::served, ""},
      {"any", "event:error\ndata:lost", reaction::transient, "lost"},
      {"any", "data: {\"message\":\ndata: \"why\"}\nevent: error", reaction::transient, "why"},
      {"any", R"(data: {"error":"why"})", reaction::transient, "why"},
      {"any", R"(data: {"error":{"code":429,"message":"m"}})", reaction::rate, "m"},
      {"any", R"(data: {"error":{"code":"500"}})", reaction::transient, R"({"code":"500"})"},
      {"any", R"(data: {"error":{"code":400}})", reaction::permanent, R"({"code":400})"},
      {"any", R"({"error":{"message":"m"}})", reaction::transient, "m"},
      {"any", "{\n  \"error\": {\n\"message\": \"m\"}}", reaction::transient, "m"},
      {"api.openai.com", R"(data: {"error":{"message":"m","code":"rate_limit_exceeded"}})",
       reaction::concurrency, "rate_limit_exceeded: m"},
      {"api.openai.com", R"(data: {"error":{"message":"m","code":"server_error"}})",
       reaction::transient, "m"},
      {"generativelanguage.googleapis.com",
       R"(data: {"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}})",
       reaction::rate, "RESOURCE_EXHAUSTED: m"},
      {"generativelanguage.googleapis.com", R"({"error":{"code":503,"message":"m"}})",
       reaction::transient, "503: m"},
  };
  for (auto const& row : rows)
    for (auto const* const line_end : {"\n", "\r\n"})
      for (auto const* const after : {"", "\n", "\n\ndata: [DONE]\n\n"}) {
        auto body = "data: {\"a\":1}\n\n" + row.end + after;
        for (auto at = body.find('\n'); at != body.npos; at = body.find('\n', at + 2))
          body.replace(at, 1, line_end);
        SCOPED_TRACE(body);
        auto const told = judged(profile::of_host(row.host), {200, {}, body, "text/event-stream"});
        EXPECT_EQ(told.what, row.what);
        EXPECT_EQ(told.words(), row.words);
      }
}

TEST(profile, an_error_after_many_events_is_found_once_over_them) {
  std::string const error = "data: {\"error\":\"why\"}\n\n";
  for (std::string const many : {"data: {\"error\":null}\n\n", "{\n", "{\"error\"\n", "data:\n",
                                 "event: error\n", "\n", "{\"error\":[", "data: {\"error\":{"}) {
    std::string body;
    while (body.size() < (2U << 20)) body += many;
    auto const told =
        judged(profile::of_host("any"), {200, {}, body + "\n\n" + error, "text/event-stream"});
    EXPECT_EQ(told.message, "why") << many;
  }
}

TEST(profile, which_limit_a_request_falls_under) {
  auto const p = profile::parse(
      "[scope]\npath = [\"/search/code\", \"/search\", \"/api/*\", \"/c/*/m\"]\npointer = "
      "\"/model\"",
      "f.toml");
  auto const of = [&](std::string_view path, std::string_view body = "") {
    return p.partition_of(std::string("https://h:443") + std::string(path), body);
  };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("/"), "");
  EXPECT_EQ(of("/searches"), "");
  EXPECT_EQ(of("/search?q=/search/code"), "/search");
  EXPECT_EQ(of("/search/issues"), "/search");
  EXPECT_EQ(of("/search/code/"), "/search/code");
  EXPECT_EQ(of("/api"), "");
  EXPECT_EQ(of("/api/"), "");
  EXPECT_EQ(of("/api/chat.postMessage"), "/api/chat.postMessage");
  EXPECT_EQ(of("/c/7/m/8"), "/c/7/m");
  EXPECT_EQ(of("/c/7/x"), "");
  EXPECT_EQ(of("/v1", R"({"model":"a\nb"})"), "a b");
  EXPECT_EQ(of("/search", R"({"model":"m"})"), "/search m");
  EXPECT_EQ(of("/v1", R"({"model":5})"), "");
  EXPECT_EQ(of("/v1", R"("model")"), "");
  EXPECT_LE(
      of("/api/" + std::string(500, 'x'), R"({"model":")" + std::string(500, 'x') + "\"}").size(),
      200U);
  for (auto const* const text : {"scope = 1", "[scope]\ncolor = 1", "[scope]\npath = \"x\"",
                                 "[scope]\npointer = 1", "[[scope]]\npath = \"/x\""})
    EXPECT_THROW(profile::parse(text, "f.toml"), fatal) << text;
}

TEST(profile, what_a_request_allows) {
  auto const& p = profile::of_host("api.openai.com");
  EXPECT_EQ(p.reserved_by(R"({"max_tokens":70})"), (std::vector<quota_units>{{"tokens", 70}}));
  EXPECT_EQ(p.reserved_by(R"({"max_tokens":70,"max_completion_tokens":50})"),
            (std::vector<quota_units>{{"tokens", 50}}));
  EXPECT_TRUE(p.reserved_by(R"({"max_tokens":"70"})").empty());
  EXPECT_TRUE(p.reserved_by("max_tokens").empty());
  EXPECT_EQ(p.costs_of_a_byte(), (std::vector<quota_units>{{"tokens", 0.25}}));
}

TEST(profile, what_prices_count) {
  auto const usage = [](profile const& p, std::string_view body, std::string_view type = "json") {
    std::string all;
    for (auto const& c : judged(p, {200, {}, body, type}).usage)
      all += fmt::format("{}={} ", c.quota, c.units);
    return all;
  };
  auto const* const chat =
      R"({"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}})";
  auto const* const responses =
      R"({"usage":{"input_tokens":9,"output_tokens":3,"total_tokens":12}})";
  for (auto const* host : {"api.openai.com", "any"}) {
    EXPECT_EQ(usage(profile::of_host(host), chat), "input=9 output=3 ");
    EXPECT_EQ(usage(profile::of_host(host), responses), "input=9 output=3 ");
  }
  EXPECT_EQ(
      usage(profile::of_host("api.anthropic.com"),
            R"({"usage":{"input_tokens":9,"cache_creation_input_tokens":1,"output_tokens":3}})"),
      "input=10 output=3 ");
  EXPECT_EQ(
      usage(
          profile::of_host("generativelanguage.googleapis.com"),
          R"({"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"thoughtsTokenCount":2}})"),
      "input=9 output=5 ");
  EXPECT_EQ(usage(profile::of_host("api.openai.com"), std::string("data: ") + chat + "\n\n",
                  "text/event-stream"),
            "input=9 output=3 ");
  auto const priced =
      profile::parse("[usage]\nunits = \"/u\"\n[price]\neur = { units = \"2/k\" }\n", "f.toml");
  EXPECT_EQ(usage(priced, R"({"u":500})"), "units=500 eur=1 ");
  for (auto const* bad : {"price = 1", "[price]\nusd = 1", "[price]\nusd = {}", "usage = 1",
                          "[price]\nusd = { a = \"x\" }", "[usage]\na = \"b\"", "computes = 1"})
    EXPECT_THROW(profile::parse(bad, "f.toml"), fatal) << bad;
}

TEST(profile, which_posts_only_compute) {
  auto const computes = [](std::string_view host, std::string_view url) {
    return profile::of_host(host).computes("POST", url);
  };
  EXPECT_TRUE(computes("api.openai.com", "https://api.openai.com/v1/chat/completions?x=/files"));
  EXPECT_TRUE(computes("api.openai.com", "https://a/openai/deployments/d/embeddings"));
  EXPECT_FALSE(computes("api.openai.com", "https://api.openai.com/v1/files"));
  EXPECT_FALSE(computes("api.openai.com", "https://api.openai.com/v1/files?next=/v1/embeddings"));
  EXPECT_FALSE(profile::of_host("api.openai.com").computes("PATCH", "https://a/v1/embeddings"));
  EXPECT_TRUE(computes("api.anthropic.com", "https://api.anthropic.com/v1/messages"));
  EXPECT_FALSE(computes("api.anthropic.com", "https://api.anthropic.com/v1/messages/batches"));
  EXPECT_TRUE(computes("a.googleapis.com", "https://a/v1beta/models/m:generateContent"));
  EXPECT_TRUE(computes("localhost", "http://localhost:8000/v1/chat/completions"));
  EXPECT_FALSE(computes("any", "https://a/v1/embeddings"));
  EXPECT_FALSE(computes("any", "https://a/v1/messages"));
}

TEST(profile, costs_that_are_wrong_are_told) {
  for (auto const* const text : {"cost = 1", "[cost]\nquota = \"t\"", "[cost]\npointer = \"/a\"",
                                 "[cost]\nquota = \"t\"\npointer = \"a\"", "[[cost]]\ncolor = 1",
                                 "[cost]\nquota = \"t\"\npointer = \"/a\"\nper-byte = 0"})
    EXPECT_THROW(profile::parse(text, "f.toml"), fatal) << text;
  EXPECT_NO_THROW(profile::parse("[cost]\nquota = \"t\"\npointer = \"/a\"", "f.toml"));
}

}  // namespace
}  // namespace headway::app
