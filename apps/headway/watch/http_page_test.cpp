#include "watch/http_page.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

struct page_test : testing::Test {
  http_page page{.path = "/metrics", .type = "text/plain", .host = "box.example", .text = [] {
                   return "a 1\n";
                 }};

  std::string status(std::string const& request) const {
    auto const answer = page.answer(request);
    return answer ? answer->text.substr(0, answer->text.find("\r\n")) : "more";
  }
};

TEST_F(page_test, answers_under_its_own_names_only) {
  for (auto const* host : {"localhost", "LOCALHOST:9464", "127.0.0.1:9464", "10.0.0.7",
                           "[::1]:9464", "box.example", "box.example:80"})
    EXPECT_EQ(status(std::string("GET /metrics HTTP/1.1\r\nHost: ") + host + "\r\n\r\n"),
              "HTTP/1.1 200 OK")
        << host;
  for (auto const* host : {"evil.example", "evil.example:9464", "", "127.0.0.1.evil.example"})
    EXPECT_EQ(status(std::string("GET /metrics HTTP/1.1\r\nHost: ") + host + "\r\n\r\n"),
              "HTTP/1.1 421 Misdirected Request")
        << host;
}

TEST_F(page_test, has_a_length_and_ends_the_connection) {
  auto const answer = page.answer("GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n").value();
  EXPECT_NE(answer.text.find("\r\nContent-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(answer.text.ends_with("\r\n\r\na 1\n"));
  EXPECT_TRUE(answer.last);
  auto const head = page.answer("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").value();
  EXPECT_NE(head.text.find("\r\nContent-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(head.text.ends_with("\r\n\r\n"));
}

TEST_F(page_test, refuses_all_else) {
  EXPECT_EQ(status("GET /metrics HTTP/1.1\r\nHost: local"), "more");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status("GET /metrics/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status("DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(status(std::string("\0\0\r\n\r\n", 6)), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(status("GET /metrics HTTP/1.1\nHost: a\x01\r\n\r\n"), "HTTP/1.1 400 Bad Request");
}

}  // namespace
}  // namespace headway::app
