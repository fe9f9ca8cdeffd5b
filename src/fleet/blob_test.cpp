#include "headway/fleet/blob.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "headway/fleet/board.hpp"

namespace headway::fleet {
namespace {

constexpr time_point start(10s);

/// Draws values of each range, its ends included.
class draws {
 public:
  explicit draws(std::uint64_t seed) : draw_(seed) {}

  std::uint64_t any() { return pick(3) == 0 ? draw_() >> pick(64) : draw_() % 1000; }
  std::uint64_t pick(std::uint64_t count) { return draw_() % count; }
  bool coin() { return pick(2) == 0; }
  std::int32_t small() { return static_cast<std::int32_t>(pick(1001)); }
  time_point time() {
    auto const at = pick(8);
    if (at == 0) return time_point::min();
    if (at == 1) return never;
    return start + duration(static_cast<std::int64_t>(draw_() >> (20 + pick(40))));
  }

  turn a_turn() {
    return {.number = any(),
            .at = time(),
            .cost = 1 + small(),
            .epoch = any(),
            .sends = any(),
            .paced = coin(),
            .prompt = coin(),
            .withdrawn = coin()};
  }

  event an_event() {
    event e{.what = static_cast<event::kind>(pick(6)),
            .short_of = static_cast<resource>(pick(4)),
            .app_limited = coin(),
            .capped = coin(),
            .idle = coin(),
            .out = small(),
            .heard = small(),
            .turn = any(),
            .at = time(),
            .cost = 1 + small()};
    if (coin()) e.remaining = small();
    if (coin()) e.reset = duration(static_cast<std::int64_t>(draw_()));
    return e;
  }

  report a_report() {
    report r{.from = small(),
             .number = any(),
             .at = time(),
             .wants = small(),
             .cost = 1 + small(),
             .quick = coin(),
             .leaves = coin(),
             .held = time(),
             .lost = coin(),
             .with = {duration(small()), duration(small()), small()}};
    if (coin()) r.refused = any();
    for (auto n = pick(5); n > 0; --n) r.events.push_back(an_event());
    return r;
  }

  grant a_grant() {
    grant g{.version = any(),
            .at = start + std::chrono::milliseconds(pick(1'000'000)),
            .permits = small(),
            .quick = coin(),
            .slots = coin(),
            .members = small(),
            .sharing = 1 + small(),
            .pace = static_cast<double>(small()) / 7,
            .epoch = any(),
            .held = pick(2) == 0 ? time_point::min() : start};
    if (coin()) g.law.emplace().remember({.rate = 1.0 + small(), .latency = 0.1}, 0s);
    for (auto n = pick(5); n > 0; --n) g.turns.push_back(a_turn());
    return g;
  }

