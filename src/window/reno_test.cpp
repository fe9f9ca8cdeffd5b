#include "headway/window/reno.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "headway/window/fixed.hpp"
#include "headway/window/tahoe.hpp"

namespace headway {
namespace {

sample flying(int n) {
  return {.in_flight = n};
}

// Worked by hand from seed text 003's "Updated algorithm".
TEST(reno, success) {
  struct {
    char const* what;
    double cwnd, ssthresh;
    int flying;
    double expect;
  } const rows[] = {
      {"slow start", 20, 1024, 20, 21},
      {"… one beyond what flies", 20, 1024, 19, 20},
      {"… a real number", 20.5, 1024, 20, 21},
      {"never shrinks", 20, 1024, 1, 20},
      {"size(flying), not cwnd, is compared with ssthresh", 20, 10, 9, 20},
      {"avoidance", 20, 10, 20, 20.05},
      {"avoidance at flying == ssthresh", 20, 20, 20, 20.05},
      {"avoidance of a fractional window", 4.5, 4.5, 5, 4.5 + 1 / 4.5},
  };
  for (auto const& r : rows) {
    reno w{.cwnd = r.cwnd, .ssthresh = r.ssthresh};
    w.on_success({}, flying(r.flying));
    EXPECT_EQ(w.allowed(), r.expect) << r.what;
    EXPECT_EQ(w.ssthresh, r.ssthresh) << r.what;
    tahoe t{.cwnd = r.cwnd, .ssthresh = r.ssthresh};
    t.on_success({}, flying(r.flying));
    EXPECT_EQ(t.allowed(), r.expect) << r.what;
  }
}

TEST(reno, cut) {
  struct {
    double beta, cwnd, ssthresh_after, reno_after;
  } const rows[] = {
      {0.5, 20, 10, 10}, {0.9, 50, 45, 45},   {0.9, 45, 40.5, 40.5},
      {0.5, 1, 0.5, 1},  {0.5, 1.5, 0.75, 1},
  };
  for (auto const& r : rows) {
    reno w{.cwnd = r.cwnd, .beta = r.beta};
    w.on_throttle({}, flying(7));
    EXPECT_EQ(w.allowed(), r.reno_after) << r.cwnd;
    EXPECT_EQ(w.ssthresh, r.ssthresh_after) << r.cwnd;
    tahoe t{.cwnd = r.cwnd, .beta = r.beta};
    t.on_throttle({}, flying(7));
    EXPECT_EQ(t.allowed(), 20) << r.cwnd;
    EXPECT_EQ(t.ssthresh, r.ssthresh_after) << r.cwnd;
  }
}

TEST(fixed_window, is_fixed) {
  fixed_window w{.permits = 7};
  w.on_success({}, flying(7));
  w.on_throttle({}, flying(7));
  EXPECT_EQ(w.allowed(), 7);
  EXPECT_EQ(w, fixed_window{7});
}

}  // namespace
}  // namespace headway
