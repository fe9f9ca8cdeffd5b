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
  auto* const a = all.at(time_point(1s), "a");
  all.at(time_point(1s), "b");
  EXPECT_EQ(all.at(time_point(1s), std::string("a")), a);
  EXPECT_EQ(made, "ab");
  EXPECT_EQ(all.size(), 2U);
}

TEST(keyed, evicts_the_least_recently_used_that_is_idle) {
  scopes all(3, fresh);
  time_point const now{1s};
  auto* const busy = all.at(time_point(1s), "waits");
  auto const t = std::get<ticket>(busy->submit(now));
  all.at(time_point(1s), "old");
  all.at(time_point(1s), "new");
  all.at(time_point(1s), "old");
  all.at(time_point(1s), "another");  // in place of "new"
  std::string left;
  for (auto const& [scope, governor] : all) left += scope + " ";
  EXPECT_EQ(left, "another old waits ");
  EXPECT_EQ(all.at(time_point(1s), "waits"), busy);
  EXPECT_EQ(busy->waiting(), 1U);
  busy->start(now, t, 0);
  all.at(time_point(1s), "c");
  all.at(time_point(1s), "d");
  all.at(time_point(1s), "e");
  EXPECT_EQ(all.at(time_point(1s), "waits"), busy) << "what flies is not evicted";
}

TEST(keyed, keeps_what_a_server_said) {
  scopes all(1, fresh);
  time_point const now{1s};
  auto* const held = all.at(now, "held");
  auto const t = std::get<ticket>(held->submit(now));
  held->start(now, t, 0);
  held->finish(now, t, {.what = outcome::throttle, .advice = {.retry_after = 10s}}, 0);
  held->cancel(now, t);
  EXPECT_EQ(all.at(now + 9s, "other"), nullptr);
  EXPECT_NE(all.at(now + 10s, "other"), nullptr);
}

TEST(keyed, has_none_when_all_are_busy) {
  scopes all(2, fresh);
  time_point const now{1s};
  auto const t = std::get<ticket>(all.at(time_point(1s), "a")->submit(now));
  all.at(time_point(1s), "b")->submit(now);
  EXPECT_EQ(all.at(time_point(1s), "c"), nullptr);
  EXPECT_EQ(all.size(), 2U);
  all.at(time_point(1s), "a")->cancel(now, t);
  EXPECT_NE(all.at(time_point(1s), "c"), nullptr);
  EXPECT_EQ(scopes(0, fresh).at(time_point(1s), "a"), nullptr);
}

TEST(keyed, a_hint_holds_a_prefix_and_scopes_to_come) {
  scopes all(10, fresh);
  time_point const now{1s};
  auto* const was = all.at(now, "eu/a");
  all.hold(now, "eu/", now + 10s);
  all.hold(now, "eu/", now + 5s);
  EXPECT_EQ(was->held_until(), now + 10s);
  EXPECT_EQ(all.at(now, "eu/b")->held_until(), now + 10s);
  EXPECT_LE(all.at(now, "us/a")->held_until(), now);
  EXPECT_LE(all.at(now + 10s, "eu/c")->held_until(), now) << "it is over";
}

TEST(keyed, more_holds_than_it_keeps_hold_more_never_less) {
  scopes all(1000, fresh);
  time_point const now{1s};
  for (int i = 0; i < 500; ++i) all.hold(now, "eu/" + std::to_string(i) + "/", now + 10s);
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(all.at(now, "eu/" + std::to_string(i) + "/x")->held_until(), now + 10s) << i;
  EXPECT_LE(all.at(now, "us/1/")->held_until(), now);
}

}  // namespace
}  // namespace headway
