#include "pacing/trace.hpp"

#include <gtest/gtest.h>

#include "headway/law/shipped.hpp"

namespace headway::app {
namespace {

constexpr time_point at(duration since_start) {
  return time_point(since_start);
}

TEST(traced_governor, a_new_ceiling_takes_over_what_is_owed_and_no_more) {
  traced_governor g(nullptr, 0, "", *shipped_law_named("exponential"), {.first_alone = 0ns});
  auto const one_a_second = gcra::per(1, 1s), ten_a_second = gcra::per(10, 1s);
  for (int i = 0; i < 5; ++i) g.submit(at(0s), {});
  g.limit(at(0s), one_a_second, 100);
  g.start(at(0s), g.next(at(0s)).value(), 0);
  EXPECT_EQ(g.why(at(0s)), (held_back{reason::quota, at(1s)}));
  g.limit(at(500ms), ten_a_second, 100);  // half a unit is owed
  EXPECT_EQ(g.why(at(0s)).until, at(500ms + 50ms) - ten_a_second.burst_tolerance);
  for (int i = 0; i < 50; ++i) g.limit(at(500ms), i % 2 ? ten_a_second : one_a_second, 100);
  EXPECT_EQ(g.next(at(500ms)), std::nullopt);
  EXPECT_LE(g.why(at(500ms)).until, at(501ms + 500ms));
  g.limit(at(500ms), std::nullopt, 100);
  EXPECT_NE(g.next(at(500ms)), std::nullopt);
}

TEST(traced_governor, a_new_ceiling_takes_over_what_was_lent) {
  traced_governor g(nullptr, 0, "", *shipped_law_named("exponential"), {.first_alone = 0ns});
  g.submit(at(0s), {.cost = 600});
  g.submit(at(0s), {});
  g.limit(at(0s), gcra::per(1, 1s), 100);
  g.start(at(0s), g.next(at(0s)).value(), 0);
  g.limit(at(1s), gcra::per(2, 1s), 100);
  EXPECT_EQ(g.why(at(1s)), (held_back{reason::quota, at(1s + 299'500ms)}));
}

}  // namespace
}  // namespace headway::app
