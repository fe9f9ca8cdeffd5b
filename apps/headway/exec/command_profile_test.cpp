#include "exec/command_profile.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

constexpr std::chrono::sys_seconds now{std::chrono::seconds(1'750'000'000)};

judgement judge(char const* name, command_answer const& a, throttle_options const& o = {}) {
  return command_profile::named(name).judge(a, o, now);
}

struct fixture {
  char const* profile;
  int exit;
  char const* error;
  reaction means;
};

/// What the programs print; those of aws and curl as they were run, the others as documented.
constexpr fixture fixtures[] = {
    {"aws", 254,
     "\nAn error occurred (ThrottlingException) when calling the DescribeCluster operation "
     "(reached max retries: 0): Rate exceeded\n",
     reaction::rate},
    {"aws", 254, "\nAn error occurred (InvalidRequestException) when calling …\n",
     reaction::permanent},
    {"aws", 253, "Unable to locate credentials. You can configure credentials", reaction::refused},
    {"curl", 22, "curl: (22) The requested URL returned error: 429\n", reaction::rate},
    {"curl", 22, "curl: (22) The requested URL returned error: 503\n", reaction::rate},
    {"curl", 1, "curl: (22) The requested URL returned error: 503\n", reaction::rate},
    {"curl", 22, "curl: (22) The requested URL returned error: 404\n", reaction::permanent},
    {"curl", 7, "curl: (7) Failed to connect to 127.0.0.1 port 1\n", reaction::transient},
    {"gh", 1, "gh: API rate limit exceeded for user ID 1. (HTTP 403)\n", reaction::quota},
    {"gh", 1, "gh: You have exceeded a secondary rate limit (HTTP 403)\n", reaction::rate},
    {"gh", 4, "To get started with GitHub CLI, please run:  gh auth login\n", reaction::refused},
    {"gcloud", 1, "ERROR: (gcloud.x) RESOURCE_EXHAUSTED: Quota exceeded for quota metric\n",
     reaction::rate},
    {"kubectl", 1,
     "Error from server (TooManyRequests): the server has received too many requests\n",
     reaction::rate},
    {"rsync", 5, "@ERROR: max connections (4) reached -- try again later\n", reaction::concurrency},
    {"rsync", 30, "rsync error: timeout in data send/receive\n", reaction::transient},
    {"terraform", 1, "Error: Throttling: Rate exceeded\n", reaction::rate},
    {"claude", 1, "Claude AI usage limit reached|1750000060\n", reaction::quota},
    {"codex", 1, "You've hit your usage limit.\n", reaction::long_quota},
    {"generic", 1, "HTTP 429 Too Many Requests\n", reaction::rate},
    {"generic", 1, "no such file\n", reaction::permanent},
    {"generic", 75, "", reaction::rate},
};

TEST(command_profile, knows_what_programs_print) {
  for (auto const& f : fixtures)
    EXPECT_EQ(to_string(judge(f.profile, {.exit = f.exit, .error = f.error}).what),
              to_string(f.means))
        << f.profile << ": " << f.error;
}

TEST(command_profile, a_429_is_a_throttle_behind_the_name_of_a_status_and_nowhere_else) {
  for (auto const* const refused :
       {"curl: (22) The requested URL returned error: 429",
        "fatal: unable to access 'https://x/': The requested URL returned error: 429",
        "AxiosError: Request failed with status code 429",
        "openai.RateLimitError: Error code: 429 - {'error': {'message': 'slow'}}",
        "status: 429",
        "status=429 url=/x",
        R"({"error":{"code":429}})",
        R"({ "code": "429" })",
        "statusCode: 429",
        "http_status: 429",
        "the server responded with a status of 429 ()",
        "HTTP Error 429: no",
        "error (429)",
        "HTTP response code: 429",
        "level=error code=429 url=/x",
        "failed (code 429)",
        "error_code 429",
        "{'code': 429}",
        "{ error: { code: 429, message: 'exhausted' } }",
        "    code: 429,"})
    EXPECT_EQ(judge("generic", {.exit = 1, .error = refused}).what, reaction::rate) << refused;
  for (auto const* const other :
       {"processed 429 files", "error: 429 files are missing", "error: processed 429 files",
        "x.py:429: error", "error at line 429", "status: 200, 429 rows", "took 429 ms",
        "error: 4290", "error code: 1429", "status: 429.5", "error: 429,113 rows differ",
        "postcode-429", "decoded 429 bytes", "error 42, 429 left", "country code 429 is not valid",
        "lines of code: 429", "bad zip code \"429\"", "exit code 429"})
    EXPECT_EQ(judge("generic", {.exit = 1, .error = other}).what, reaction::permanent) << other;
}

TEST(command_profile, an_answer_that_curl_prints_is_read_as_http_has_it) {
  struct {
    char const *error, *output;
    reaction means;
    std::optional<duration> hold{};
  } const rows[] = {
      {"curl: (22) The requested URL returned error: 403",
       R"({"message":"API rate limit exceeded"})", reaction::rate},
      {"curl: (22) The requested URL returned error: 403",
       "HTTP/1.1 403 Forbidden\r\nRetry-After: 7\r\n\r\n", reaction::rate, 7s},
      {"curl: (22) The requested URL returned error: 400",
       "HTTP/1.1 400 Bad\r\nX-RateLimit-Limit: 9\r\n\r\nno such field", reaction::permanent},
      {"curl: (22) The requested URL returned error: 404", "rate limit", reaction::permanent},
      {"curl: (22) The requested URL returned error: 403", "Quota exceeded", reaction::permanent},
      {"curl: (22) The requested URL returned error: 403", "", reaction::permanent},
      {"curl: (3) no host", "rate limit", reaction::permanent},
  };
  for (auto const& row : rows) {
    auto const told = judge("curl", {.exit = 22, .output = row.output, .error = row.error});
    EXPECT_EQ(told.what, row.means) << row.output;
    EXPECT_EQ(told.hold, row.hold) << row.output;
  }
}

TEST(command_profile, a_signal_is_named) {
  EXPECT_EQ(judge("generic", {.exit = 137, .signal = 9}).code, "killed by SIGKILL");
  EXPECT_EQ(judge("generic", {.exit = 139, .signal = 11, .error = "a\nb\n"}).code,
            "killed by SIGSEGV: b");
  EXPECT_EQ(judge("generic", {.exit = 137}).code, "exit 137");
}

TEST(command_profile, is_found_by_the_program) {
  EXPECT_EQ(command_profile::of_program("aws").name(), "aws");
  EXPECT_EQ(command_profile::of_program("tofu").name(), "terraform");
  EXPECT_EQ(command_profile::of_program("mine").name(), "generic");
  EXPECT_TRUE(command_profile::of_program("ffmpeg").local());
}

TEST(command_profile, a_success_is_no_throttle_unless_that_is_asked_for) {
  command_answer const a{.exit = 0, .error = "429 too many requests"};
  EXPECT_EQ(judge("generic", a).what, reaction::served);
  EXPECT_EQ(judge("generic", a, {.anyway = true}).what, reaction::rate);
}

TEST(command_profile, waits_as_long_as_the_output_says) {
  for (auto const& [error, seconds] : {std::pair{"retry-after: 12\n429 too many requests", 12},
                                       {"< Retry-After: 7\r\n429 too many requests", 7},
                                       {"rate limit exceeded, try again in 20s", 20}}) {
    auto const told = judge("generic", {.exit = 1, .error = error});
    EXPECT_EQ(told.hold, std::optional<duration>(std::chrono::seconds(seconds))) << error;
  }
  EXPECT_EQ(judge("claude", {.exit = 1, .error = "usage limit reached|1750000060"}).hold,
            std::optional<duration>(60s));
  EXPECT_EQ(
      judge("codex", {.exit = 1, .error = "Rate limit reached. Please try again in 1.5s."}).hold,
      std::optional<duration>(1500ms));
  EXPECT_GE(judge("gh", {.exit = 1, .error = "secondary rate limit"}).hold, 60s);
}

TEST(command_profile, a_program_may_say_so_itself) {
  auto const said = [](std::string const& hints, int exit = 1) {
    return judge("generic", {.exit = exit, .hints = hints});
  };
  auto const told = said("{\"throttle\":true,\"retry_after\":12,\"cost\":{\"tokens\":350}}\n");
  EXPECT_EQ(told.what, reaction::rate);
  EXPECT_EQ(told.hold, std::optional<duration>(12s));
  ASSERT_EQ(told.costs.size(), 1U);
  EXPECT_EQ(told.costs[0].units, 350);
  EXPECT_EQ(said("{\"status\":429,\"header\":{\"Retry-After\":\"3\"}}", 0).hold,
            std::optional<duration>(3s));
  EXPECT_EQ(said("{\"cost\":{\"tokens\":1}}", 0).what, reaction::served);
  for (auto const* const hostile :
       {"", "{", "[]", "null", "{\"throttle\":1}", "{\"status\":\"429\"}", "{\"status\":99999}",
        "{\"cost\":{\"tokens\":-1}}", "\xff\xfe", "{\"throttle\":false}", "{\"throttle\":true",
        "{\"throttle\":true,", "{\"throttle\":true,\"cost\":{"})
    EXPECT_EQ(said(hostile, 0).what, reaction::served) << hostile;
  for (auto const* const beyond :
       {"1e300", "1e400", "-1", "\"soon\"", "123456789012345678901234567890"}) {
    auto const all_but_one = said(fmt::format("{{\"retry_after\":{},\"throttle\":true}}", beyond));
    EXPECT_EQ(all_but_one.what, reaction::rate) << beyond;
    EXPECT_EQ(all_but_one.hold, std::nullopt) << beyond;
    EXPECT_EQ(all_but_one.ignored, 1) << beyond;
  }
}

TEST(command_profile, only_the_end_of_an_output_counts_and_no_expression_takes_for_ever) {
  auto const early = "429 too many requests\n" + std::string(command_answer::looked_at, 'x');
  EXPECT_EQ(judge("generic", {.exit = 1, .error = early}).what, reaction::permanent);
  std::string const many(60'000, 'a');
  EXPECT_EQ(judge("generic", {.exit = 1, .error = many}, {.text = "(a+)+(a+)+(a+)+b"}).what,
            reaction::permanent);
}

TEST(command_profile, safe_is_what_only_looks) {
  auto const safe = [](char const* name, char const* words) {
    return command_profile::named(name).safe(words);
  };
  EXPECT_TRUE(safe("aws", "aws emr describe-cluster --cluster-id {}"));
  EXPECT_TRUE(safe("aws", "aws --region x ec2 describe-instances"));
  EXPECT_FALSE(safe("aws", "aws emr terminate-clusters --cluster-ids {}"));
  EXPECT_FALSE(safe("aws", "aws emr terminate-clusters --cluster-ids list "));
  EXPECT_FALSE(safe("aws", "aws emr {}"));
  EXPECT_FALSE(safe("gcloud", "gcloud compute instances delete list"));
  EXPECT_FALSE(safe("curl", "curl -fsSXPOST https://x/{}"));
  EXPECT_FALSE(safe("curl", "curl -X DELETE https://x/{}"));
  EXPECT_FALSE(safe("gh", "gh api -XDELETE x"));
  EXPECT_TRUE(safe("gh", "gh api -X GET search/issues"));
  EXPECT_FALSE(safe("aws", "aws ec2 run-instances --describe-x"));
  EXPECT_TRUE(safe("gh", "gh api repos/{owner}/{repo}"));
  EXPECT_FALSE(safe("gh", "gh api -X DELETE repos/{owner}/{repo}"));
  EXPECT_FALSE(safe("gh", "gh api repos/x/issues -f title={}"));
  EXPECT_TRUE(safe("kubectl", "kubectl -n x get pods"));
  EXPECT_FALSE(safe("kubectl", "kubectl delete pod get"));
  EXPECT_TRUE(safe("curl", "curl -fsS https://x/{}"));
  EXPECT_FALSE(safe("curl", "curl -fsS -d a=b https://x/{}"));
  EXPECT_FALSE(safe("claude", "claude -p {}"));
}

TEST(command_profile, a_file_that_is_wrong_is_refused_by_line) {
  for (auto const& [toml, what] :
       {std::pair{"x = 1", "f:1: 'x' is not a key here"},
        {"[[rule]]\nmeans = \"rate\"", "f:1: a rule needs exit, stdout, stderr or output"},
        {"[[rule]]\nexit = [0]\nmeans = \"rate\"", "f:2: 'exit' must be"},
        {"[[rule]]\nstderr = \"(\"\nmeans = \"rate\"", "f:2: 'stderr' is no regular expression"},
        {"[[rule]]\nstderr = \"x\"\nmeans = \"slow\"", "f:3: 'means' is 'slow'"},
        {"[[rule]]\nstderr = \"x\"", "f:1: a rule needs 'means'"}}) {
    try {
      command_profile::parse(toml, "f");
      ADD_FAILURE() << toml;
    } catch (fatal const& e) {
      EXPECT_EQ(std::string(e.what()).substr(0, std::string(what).size()), what);
      EXPECT_EQ(e.code, exit_usage);
    }
  }
  EXPECT_THROW(command_profile::named("awz"), fatal);
  EXPECT_THROW(command_profile::check("("), std::invalid_argument);
}

}  // namespace
}  // namespace headway::app
