#include "pacing/in_order.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

constexpr time_point begin{100s};

TEST(in_order, hands_out_what_was_sent_first_though_its_answer_came_last) {
  in_order order;
  auto const slow = order.sent(begin), quick = order.sent(begin + 1s);
  order.ended(quick, {.answered = begin + 2s, .refused = true});
  EXPECT_FALSE(order.next());
  order.ended(slow, {.answered = begin + 3s});
  EXPECT_EQ(order.next()->sent, begin);
  EXPECT_TRUE(order.next()->refused);
  EXPECT_FALSE(order.next());
}

TEST(in_order, waits_for_nothing_that_is_forgotten) {
  in_order order;
  auto const gone = order.sent(begin), other = order.sent(begin + 1s);
  order.ended(other, {.answered = begin + 2s});
  order.forget(gone);
  order.forget(in_order::none);
  EXPECT_EQ(order.next()->sent, begin + 1s);
  order.ended(gone, {});  // late
  EXPECT_FALSE(order.next());
}

TEST(in_order, of_too_many_forgets_the_oldest) {
  in_order order;
  auto const oldest = order.sent(begin);
  for (std::size_t i = 0; i < in_order::most; ++i) order.sent(begin + 1s);
  order.ended(oldest, {.answered = begin + 2s});
  EXPECT_FALSE(order.next());
}

}  // namespace
}  // namespace headway::app
