#include "proxy/routes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "proxy/guard.hpp"
#include "proxy/hints.hpp"
#include "proxy/passing.hpp"
#include "proxy/strict.hpp"

namespace headway::app::proxy {
namespace {

/// A request's head, read from its text.
struct asked {
  explicit asked(std::string const& text) {
    error_code e;
    reader.feed(text, e);
    EXPECT_FALSE(e) << text;
  }
  head const& operator*() const { return reader.start; }
  request_reader reader;
};

TEST(message, is_the_same_wherever_its_bytes_are_split) {
  std::string const text =
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4;ext=1\r\nwiki\r\nA\r\n0123456789\r\n0\r\nTrailer: dropped\r\n\r\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    request_reader r;
    std::string rest;
    for (auto const& part : {text.substr(0, cut), text.substr(cut)}) {
      rest += part;
      while (!rest.empty()) {
        error_code e;
        auto const used = r.feed(rest, e);
        ASSERT_FALSE(e) << cut << e.message();
        rest.erase(0, used);
        if (used == 0) break;
      }
    }
    EXPECT_TRUE(r.is_done()) << cut;
    EXPECT_EQ(r.body, "wiki0123456789") << cut;
    EXPECT_EQ(r.start.fields.size(), 2U) << cut;
  }
}

TEST(message, an_answer_may_fold_a_line_and_a_request_may_not) {
  error_code e;
  answer_reader a;
  a.feed("HTTP/1.1 200 OK\r\nX: one\r\n two\r\nContent-Length: 0\r\n\r\n", e);
  EXPECT_FALSE(e);
  EXPECT_EQ(a.start.find("x"), "one   two");
  request_reader r;
  r.feed("GET / HTTP/1.1\r\nHost: a\r\nX: one\r\n two\r\n\r\n", e);
  EXPECT_TRUE(e);
}

TEST(passing, a_signed_accept_encoding_stays_as_it_is) {
  upstream_config u;
  u.url = "https://aws.example";
  u.origin = "https://aws.example:443";
  asked const signed_by(
      "GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\nAuthorization: AWS4-HMAC-SHA256 "
      "Credential=x, SignedHeaders=accept-encoding;host, Signature=y\r\n\r\n");
  EXPECT_NE(request_head(*signed_by, u, "/", 0, "m").find("Accept-Encoding: br\r\n"),
            std::string::npos);
  asked const open("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, gzip;q=0.5\r\n\r\n");
  auto const text = request_head(*open, u, "/", 0, "m");
  EXPECT_NE(text.find("Accept-Encoding: gzip;q=0.5\r\n"), std::string::npos);
  EXPECT_NE(text.find("Host: aws.example\r\n"), std::string::npos);
}

TEST(hints, tell_priority_patience_and_cost) {
  asked const r(
      "GET / HTTP/1.1\r\nHost: a\r\nX-Headway-Priority: batch\r\nX-Headway-Deadline: 30\r\n"
      "X-Stainless-Timeout: 600\r\ngrpc-timeout: 20S\r\nX-Headway-Cost: tokens=350, requests=2\r\n"
      "X-Headway-Retry: never\r\nX-Headway-Client: c\r\n\r\n");
  auto const told = hints_of(*r, {});
  auto const& h = std::get<hints>(told);
  EXPECT_EQ(h.first, priority::batch);
  EXPECT_EQ(h.patience, duration(20s));
  ASSERT_EQ(h.costs.size(), 2U);
  EXPECT_EQ(h.again, hints::repeat::never);
  EXPECT_EQ(h.client, "c");
}

TEST(hints, theirs_that_make_no_sense_are_passed_over) {
  for (auto const* const field : {"X-Stainless-Timeout: inf", "grpc-timeout: 3x",
                                  "grpc-timeout: 123456789S", "x-envoy-expected-rq-timeout-ms: -1",
                                  "amz-sdk-request: ttl=never", "X-Stainless-Timeout: 1e300"}) {
    asked const r(std::string("GET / HTTP/1.1\r\nHost: a\r\n") + field + "\r\n\r\n");
    EXPECT_FALSE(std::get<hints>(hints_of(*r, {})).patience) << field;
  }
  asked const ttl(
      "GET / HTTP/1.1\r\nHost: a\r\namz-sdk-request: ttl=19700101T000130Z; attempt=1\r\n\r\n");
  EXPECT_EQ(std::get<hints>(hints_of(*ttl, {})).patience, duration(90s));
}

TEST(strict, knows_what_is_an_authority) {
  for (auto const* const good : {"a", "a.b:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "a_b", "a:"})
    EXPECT_TRUE(is_authority(good)) << good;
  for (auto const* const bad :
       {"", ":80", "a b", "a/b", "a@b", "[::1", "[g]", "a:8x", "a:123456", "[]"})
    EXPECT_FALSE(is_authority(bad)) << bad;
}

}  // namespace
}  // namespace headway::app::proxy
