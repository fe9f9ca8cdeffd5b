#include "headway/keyed.hpp"

#include <gtest/gtest.h>

#include <string>

#include "headway/headway.hpp"

namespace headway {
namespace {

using scopes = keyed<default_governor>;
default_governor fresh(std::string_view) {
  return default_governor();
}

TEST(keyed, makes_one_governor_for_each_scope) {
  std::string made;
  scopes all(10, [&](std::string_view scope) {
    made += scope;
    return fresh(scope);
  });
  auto* const a = all.at("a");
  all.at("b");
  EXPECT_EQ(all.at(std::string("a")), a);
  EXPECT_EQ(made, "ab");
  EXPECT_EQ(all.size(), 2U);
}

TEST(keyed, evicts_the_least_recently_used_that_is_idle) {
  scopes all(3, fresh);
  time_point const now{1s};
  auto* const busy = all.at("waits");
  auto const t = std::get<ticket>(busy->submit(now));
  all.at("old");
  all.at("new");
  all.at("old");
  all.at("another");  // in place of "new"
  std::string left;
  for (auto const& [scope, governor] : all) left += scope + " ";
  EXPECT_EQ(left, "another old waits ");
  EXPECT_EQ(all.at("waits"), busy);
  EXPECT_EQ(busy->waiting(), 1U);
  busy->start(now, t, 0);
  all.at("c");
  all.at("d");
  all.at("e");
  EXPECT_EQ(all.at("waits"), busy) << "what flies is not evicted";
}

TEST(keyed, has_none_when_all_are_busy) {
  scopes all(2, fresh);
  time_point const now{1s};
  auto const t = std::get<ticket>(all.at("a")->submit(now));
  all.at("b")->submit(now);
  EXPECT_EQ(all.at("c"), nullptr);
  EXPECT_EQ(all.size(), 2U);
  all.at("a")->cancel(now, t);
  EXPECT_NE(all.at("c"), nullptr);
  EXPECT_EQ(scopes(0, fresh).at("a"), nullptr);
}

}  // namespace
}  // namespace headway
