#include "run/account.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace headway::app {
namespace {

using lines = std::vector<std::string>;

job job_to(std::string url, std::string scope = {}) {
  job j;
  j.origin = destination_of(url).origin;
  j.url = std::move(url);
  j.scope = std::move(scope);
  return j;
}

TEST(account, is_origin_credential_and_scope_and_nothing_else) {
  auto j = job_to("https://api.example/a?b=c");
  auto const mine = account_of(j, lines{"Authorization: Bearer mine"});
  j.url = "https://api.example/d";
  j.method = "POST";
  j.body = "body";
  EXPECT_EQ(account_of(j, lines{"authorization: Bearer mine", "Accept: */*"}), mine);

  std::set<std::string> const all = {
      mine,
      account_of(job_to("https://other.example/a"), lines{"Authorization: Bearer mine"}),
      account_of(job_to("http://api.example/a"), lines{"Authorization: Bearer mine"}),
      account_of(job_to("https://api.example:8443/a"), lines{"Authorization: Bearer mine"}),
      account_of(job_to("https://api.example/a"), lines{"Authorization: Bearer other"}),
      account_of(job_to("https://api.example/a"), lines{}),
      account_of(job_to("https://api.example/a", "batch"), lines{"Authorization: Bearer mine"}),
  };
  EXPECT_EQ(all.size(), 7U);
}

TEST(account, does_not_give_the_credential_away) {
  auto const account = account_of(job_to("https://api.example/"), lines{"X-Api-Key: canary"});
  EXPECT_EQ(account.find("canary"), account.npos);
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
