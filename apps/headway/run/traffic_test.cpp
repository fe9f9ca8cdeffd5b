#include "run/traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr time_point now{1s};

/// JOBS of a test, which remembers what was put back and left open.
struct test_source final : source {
  bool remembers() const noexcept override { return true; }
  bool in_doubt(job const&) const noexcept override { return false; }
  bool may_go(time_point, job const&) const override { return answers; }
  void leave_open(job const& j) override { open.push_back(j.line); }
  std::optional<job> take() override { return std::nullopt; }

  bool answers = true;
  std::vector<std::int64_t> open{};
};

struct no_ledger final : ledger {
  void commit(change_group const&) override {}
  void require_untouched() const override {}
  void close() override {}
};

struct traffic_test : testing::Test {
  traffic_test() { all.open(log); }

  static pacing_settings settings() {
    pacing_settings s;
    s.law = law_named("fixed(rate=1000/s,burst=100)");
    s.governor.queue_max = 2;
    s.governor.first_alone = 0ns;
    s.alone = true;
    return s;
  }
  static job line(std::int64_t number, std::string origin = "http://api.example") {
    job j;
    j.line = number;
    j.url = origin + "/x";
    j.origin = std::move(origin);
    return j;
  }
  /// The next one whose turn has come.
  std::optional<std::uint32_t> turn() {
    for (auto& [key, l] : paces) {
      l.open(now, true);
      auto const its = l.next(now, chance);
      l.rest(now, true);
      if (its) return all[its->number].out = true, its->number;
    }
    return std::nullopt;
  }

  lanes paces{settings()};
  test_source jobs{};
  recorder log{std::make_unique<no_ledger>(), -1};
  traffic all{paces, jobs};
  rng chance{1};
};

TEST_F(traffic_test, a_request_waits_in_its_lane_until_its_turn) {
  EXPECT_TRUE(all.enter(now, line(1)).taken);
  EXPECT_EQ(all.live(), 1U);
  EXPECT_NE(all.words_of(1, now).find("waits in the queue of api.example"), std::string::npos);
  EXPECT_EQ(all.words_of(2, now), "");
  auto const first = turn();
  ASSERT_TRUE(first);
  EXPECT_EQ(all[*first].what.line, 1);
}

TEST_F(traffic_test, what_a_lane_has_no_room_for_comes_first_again) {
  for (int const n : {1, 2}) EXPECT_TRUE(all.enter(now, line(n)).taken);
  auto const third = all.enter(now, line(3));
  EXPECT_FALSE(third.taken);
  EXPECT_FALSE(third.never);
  EXPECT_EQ(jobs.next()->line, 3);
  EXPECT_EQ(all.live(), 2U);
}

TEST_F(traffic_test, what_can_never_be_admitted_is_handed_back) {
  auto dear = line(1);
  dear.cost = 1000;
  auto const entered = all.enter(now, std::move(dear));
  EXPECT_TRUE(entered.taken);
  ASSERT_TRUE(entered.never);
  EXPECT_EQ(entered.never->line, 1);
  EXPECT_EQ(entered.why, reason::quota);
  EXPECT_EQ(all.live(), 0U);
}

TEST_F(traffic_test, a_new_rate_lends_to_what_costs_more_than_its_burst) {
  auto dear = line(1);
  dear.cost = 5;
  all.enter(now, std::move(dear));
  EXPECT_EQ(paces.order(now, "", {.rate = lane_order::ceiling{parse_ceiling("1/s")}}), 1U);
  EXPECT_TRUE(turn());
}

