#include "headway/driver/machine_governor.hpp"

#include <gtest/gtest.h>

#include "folder.hpp"
#include "headway/driver/polled.hpp"
#include "headway/driver/turn.hpp"

namespace headway {
namespace {

constexpr fraction u{};
constexpr time_point start{1h};

class machine_governor_test : public folder_test {
 protected:
  machine_governor join(seek const& law = {}, governor_settings const& settings = {}) const {
    return machine_governor("k", settings, law, folder + "/headway");
  }
  /// One request goes, if it may: as a driver asks.
  static std::optional<ticket> go(machine_governor& g, time_point now) {
    EXPECT_EQ(g.expired(now), std::nullopt);
    rng chance(1);
    return take_turn(g, now, chance);
  }
};

TEST_F(machine_governor_test, a_turn_that_one_took_is_not_the_other_s) {
  auto a = join({.level = 10});
  auto b = join({.level = 10});
  a.submit(start);
  b.submit(start);
  EXPECT_TRUE(go(a, start));
  EXPECT_FALSE(go(b, start));
  EXPECT_EQ(b.why(start).why, reason::pace);
  EXPECT_TRUE(go(b, start + 200ms));
}

TEST_F(machine_governor_test, two_that_look_at_once_do_not_take_one_turn_twice) {
  auto a = join({.level = 10});
  auto b = join({.level = 10});
  for (auto* const each : {&a, &b}) each->submit(start);
  EXPECT_EQ(a.expired(start), std::nullopt);
  EXPECT_EQ(b.expired(start), std::nullopt);
  EXPECT_TRUE(a.next(start));
  EXPECT_TRUE(b.next(start)) << "as far as it has looked";
  rng chance(1);
  EXPECT_TRUE(take_turn(a, start, chance));
  EXPECT_FALSE(take_turn(b, start, chance));
  EXPECT_TRUE(go(b, start + 1s));
}

// Nothing of its own will wake it: it must ask again by itself.
TEST_F(machine_governor_test, a_wait_for_permits_of_another_ends_when_they_are_free) {
  seek const one_slot{.level = 1, .top = {.at = 1, .slots = true}};
  auto a = join(one_slot);
  auto b = join(one_slot);
  a.submit(start);
  auto const sent = go(a, start);
  ASSERT_TRUE(sent);
  b.submit(start + 10s);
  EXPECT_FALSE(go(b, start + 10s));
  EXPECT_EQ(b.why(start + 10s).why, reason::window);
  EXPECT_LE(b.wakeup(start + 10s), start + 10s + 5ms);
  a.finish(start + 11s, *sent, {}, u);
  EXPECT_TRUE(go(b, start + 12s));
}

TEST_F(machine_governor_test, what_a_server_or_the_caller_says_holds_all) {
  auto a = join();
  auto b = join();
  a.submit(start);
  auto const sent = go(a, start);
  ASSERT_TRUE(sent);
  a.finish(start, *sent, {.what = outcome::throttle, .advice = {.retry_after = 5s}}, u);
  b.submit(start + 1s);
  EXPECT_FALSE(go(b, start + 4s));
  EXPECT_EQ(b.why(start + 4s), (held_back{reason::server_hint, start + 5s}));
  b.hold(start + 1min);
  EXPECT_FALSE(go(a, start + 50s));
  EXPECT_TRUE(go(a, start + 1min));
}

TEST_F(machine_governor_test, a_request_that_is_dropped_gives_its_permit_back) {
  seek const one_slot{.level = 1, .top = {.at = 1, .slots = true}};
  auto a = join(one_slot);
  auto b = join(one_slot);
  a.submit(start);
  a.cancel(start, *go(a, start));
  b.submit(start + 10s);
  EXPECT_TRUE(go(b, start + 10s));
}

TEST_F(machine_governor_test, fits_a_loop_of_one_s_own) {
  basic_polled<machine_governor> api(join());
  ASSERT_TRUE(std::holds_alternative<ticket>(api.submit()));
  EXPECT_EQ(api.expired(), std::nullopt);
  auto const sent = api.next();
  ASSERT_TRUE(sent);
  EXPECT_EQ(api.done(*sent).what, verdict::done);
  EXPECT_EQ(api.state().company(), 0);
}

}  // namespace
}  // namespace headway
