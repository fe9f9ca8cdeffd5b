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

/// How many of `asked` requests go that come to two scopes in turn, one a millisecond, where there
/// is room for `most`. Each is answered at once.
template <class Governor>
int sent_by_two_scopes(std::size_t most, Governor const& each, attempt_result const& answer,
                       int asked) {
  keyed<Governor> all(most, [&](std::string_view) { return each; });
  time_point now{1s};
  int sent = 0;
  for (int i = 0; i < asked; ++i, now += 1ms) {
    auto* const g = all.at(now, i % 2 == 0 ? "a" : "b");
    if (!g) continue;
    auto const t = std::get<ticket>(g->submit(now));
    if (g->next(now) == t) {
      g->start(now, t, 0);
      g->finish(now, t, answer, 0);
      ++sent;
    }
    g->cancel(now, t);
  }
  return sent;
}

// An evicted scope comes back as new: were it sooner than its pace, a map that is full would let
// each of its scopes go without any.
TEST(keyed, no_scope_is_faster_for_lack_of_room) {
  default_governor const plain;
  default_governor const once_a_second({}, {}, {.rate_ceiling = gcra::per(1, 1s)});
  default_governor const burst({}, {}, {.rate_ceiling = gcra::per(1, 1s, 5)});
  for (auto const& each : {plain, once_a_second, burst})
    for (auto const what : {outcome::success, outcome::throttle}) {
      auto const with_room = sent_by_two_scopes(2, each, {.what = what}, 10'000);
      auto const without = sent_by_two_scopes(1, each, {.what = what}, 10'000);
      EXPECT_GT(without, 0);
      if (what == outcome::success) {
        EXPECT_LE(without, with_room);
      } else {
        EXPECT_LT(without, 1000) << "what it learned is lost, its pace is not";
      }
    }
}

TEST(keyed, a_governor_that_only_observes_makes_room_at_once) {
  default_observer const watched({}, {}, {.rate_ceiling = gcra::per(1, 1s)});
  EXPECT_EQ(sent_by_two_scopes(1, watched, {}, 1000), 1000);
}

TEST(keyed, says_when_there_is_room) {
  scopes all(2, fresh);
  time_point const now{1s};
  EXPECT_LE(all.room_at(), now);
  all.at(now, "held")->hold(now + 10s);
  EXPECT_LE(all.room_at(), now);
  auto const t = std::get<ticket>(all.at(now, "waits")->submit(now));
  EXPECT_EQ(all.room_at(), now + 10s);
  all.at(now, "held")->hold(never);
  EXPECT_EQ(all.room_at(), never);
  all.at(now, "waits")->cancel(now, t);
  EXPECT_LE(all.room_at(), now);
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
