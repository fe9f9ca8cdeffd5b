#include "client/redirect.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/url.hpp"

namespace headway::app {
namespace {

redirect follow(std::string_view method, int status, std::string_view location,
                std::string_view url = "https://a.example/x/y?q=1") {
  std::array<http::field, 1> const fields{{{"location", location}}};
  return next_hop(method, url, destination_of(std::string(url)).origin, status, fields);
}

TEST(redirect, resolves_as_rfc_3986_does) {
  for (auto const& [location, want] : {std::pair{"/z", "https://a.example/z"},
                                       {"z?r=2", "https://a.example/x/z?r=2"},
                                       {"?r=2", "https://a.example/x/y?r=2"},
                                       {"../z", "https://a.example/z"},
                                       {"//b.example/z", "https://b.example/z"},
                                       {"https://b.example:444/#part", "https://b.example:444/"},
                                       {"/a b", "https://a.example/a%20b"}})
    EXPECT_EQ(follow("GET", 302, location).url, want) << location;
}

TEST(redirect, knows_the_origin) {
  EXPECT_TRUE(follow("GET", 301, "HTTPS://A.example:443/z").same_origin);
  EXPECT_FALSE(follow("GET", 301, "https://a.example:444/z").same_origin);
  EXPECT_FALSE(follow("GET", 301, "https://b.example/z").same_origin);
}

TEST(redirect, leads_nowhere_it_should_not) {
  for (auto const* location : {"", "http://a.example/z", "ftp://a.example/", "file:///etc/passwd",
                               "javascript:1", "https://user:secret@a.example/", "https://",
                               "https://a.example:99999/", "https://a\x01.example/"}) {
    auto const hop = follow("GET", 302, location);
    EXPECT_EQ(hop.url, "") << location;
    EXPECT_NE(hop.why, "") << location;
  }
  EXPECT_EQ(next_hop("GET", "https://a.example/", "https://a.example:443", 302, {}).url, "");
  EXPECT_NE(follow("GET", 302, "https://a.example/", "http://a.example/").url, "");
}

TEST(redirect, keeps_the_method_or_is_not_followed) {
  for (auto const status : {301, 302, 303, 307, 308}) {
    EXPECT_TRUE(is_redirect(status));
    EXPECT_NE(follow("GET", status, "/z").url, "");
    EXPECT_NE(follow("HEAD", status, "/z").url, "");
    EXPECT_EQ(follow("POST", status, "/z").url.empty(), status < 307);
    EXPECT_EQ(follow("DELETE", status, "/z").url.empty(), status < 307);
  }
  for (auto const status : {200, 300, 304, 305, 306, 309}) EXPECT_FALSE(is_redirect(status));
}

TEST(redirect, is_followed_so_far) {
  redirect const hop{.url = "https://a.example/3"};
  std::vector<std::string> const hops = {"https://a.example/1"};
  EXPECT_EQ(why_not(hop, "https://a.example/2", hops, 2), "");
  EXPECT_EQ(why_not(hop, "https://a.example/2", hops, 1),
            "more than 1 redirects (--redirects-max)");
  EXPECT_EQ(why_not(hop, "https://a.example/2", hops, 0), "redirects are not followed");
  EXPECT_EQ(why_not(hop, hop.url, hops, 2), "the redirect leads back to where it was");
  EXPECT_EQ(why_not({.url = hops[0]}, "https://a.example/2", hops, 2),
            "the redirect leads back to where it was");
  EXPECT_EQ(why_not({.why = "it is ftp"}, "https://a.example/2", hops, 2),
            "the redirect is not followed: it is ftp");
}

}  // namespace
}  // namespace headway::app
