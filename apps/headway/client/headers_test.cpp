#include "client/headers.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/test_error.hpp"

namespace headway::app {
namespace {

using lines = std::vector<std::string>;

struct headers_test : testing::Test {
  headers_test() {
    setenv("HEADWAY_TEST_KEY", "s3cret", 1);
    setenv("HEADWAY_TEST_EMPTY", "", 1);
    setenv("HEADWAY_TEST_BAD", "s3cret\r\nX: y", 1);
    unsetenv("HEADWAY_TEST_MISSING");
  }
};

TEST_F(headers_test, expanded) {
  lines const options = {"Authorization: Bearer ${env:HEADWAY_TEST_KEY}", "X-A:b",
                         "X-B: ${env:HEADWAY_TEST_KEY}-${env:HEADWAY_TEST_KEY}",
                         "X-C:", "X-D: $5 {}"};
  EXPECT_EQ(expand_headers(options), (lines{"Authorization: Bearer s3cret", "X-A: b",
                                            "X-B: s3cret-s3cret", "X-C: ", "X-D: $5 {}"}));
}

TEST_F(headers_test, refused) {
  struct {
    std::string option;
    std::string_view says;
  } const rows[] = {
      {"s3cret", "--header: want 'Name: value'"},
      {"X A: s3cret", "header \"X A\" is not a name"},
      {": s3cret", "is not a name"},
      {"X: s3cret\nY: z", "header \"X\" has a control character"},
      {"X: ${env:HEADWAY_TEST_BAD}", "header \"X\" has a control character"},
      {"X: ${env:HEADWAY_TEST_MISSING}", "variable \"HEADWAY_TEST_MISSING\" is not set"},
      {"X: ${env:HEADWAY_TEST_EMPTY}", "variable \"HEADWAY_TEST_EMPTY\" is empty"},
      {"X: ${HEADWAY_TEST_KEY}", "want ${env:NAME}"},
      {"X: ${env:HEADWAY_TEST_KEY", "want ${env:NAME}"},
      {"Content-Length: 3", "is set from the body"},
      {"transfer-encoding: chunked", "is set from the body"},
      {"@/does/not/exist", "--header @/does/not/exist: cannot read it"},
      {"@/", "cannot read it"},
  };
  for (auto const& row : rows) {
    auto const error = usage_error_of([&] { expand_headers(lines{row.option}); });
    EXPECT_NE(error.find(row.says), error.npos) << row.option << "\n" << error;
    EXPECT_EQ(error.find("s3cret"), error.npos) << error;
  }
}

TEST_F(headers_test, file) {
  auto const path = std::filesystem::path(testing::TempDir()) / "headway_headers_test";
  std::ofstream(path) << "# mine\r\n\r\nX-A: 1\r\n  X-B: ${env:HEADWAY_TEST_KEY}";
  EXPECT_EQ(expand_headers(lines{"@" + path.string()}), (lines{"X-A: 1", "X-B: s3cret"}));
  std::ofstream(path) << "X-A: 1\ns3cret\n";
  auto const error = usage_error_of([&] { expand_headers(lines{"@" + path.string()}); });
  EXPECT_EQ(error, path.string() + ":2: want 'Name: value'");
  std::filesystem::remove(path);
}

TEST(bound_headers, go_to_the_origin_of_the_base_url_only) {
  bound_headers bound({"A: b"}, {}, "https://API.example/v1");
  bound.admit("https://api.example:443");
  bound.admit("https://other:443");
  EXPECT_EQ(bound.of("https://api.example:443").size(), 1U);
  EXPECT_TRUE(bound.of("http://api.example:80").empty());
  EXPECT_TRUE(bound.of("https://other:443").empty());
}

// What a database says must not send a key in the clear, or to another port.
TEST(bound_headers, go_over_tls_where_lines_come_from_elsewhere) {
  lines const given = {"api.example", "b.example:8443", "http://c.example",
                       "127.0.0.1",   "127.0.0.2:8080", "127.d.example"};
  bound_headers const bound({"A: b"}, over_tls(given), "");
  for (auto const* const origin :
       {"https://api.example:443", "https://b.example:8443", "http://c.example:80",
        "https://127.0.0.1:443", "http://127.0.0.2:8080", "https://127.0.0.2:8080"})
    EXPECT_TRUE(bound.go_to(origin)) << origin;
  for (auto const* const origin :
       {"http://api.example:80", "https://api.example:8081", "http://b.example:8443",
        "http://127.d.example:80", "http://127.0.0.1:8080", "http://127.0.0.1:80",
        "http://127.0.0.2:8081"})
    EXPECT_FALSE(bound.go_to(origin)) << origin;
}

TEST(bound_headers, go_to_the_chosen_hosts) {
  struct {
    char const* host;
    char const* origin;
    bool bound;
  } const rows[] = {
      {"api.example", "https://api.example:443", true},
      {"API.Example", "https://api.example:443", true},
      {"api.example", "http://api.example:8080", true},
      {"api.example", "https://evil-api.example:443", false},
      {"api.example", "https://api.example.evil:443", false},
      {"example", "https://api.example:443", false},
      {"api.example:8080", "http://api.example:8080", true},
      {"api.example:8080", "http://api.example:80", false},
      {"api.example:443", "http://api.example:443", true},
      {"https://api.example", "https://api.example:443", true},
      {"https://api.example", "http://api.example:80", false},
      {"[::1]", "http://[::1]:8080", true},
      {"[0::1]:8080", "http://[::1]:8080", true},
      {"[::1]:8080", "http://[::1]:80", false},
  };
  for (auto const& row : rows) {
    bound_headers bound({"A: b"}, lines{row.host}, "https://base.example");
    EXPECT_EQ(!bound.of(row.origin).empty(), row.bound) << row.host << " " << row.origin;
    EXPECT_TRUE(bound.of("https://base.example:443").empty());
  }
  for (auto const* wrong : {"", "a b", "a/b", "u@a", "a:x", "::1", "https://a/b", "a?"})
    EXPECT_THROW(bound_headers({"A: b"}, lines{wrong}, ""), fatal) << wrong;
}

TEST(bound_headers, go_to_the_one_origin_of_the_file) {
  bound_headers bound({"A: s3cret"}, {}, "");
  EXPECT_TRUE(bound.of("https://a:443").empty());
  bound.admit("https://a:443");
  bound.admit("https://a:443");
  EXPECT_EQ(bound.of("https://a:443").size(), 1U);
  auto const error = usage_error_of([&] { bound.admit("https://b:443"); });
  EXPECT_EQ(
      error,
      "--header: JOBS has several origins (https://a:443, https://b:443); say with --header-for "
      "HOST to which the headers may go");
  EXPECT_TRUE(bound.of("https://b:443").empty());
}

TEST(bound_headers, tell_of_hosts_that_no_request_goes_to) {
  bound_headers bound({"A: b"}, lines{"api.example", "nohost", "https://b"}, "");
  bound.admit("https://api.example:8443");
  bound.admit("http://b:80");
  EXPECT_EQ(bound.unmet(),
            "--header-for nohost: no request of JOBS goes there\n"
            "--header-for https://b:443: no request of JOBS goes there\n");
  bound.admit("https://b:443");
  bound.admit("http://nohost:80");
  EXPECT_EQ(bound.unmet(), "");
  EXPECT_EQ(bound_headers({}, lines{"nohost"}, "").unmet(), "");
  EXPECT_EQ(bound_headers({"A: b"}, {}, "https://api.example").unmet(), "");
}

TEST(bound_headers, no_headers_no_rule) {
  bound_headers bound;
  bound.admit("https://a:443");
  bound.admit("https://b:443");
  EXPECT_TRUE(bound.of("https://a:443").empty());
}

TEST(without_secrets, however_they_are_repeated) {
  lines const headers = {"Authorization: Bearer s3/cr\"et", "Cookie: a=1; session=0123456789",
                         "Content-Type: application/json", "X-Empty:"};
  struct {
    std::string text;
    std::string shown;
  } const rows[] = {
      {"", ""},
      {"no such key", "no such key"},
      {"'Bearer s3/cr\"et'", "'…'"},
      {"s3/cr\"et, s3/cr\"et", "…, …"},
      {R"({"key":"s3\/cr\"et"})", R"({"key":"…"})"},
      {"session 0123456789 is over", "session … is over"},
      {"no key s3/c", "no key …"},
      {"want application/json", "want application/json"},
  };
  for (auto const& row : rows) EXPECT_EQ(without_secrets(row.text, headers), row.shown);
}

TEST(credential_digest, tells_credentials_apart) {
  auto const of = [](lines const& headers) { return credential_digest(headers); };
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({"Accept: a", "X-Api-Key-Id: b"}), "");
  EXPECT_EQ(of({"Authorization: Bearer a"}).size(), 16U);
  EXPECT_EQ(of({"Authorization: Bearer a"}), of({"Accept: b", "authorization: Bearer a"}));
  EXPECT_EQ(of({"Cookie: a", "X-Api-Key: b"}), of({"X-Api-Key: b", "Cookie: a"}));
  for (auto const* name : {"Authorization", "Cookie", "X-Api-Key", "Api-Key"})
    EXPECT_NE(of({std::string(name) + ": a"}), of({std::string(name) + ": b"})) << name;
  EXPECT_NE(of({"X-Api-Key: a"}), of({"Api-Key: a"}));
}

}  // namespace
}  // namespace headway::app
