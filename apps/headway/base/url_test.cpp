#include "base/url.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_libcurl.hpp"
#include "headway/random.hpp"

namespace headway::app {
namespace {

TEST(url, origin) {
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
      {"http://x:/", "http://x:80"},
      {"http://x%2ey/", "http://x.y:80"},
      {"http://0x7f.1/", "http://127.0.0.1:80"},
      {"http://0177.0.0.1/", "http://127.0.0.1:80"},
      {"http://2130706433/", "http://127.0.0.1:80"},
      {"http://x#@y/", "http://x:80"},
      {"http://x?@y/", "http://x:80"},
      {"http://x/@y/", "http://x:80"},
      {"http://x/\\@y/", "http://x:80"},
  };
  for (auto const& row : rows) {
    auto const to = destination_of(row.url);
    EXPECT_EQ(to.problem, "") << row.url;
    EXPECT_EQ(to.origin, row.origin);
  }
}

TEST(url, refused) {
  struct {
    std::string url;
    std::string_view says;
  } const rows[] = {
      {"", "want http://"},
      {"x.example/a", "want http://"},
      {"not a url", "want http://"},
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
      {"http://x%2fy/", "want a host"},
      {"http://x%00y/", "want a host"},
      {"http://[::1/", "want a host"},
      {"http://[]/", "want a host"},
      {"http://[::1%25eth0]/", "want a host"},
      {"http://[::1]x/", "want a port"},
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
      {"http://a@b:secret@x/", "user:password"},
      {"http://@x/", "user:password"},
      {"htp://u:secret@x/", "want http or https"},
      {"u:secret@x/", "want http://"},
      {"http://u:secret?x@y/", "want a port"},
      {"http://x:70000/@secret@", "want a port"},
      {"http://x:0/?key=secret", "want a port"},
      {"http://x/" + std::string(65'536, 'a'), "url has 65545 bytes; want at most 65536"},
  };
  for (auto const& row : rows) {
    auto const [origin, problem] = destination_of(row.url);
    EXPECT_EQ(origin, "") << row.url;
    EXPECT_NE(problem.find(row.says), problem.npos) << row.url << "\n" << problem;
    EXPECT_EQ(problem.find("secret@"), problem.npos) << problem;
    EXPECT_EQ(problem.find("=secret"), problem.npos) << problem;
    EXPECT_EQ(problem.find('\x1b'), problem.npos) << problem;
  }
}

/// A credential goes to the origin that we read, and the request to the one that libcurl reads.
TEST(url, goes_where_libcurl_sends_it) {
  auto const agree = [](std::string const& url) {
    auto const [origin, problem] = destination_of(url);
    EXPECT_EQ(origin.empty(), !problem.empty()) << url;
    if (origin.empty()) return false;
    EXPECT_EQ(where_libcurl_sends(url), origin) << url;
    return true;
  };
  for (auto const* url : {"http://victim.example#@evil.example/",
                          "http://victim.example?@evil.example/",
                          "http://victim.example/@evil.example",
                          "http://victim.example\\@evil.example/",
                          "https://victim.example:443@evil.example/",
                          "http://victim.example%2eevil.example/",
                          "http://evil.example%2f@victim.example/",
                          "http://evil.example%23@victim.example/",
                          "http://[::ffff:1.2.3.4]/",
                          "http://[::1%25lo]:80/",
                          "http://[fe80::1%lo]/",
                          "http://[v1.x]/",
                          "http://0x7f.1/",
                          "http://0x7f000001:00080/",
                          "http://0177.1/",
                          "http://08.1/",
                          "http://1.2.3.4.5/",
                          "http://256.1.1.1/",
                          "http://1/",
                          "http://victim.example.:080/",
                          "HTTPS://VICTIM.EXAMPLE:/",
                          "https://victim.example:0x1bb/",
                          "http://xn--bcher-kva.example/",
                          "http://a_b.-.example/"})
    agree(url);
  char const* const seed_text = std::getenv("HEADWAY_SEED");
  auto const seed = seed_text == nullptr ? 1 : std::strtoull(seed_text, nullptr, 10);
  SCOPED_TRACE(seed);
  rng chance(seed);
  auto const one_of = [&](auto const& all) { return all[chance() % std::size(all)]; };
  constexpr char const* schemes[] = {"http://", "https://", "HTTP://", "hTTps://", "http:/", "//"};
  constexpr char const* pieces[] = {"a",
                                    "victim.example",
                                    "evil.example",
                                    "127.0.0.1",
                                    "0x7f",
                                    "1",
                                    "08",
                                    "[::1]",
                                    "[::",
                                    "]",
                                    "[2001:DB8::A]",
                                    "xn--a",
                                    ":80",
                                    ":443",
                                    ":0",
                                    ":080",
                                    ":",
                                    ":65536",
                                    "@",
                                    "#",
                                    "?",
                                    "/",
                                    "\\",
                                    "%2e",
                                    "%40",
                                    "%2f",
                                    "%25",
                                    "..",
                                    ".",
                                    ";",
                                    "&",
                                    "=",
                                    "u:p@",
                                    "%00",
                                    "\t",
                                    "A",
                                    "|",
                                    "^",
                                    "~",
                                    "$",
                                    "`",
                                    "{",
                                    "'",
                                    "*",
                                    "%"};
  int sent = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string url = one_of(schemes);
    for (auto n = 1 + chance() % 6; n > 0; --n) url += one_of(pieces);
    sent += agree(url) ? 1 : 0;
  }
  EXPECT_GT(sent, 100);
}

TEST(short_name, is_without_what_goes_without_saying) {
  EXPECT_EQ(short_name("https://api.example:443"), "api.example");
  EXPECT_EQ(short_name("http://api.example:80 gpt-4"), "api.example gpt-4");
  EXPECT_EQ(short_name("https://api.example:80"), "api.example:80");
  EXPECT_EQ(short_name("http://[::1]:443"), "[::1]:443");
}

TEST(escaped, what_no_url_has_but_in_its_host) {
  EXPECT_EQ(escaped("http://h/a b?q=\xc3\xbc#\xff"), "http://h/a%20b?q=%C3%BC#%FF");
  EXPECT_EQ(escaped("http://h/a%20b"), "http://h/a%20b");
  EXPECT_EQ(escaped("http://\xc3\xbc/ "), "http://\xc3\xbc/%20") << "a host is another's";
  EXPECT_EQ(escaped("http://h/\x1b"), "http://h/\x1b") << "which is refused";
}

}  // namespace
}  // namespace headway::app
