#include "headway/sim/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "headway/random.hpp"

namespace headway::sim {
namespace {

TEST(event_queue, events_of_one_instant_come_in_the_order_in_which_they_were_pushed) {
  event_queue<int> q;
  for (int i = 0; i < 100; ++i) q.push(time_point(duration(i % 3)), i);
  std::vector<std::pair<std::int64_t, int>> seen;
  while (!q.empty()) {
    auto const [at, event] = q.pop();
    seen.emplace_back(at.time_since_epoch().count(), event);
  }
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.front().first, 0);
  EXPECT_EQ(seen.back(), std::pair(std::int64_t{2}, 98));
}

TEST(event_queue, agrees_with_a_sorted_list_on_random_histories) {
  rng chance(7);
  event_queue<std::uint64_t> q;
  std::vector<std::pair<std::int64_t, std::uint64_t>> model;  // instant, sequence
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    if (model.empty() || chance() % 5 < 3) {
      auto const at = static_cast<std::int64_t>(chance() % 50);
      q.push(time_point(duration(at)), i);
      model.emplace_back(at, i);
    } else {
      auto const first = std::ranges::min_element(model);
      auto const [at, event] = q.pop();
      ASSERT_EQ(std::pair(at.time_since_epoch().count(), event), *first);
      model.erase(first);
    }
    ASSERT_EQ(q.size(), model.size());
  }
}

}  // namespace
}  // namespace headway::sim
