#include "headway/heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "headway/random.hpp"

namespace headway {
namespace {

TEST(heap, agrees_with_a_sorted_list_on_random_histories) {
  rng chance(7);
  heap<int> h;
  std::vector<int> model;
  for (int i = 0; i < 20'000; ++i) {
    auto const item = static_cast<int>(chance() % 500);
    switch (model.empty() ? 0 : chance() % 8) {
      case 5:
      case 6:
        h.pop();
        model.erase(model.begin());
        break;
      case 7:
        h.replace_top(item);
        model.front() = item;
        break;
      default:
        h.push(item);
        model.push_back(item);
    }
    if (i % 1000 == 999) {
      auto const gone = [item](int other) { return other % 7 == item % 7; };
      h.erase_if(gone);
      std::erase_if(model, gone);
    }
    std::ranges::sort(model);
    ASSERT_EQ(h.size(), model.size());
    ASSERT_EQ(h.empty(), model.empty());
    if (!model.empty()) {
      ASSERT_EQ(h.top(), model.front());
    }
  }
  EXPECT_GT(model.size(), 1000U);
}

TEST(heap, needs_no_room_beyond_what_was_reserved) {
  struct point {
    int x = 0, y = 0;
    bool operator<(point const& other) const { return x < other.x; }
  };
  heap<point> h;
  h.reserve(2);
  h.push({2, 20});
  auto const* const place = &h.top();
  h.push({1, 10});
  EXPECT_EQ(&h.top(), place);
  EXPECT_EQ(h.top().y, 10);
}

}  // namespace
}  // namespace headway
