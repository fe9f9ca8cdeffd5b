#include "pacing/account.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace headway::app {
namespace {

TEST(account, is_origin_credential_and_scope) {
  std::set<std::string> const all = {
      account_of("https://api.example:443", "c", ""), account_of("https://other:443", "c", ""),
      account_of("https://api.example:443", "d", ""), account_of("https://api.example:443", "", ""),
      account_of("https://api.example:443", "c", "batch")};
  EXPECT_EQ(all.size(), 5U);
}

TEST(account, stopped_ones_are_remembered_until_there_is_no_room) {
  stopped_accounts stopped;
  EXPECT_TRUE(stopped.empty());
  stopped.insert("a");
  EXPECT_TRUE(stopped.contains("a"));
  EXPECT_FALSE(stopped.contains("b"));
  EXPECT_FALSE(stopped.empty());
  for (std::size_t i = 2; i < stopped_accounts::accounts_max; ++i)
    stopped.insert(std::to_string(i));
  stopped.insert("a");  // again
  EXPECT_FALSE(stopped.full());
  stopped.insert("b");
  EXPECT_TRUE(stopped.full());
  EXPECT_TRUE(stopped.contains("a"));
}

}  // namespace
}  // namespace headway::app
