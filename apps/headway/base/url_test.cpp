#include "base/url.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(Url, Origin) {
  struct {
    char const* url;
    char const* origin;
  } const rows[] = {
      {"http://x", "http://x:80"},
      {"HTTP://X.Example./a", "http://x.example.:80"},
      {"https://x?q", "https://x:443"},
      {"https://x#f", "https://x:443"},
      {"https://x:443/", "https://x:443"},
      {"https://x:0443/", "https://x:443"},
      {"http://x:65535/a:b@c", "http://x:65535"},
      {"http://127.0.0.1:8429/", "http://127.0.0.1:8429"},
      {"http://[::1]/", "http://[::1]:80"},
      {"http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080"},
      {"http://[2001:DB8::A]/", "http://[2001:db8::a]:80"},
      {"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example:443"},
  };
  for (auto const& row : rows) {
    EXPECT_EQ(url_problem(row.url), "") << row.url;
    EXPECT_EQ(origin(row.url), row.origin);
  }
}

TEST(Url, Refused) {
  struct {
    std::string url;
    std::string_view says;
  } const rows[] = {
      {"", "want http://"},
      {"x.example/a", "want http://"},
      {"/a", "want http://"},
      {"/a?b=http://x/", "want http://"},
      {"http:/x", "want http://"},
      {"http:x", "want http://"},
      {"://x/", "want http://"},
      {"ftp://x/", "want http or https"},
      {"file:///etc/passwd", "want http or https"},
      {"http:///a", "want a host"},
      {"http://", "want a host"},
      {"http://:80/", "want a host"},
      {"http://x\\@y/", "user:password"},
      {"http://x\\y/", "want a host"},
      {"http://x%2ey/", "want a host"},
      {"http://[::1/", "want a host"},
      {"http://[]/", "want a host"},
      {"http://[::1%25eth0]/", "want a host"},
      {"http://[::1]x/", "want a host"},
      {"http://x:/", "want a port from 1 to 65535"},
      {"http://x:0/", "want a port"},
      {"http://x:65536/", "want a port"},
      {"http://x:-1/", "want a port"},
      {"http://x:+1/", "want a port"},
      {"http://x:8o/", "want a port"},
      {"http://x:1:2/", "want a port"},
      {"http://x/a b", "byte 11 must be written as %20"},
      {"http://x/\t", "must be written as %09"},
      {"http://x/\xc3\xa9", "must be written as %C3"},
      {"http://x/\x1b[2J", "must be written as %1B"},
      {"http://u:secret@x/", "user:password"},
      {"htp://u:secret@x/", "user:password"},
      {"u:secret@x/", "user:password"},
      {"http://x:0/?key=secret", "want a port"},
      {"http://x/" + std::string(65'536, 'a'), "url has 65545 bytes; want at most 65536"},
  };
  for (auto const& row : rows) {
    auto const problem = url_problem(row.url);
    EXPECT_NE(problem.find(row.says), problem.npos) << row.url << "\n" << problem;
    EXPECT_EQ(problem.find("secret@"), problem.npos) << problem;
    EXPECT_EQ(problem.find("=secret"), problem.npos) << problem;
    EXPECT_EQ(problem.find('\x1b'), problem.npos) << problem;
  }
}

}  // namespace
}  // namespace headway::app
