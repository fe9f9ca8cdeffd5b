#include "run/hop.hpp"

#include <gtest/gtest.h>

#include <array>

namespace headway::app {
namespace {

struct hop_test : testing::Test {
  hop_test() {
    r.what.url = "https://a.example/1";
    r.what.origin = "https://a.example:443";
    r.what.headers = {"Authorization: secret", "X-Kind: plain"};
  }
  bool goes_to(std::string_view where) {
    std::array<http::field, 1> const fields = {{{"Location", where}}};
    return take_hop(r, {.state = send_state::answered, .status = 302, .fields = fields}, options);
  }

  request r;
  run_options options;
};

TEST_F(hop_test, within_an_origin_all_goes_along) {
  ASSERT_TRUE(goes_to("/2"));
  EXPECT_EQ(r.what.url, "https://a.example/2");
  EXPECT_EQ(r.given_url(), "https://a.example/1");
  EXPECT_EQ(r.what.headers.size(), 2);
}

TEST_F(hop_test, another_origin_sees_no_credentials) {
  ASSERT_TRUE(goes_to("https://b.example/2"));
  EXPECT_EQ(r.what.origin, "https://b.example:443");
  EXPECT_EQ(r.what.headers, std::vector<std::string>{"X-Kind: plain"});
}

TEST_F(hop_test, a_signature_is_for_one_origin) {
  options.http.sigv4 = "aws:amz:eu-west-1:s3";
  EXPECT_TRUE(goes_to("/2"));
  EXPECT_FALSE(goes_to("https://b.example/3"));
  EXPECT_EQ(r.said, "the redirect leads to another origin, which --aws-sigv4 does not sign for");
  EXPECT_EQ(r.what.url, "https://a.example/2");
}

TEST_F(hop_test, only_so_many) {
  options.redirects_max = 1;
  EXPECT_TRUE(goes_to("/2"));
  EXPECT_FALSE(goes_to("/3"));
  EXPECT_NE(r.said, "");
}

}  // namespace
}  // namespace headway::app