TEST_F(traffic_test, a_stopped_account_gets_nothing_more) {
  all.enter(now, line(1));
  all.enter(now, line(2, "http://other.example"));
  paces.stop(*all[0].where);
  all.abandon_stopped();
  EXPECT_EQ(jobs.open, std::vector<std::int64_t>{1});
  EXPECT_TRUE(all.enter(now, line(3)).taken);
  EXPECT_EQ(jobs.open, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(all.live(), 1U);
}

TEST_F(traffic_test, what_is_announced_is_handed_out_in_order) {
  for (int const n : {1, 2}) {
    all.enter(now, line(n));
    all.announce(*turn());
  }
  EXPECT_EQ(all.announced_count(), 2U);
  for (int const n : {1, 2}) {
    auto const first = all.announced();
    ASSERT_TRUE(first);
    EXPECT_EQ(all[*first].what.line, n);
    EXPECT_TRUE(all[*first].intended);
    all.pop_announced();
  }
  EXPECT_FALSE(all.announced());
}

TEST_F(traffic_test, what_flies_unannounced_is_announced_and_waits_for_nothing) {
  for (int const n : {1, 2, 3}) all.enter(now, line(n));
  auto const flies = *turn(), announced = *turn();
  all.announce(announced);
  all.announce_flying();
  EXPECT_TRUE(all[flies].intended);
  EXPECT_EQ(all.announced_count(), 1U);
  EXPECT_FALSE(all[2].intended);
}

TEST_F(traffic_test, what_waits_aside_goes_back_once_it_may_go_and_loses_no_time) {
  all.enter(now, line(1));
  auto const first = turn();
  ASSERT_TRUE(first);
  all[*first].first_sent = now;
  jobs.answers = false;
  all.set_aside(*first, now);
  all.recall_aside(now + 5s);
  EXPECT_TRUE(all.any_aside());
  EXPECT_EQ(all.held_for_long(now), 1U);
  jobs.answers = true;
  all.recall_aside(now + 5s);
  EXPECT_FALSE(all.any_aside());
  EXPECT_EQ(all[*first].first_sent, now + 5s);
  EXPECT_EQ(all[*first].where->waiting(), 1U);
}

TEST_F(traffic_test, a_lost_line_has_no_result_and_is_not_left_open_here) {
  all.enter(now, line(1));
  all.enter(now, line(2));
  auto const flies = turn();
  ASSERT_TRUE(flies);
  all.lose(1, 2);
  EXPECT_EQ(all.live(), 1U);
  EXPECT_TRUE(all[*flies].lost);
  all.queue_again(*flies, now);
  EXPECT_EQ(all.live(), 0U);
  EXPECT_TRUE(jobs.open.empty());
}

TEST_F(traffic_test, only_what_never_went_is_abandoned_when_no_line_begins) {
  all.enter(now, line(1));
  all.enter(now, line(2));
  all[0].attempts = 1;
  all.abandon_unsent();
  EXPECT_EQ(jobs.open, std::vector<std::int64_t>{2});
  EXPECT_EQ(all.live(), 1U);
}

TEST_F(traffic_test, a_part_that_is_done_keeps_its_intent) {
  all.enter(now, line(1));
  auto const first = turn();
  ASSERT_TRUE(first);
  all.announce(*first);
  auto& r = all[*first];
  r.so_far = "{}";
  all.withdraw(r);
  EXPECT_TRUE(r.intended);
  all.disown(r);
  EXPECT_FALSE(r.intended);
}

TEST_F(traffic_test, a_redirect_leads_to_another_lane_by_way_of_the_first) {
  all.enter(now, line(1));
  auto const first = turn();
  ASSERT_TRUE(first);
  auto* const home = all[*first].where;
  std::array<http::field, 1> const fields{{{"location", "http://other.example/y"}}};
  reply const answer{.state = send_state::answered, .status = 302, .fields = fields};
  ASSERT_TRUE(all.follow(*first, now, answer, {}));
  auto const& r = all[*first];
  EXPECT_EQ(r.what.url, "http://other.example/y");
  EXPECT_EQ(r.where, home);  // for a turn
  EXPECT_NE(r.bound_for.get(), home);
}

}  // namespace
}  // namespace headway::app
