#include "headway/time.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace headway {
namespace {

TEST(time, later_saturates) {
  constexpr auto first = time_point::min();
  struct {
    time_point t;
    duration d;
    time_point expect;
  } const rows[] = {
      {time_point(5s), 2s, time_point(7s)},
      {time_point(5s), -7s, time_point(-2s)},
      {time_point(5s), duration::max(), never},
      {never, 1ns, never},
      {never, 0ns, never},
      {never, -1ns, time_point(duration::max() - 1ns)},
      {time_point(-5s), duration::min(), first},
      {first, -1ns, first},
      {first, duration::max(), time_point(-1ns)},
      {never, duration::min(), time_point(-1ns)},
  };
  for (auto const& r : rows) EXPECT_EQ(later(r.t, r.d), r.expect) << r.d.count();
}

TEST(time, from_seconds_truncates_and_saturates) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  struct {
    double seconds;
    duration expect;
  } const rows[] = {
      {0, 0ns},
      {1.5, 1500ms},
      {1.9e-9, 1ns},
      {0.9e-9, 0ns},
      {-1, 0ns},
      {-infinity, 0ns},
      {9e9, 9000000000s},
      {1e10, duration::max()},
      {infinity, duration::max()},
      {std::numeric_limits<double>::quiet_NaN(), 0ns},
      {std::numeric_limits<double>::denorm_min(), 0ns},
  };
  for (auto const& r : rows) EXPECT_EQ(from_seconds(r.seconds), r.expect) << r.seconds;
  EXPECT_EQ(to_seconds(1500ms), 1.5);
}

}  // namespace
}  // namespace headway
