#include "proxy/fair_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headway/random.hpp"

namespace headway::app::proxy {
namespace {

using queue = fair_queue<int>;

std::vector<int> drained(queue& q) {
  std::vector<int> order;
  while (!q.empty()) {
    order.push_back(q.first());
    q.pop();
  }
  return order;
}

TEST(fair_queue, clients_take_turns_and_the_requests_of_each_keep_their_order) {
  queue q;
  for (int i = 0; i < 4; ++i) q.push(i, priority::normal, "script");
  q.push(10, priority::normal, "person");
  q.push(20, priority::normal, "other");
  q.push(21, priority::normal, "other");
  EXPECT_EQ(drained(q), (std::vector{0, 10, 20, 1, 21, 2, 3}));
}

TEST(fair_queue, one_request_behind_a_script_of_500_waits_for_one_turn) {
  queue q;
  for (int i = 0; i < 500; ++i) q.push(i, priority::normal, "script");
  for (int i = 0; i < 100; ++i) q.pop();
  EXPECT_EQ(q.ahead(priority::normal, "person"), 1U);
  q.push(-1, priority::normal, "person");
  q.pop();
  EXPECT_EQ(q.first(), -1);
}

TEST(fair_queue, a_class_goes_before_the_next_but_for_one_turn_of_ten) {
  queue q;
  for (int i = 0; i < 30; ++i) q.push(1, priority::interactive, "a");
  for (int i = 0; i < 30; ++i) q.push(2, priority::normal, "a");
  for (int i = 0; i < 3; ++i) q.push(3, priority::batch, "a");
  auto const order = drained(q);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(order[i], i % 10 == 9 ? 3 : 1) << i;
}

TEST(fair_queue, one_that_had_its_turn_and_needs_another_stands_first) {
  queue q;
  q.push(1, priority::normal, "a");
  q.push(2, priority::normal, "b");
  q.push(0, priority::normal, "b", true);
  EXPECT_EQ(drained(q), (std::vector{0, 1, 2}));
}

/// Random arrivals, turns and departures: none is lost or served twice, the order within a client
/// is kept, and between two turns of a client each other client of its class has at most one.
TEST(fair_queue, is_fair_in_any_order_of_events) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    rng chance{seed};
    auto const below = [&](std::uint64_t n) { return chance() % n; };
    queue q;
    struct waiting {
      queue::place where;
      std::string client;
      priority of;
    };
    std::map<int, waiting> waits;
    std::map<std::string, int> latest;  // served, by client
    int number = 0;
    for (int step = 0; step < 400; ++step) {
      auto const what = below(5);
      if (what < 2 || q.empty()) {
        auto const client = std::string(1, static_cast<char>('a' + below(4)));
        auto const of = static_cast<priority>(below(3));
        auto const place = q.push(number, of, client);
        waits.emplace(number++, waiting{place, client, of});
      } else if (what < 4) {
        auto const n = q.first();
        ASSERT_TRUE(waits.contains(n)) << "seed " << seed;
        auto const key = waits.at(n).client + std::to_string(static_cast<int>(waits.at(n).of));
        EXPECT_LT(latest.contains(key) ? latest[key] : -1, n) << "seed " << seed;
        latest[key] = n;
        q.pop();
        waits.erase(n);
      } else {
        auto it = waits.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(below(waits.size())));
        q.remove(it->second.where);
        waits.erase(it);
      }
      ASSERT_EQ(q.size(), waits.size()) << "seed " << seed;
    }
    auto const turns = waits.size();
    EXPECT_EQ(drained(q).size(), turns);
  }
}

}  // namespace
}  // namespace headway::app::proxy
