#include "base/address.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headway::app {
namespace {

TEST(address, is_an_ip_address_and_a_port) {
  EXPECT_EQ(address::parse("127.0.0.1:8080"), (address{"127.0.0.1", 8080}));
  EXPECT_EQ(address::parse("[::1]:0"), (address{"::1", 0}));
  EXPECT_EQ(address::parse("localhost:65535"), (address{"127.0.0.1", 65535}));
  for (auto const* const wrong :
       {"8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1: 1",
        "example.org:80", "::1:80", "[127.0.0.1]:80", "[::1:80", ":80", "[]:80", "1.2.3:80"})
    EXPECT_THROW(address::parse(wrong), std::invalid_argument) << wrong;
}

TEST(address, is_written_as_in_a_url) {
  EXPECT_EQ(address::parse("[::1]:80").text(), "[::1]:80");
  EXPECT_EQ(address::parse("0.0.0.0:80").text(), "0.0.0.0:80");
}

TEST(address, knows_what_leads_to_this_machine) {
  EXPECT_TRUE(address::parse("127.9.9.9:1").is_loopback());
  EXPECT_TRUE(address::parse("[::1]:1").is_loopback());
  EXPECT_FALSE(address::parse("0.0.0.0:1").is_loopback());
  EXPECT_FALSE(address::parse("[::]:1").is_loopback());
  EXPECT_FALSE(address::parse("10.0.0.1:1").is_loopback());
}

}  // namespace
}  // namespace headway::app