 private:
  rng draw_;
};

/// A state after some work of three members: with turns planned, flights and pending events.
state used() {
  state s;
  s.law.remember({.rate = 100, .latency = 0.05}, 0s);
  for (std::uint64_t number = 1; number <= 20; ++number) {
    auto const now = start + number * 100ms;
    std::vector<report> all;
    for (member_id id = 1; id <= 3; ++id) {
      if (id == 3 && number > 17) continue;  // its answers are waited for
      report r{.from = id, .number = number, .at = now, .wants = 9, .quick = true};
      r.with = {3ms, 0ns, 40};
      for (auto const& t : grant_of(s, id).turns) {
        if (t.at > now) continue;
        auto e = event{.what = event::kind::sent, .out = 1, .turn = t.number, .at = t.at};
        r.events.push_back(e);
        if (number % 5 == 0) continue;
        e.what = t.number % 30 == 0 ? event::kind::throttle : event::kind::success;
        e.remaining = 1000;
        e.reset = 1h;
        r.events.push_back(e);
      }
      all.push_back(r);
    }
    s = combine(std::move(s), all, now);
  }
  return s;
}

TEST(blob, gives_a_report_back) {
  draws draw(1);
  for (int i = 0; i < 20'000; ++i) {
    auto const r = draw.a_report();
    ASSERT_EQ(read_report(to_blob(r)), r) << i;
  }
}

TEST(blob, gives_a_grant_back) {
  draws draw(2);
  for (int i = 0; i < 20'000; ++i) {
    auto const g = draw.a_grant();
    ASSERT_EQ(read_grant(common_blob(g), own_blob(g)), g) << i;
  }
}

TEST(blob, gives_a_state_back) {
  EXPECT_EQ(read_state(to_blob(state{})), state{});
  auto const s = used();
  EXPECT_FALSE(s.flights.empty());
  EXPECT_FALSE(s.pending.empty());
  EXPECT_FALSE(s.members[0].planned.empty());
  EXPECT_TRUE(s.ceiling && s.remaining);
  EXPECT_EQ(read_state(to_blob(s)), s);
}

TEST(blob, keeps_more_refused_tests_than_a_row_has) {
  state s;
  s.law.luck.row.refused =
      chance::tests + 1;  // a turn that was taken back went, and the next of its stamp
  EXPECT_EQ(read_state(to_blob(s)), s);
}

TEST(blob, is_small) {
  EXPECT_LE(to_blob(used()).size(), 3'000);
  std::vector<report> all;
  for (member_id id = 1; id <= 1000; ++id)
    all.push_back({.from = id, .number = 1000, .at = start, .wants = 5});
  EXPECT_LE(to_blob(combine({}, all, start)).size(), 60'000);
}

TEST(blob, of_a_member_without_a_part_of_its_own_has_no_turns) {
  draws draw(3);
  auto g = draw.a_grant();
  auto const read = read_grant(common_blob(g), {});
  g.turns.clear();
  g.permits = grant{}.permits;
  g.quick = false;
  EXPECT_EQ(read, g);
}

TEST(blob, of_another_version_or_kind_is_none) {
  auto const s = to_blob(used());
  auto const r = to_blob(draws(4).a_report());
  EXPECT_FALSE(read_state(r));
  EXPECT_FALSE(read_report(s));
  auto other = r;
  other[3] = '2';
  EXPECT_FALSE(read_report(other));
  for (std::size_t at = 0; at < 19; ++at) {  // the head: kind, and digest of the law's layout
    other = s;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_FALSE(read_state(other)) << at;
  }
}

TEST(blob, of_the_law_of_another_build_leaves_the_rest_of_a_grant) {
  draws draw(5);
  auto g = draw.a_grant();
  g.law.emplace();
  auto common = common_blob(g);
  auto const at = common.find("hwL");
  ASSERT_NE(at, common.npos);
  common[at + 5] = static_cast<char>(common[at + 5] ^ 1);
  g.law.reset();
  EXPECT_EQ(read_grant(common, own_blob(g)), g);
}

TEST(blob, that_is_too_short_or_too_long_is_none) {
  auto const s = to_blob(used());
  auto const r = to_blob(draws(6).a_report());
  auto const g = draws(7).a_grant();
  for (std::size_t size = 0; size < s.size(); ++size)
    ASSERT_FALSE(read_state(std::string_view(s).substr(0, size))) << size;
  for (std::size_t size = 0; size < r.size(); ++size)
    ASSERT_FALSE(read_report(std::string_view(r).substr(0, size))) << size;
  EXPECT_FALSE(read_state(s + '\0'));
  EXPECT_FALSE(read_report(r + '\0'));
  EXPECT_FALSE(read_grant(common_blob(g) + '\0', own_blob(g)));
  EXPECT_FALSE(read_grant(common_blob(g), own_blob(g) + '\0'));
}

TEST(blob, takes_a_foothold_across) {
  auto s = used();
  s.law.last.hold = {.now = foothold::at::held,
                     .share = .3,
                     .answers = 60,
                     .lately = .4,
                     .usual = .5,
                     .level = 6,
                     .fewer = 7,
                     .more = 8,
                     .heard = 9,
                     .row = 100,
                     .passed = 2,
                     .due = 11,
                     .pause = 12};
  EXPECT_EQ(read_state(to_blob(s)), s);
  for (auto const odds : {&foothold::fewer, &foothold::more}) {
    auto wrong = s;
    wrong.law.last.hold.*odds = 2 * foothold::certain_held;
    EXPECT_FALSE(read_state(to_blob(wrong)));
  }
}

TEST(blob, takes_a_loop_that_wants_too_much_across) {
  auto s = used();
  s.law.wanted.over = {.now = excess::at::own,
                       .since = time_point{1s},
                       .accepted = 2,
                       .rows = 3,
                       .seconds = .4,
                       .variance = .5,
                       .share = .6,
                       .rounds = 2,
                       .odds = 7,
                       .heard = 8,
                       .due = 9,
                       .pause = 10};
  EXPECT_EQ(read_state(to_blob(s)), s);
  s.law.wanted.over.share = 2;
  EXPECT_FALSE(read_state(to_blob(s)));
}

/// The blob of a state with one number of its law in place of another.
std::string with(double was, double is) {
  auto s = used();
  s.law.level = was;
  auto blob = to_blob(s);
  char from[sizeof was], to[sizeof is];
  std::memcpy(from, &was, sizeof was);
  std::memcpy(to, &is, sizeof is);
  auto const at = blob.find(std::string(from, sizeof from));
  EXPECT_NE(at, blob.npos);
  return blob.replace(at, sizeof to, to, sizeof to);
}

TEST(blob, with_a_number_that_no_law_has_is_none) {
  EXPECT_TRUE(read_state(with(123.25, 99.5)));
  for (auto const wrong : {0.0, -1.0, 2e7, static_cast<double>(NAN), static_cast<double>(INFINITY)})
    EXPECT_FALSE(read_state(with(123.25, wrong))) << wrong;
}

TEST(blob, with_a_pace_that_waits_for_years_is_none) {
  auto s = used();
  s.law.turn.next = s.at + 40h;
  EXPECT_TRUE(read_state(to_blob(s)));
  s.law.turn.next = s.at + 50h;
  EXPECT_FALSE(read_state(to_blob(s)));
}

TEST(blob, that_is_out_of_order_is_none) {
  auto s = used();
  std::swap(s.members[0], s.members[1]);
  EXPECT_FALSE(read_state(to_blob(s)));
  s = used();
  s.members[1].id = s.members[0].id;
  EXPECT_FALSE(read_state(to_blob(s)));
  s = used();
  ASSERT_GE(s.flights.size(), 2U);
  std::swap(s.flights[0].on.number, s.flights[1].on.number);
  EXPECT_FALSE(read_state(to_blob(s)));
}

TEST(blob, that_is_damaged_is_none_or_gives_the_same_bytes) {
  auto const s = to_blob(used());
  rng draw(8);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = s;
    damaged[19 + draw() % (s.size() - 19)] = static_cast<char>(draw());
    auto const state = read_state(damaged);
    if (!state) continue;
    ++read;
    ASSERT_EQ(to_blob(*state), damaged);
  }
  EXPECT_GT(read, 1000);  // a number in place of another is within its range
}

}  // namespace
}  // namespace headway::fleet
