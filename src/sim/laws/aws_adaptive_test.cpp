#include "headway/sim/laws/aws_adaptive.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headway::sim {
namespace {

time_point at(double seconds) {
  return time_point(duration(std::llround(seconds * 1e9)));
}

struct answered {
  double when;
  bool throttled;
};
constexpr bool ok = false;
constexpr bool no = true;

/// The calculated rates: each throttle is one at the rate calculated before it.
std::vector<double> calculated(std::vector<answered> const& answers) {
  cubic_rate cubic{.rate_max = 10, .last_throttle = at(5)};
  std::vector<double> rates;
  for (auto const& a : answers)
    rates.push_back(a.throttled ? cubic.on_throttle(at(a.when), rates.back())
                                : cubic.on_success(at(a.when)));
  return rates;
}

// The vectors of the AWS SDKs' own tests (SEP 2.0, "cubic"): aws-sdk-cpp AdaptiveRetryStrategyTest,
// aws-sdk-java TokenBucketCubicTest, smithy-swift ClientSideRateLimiterTests.
TEST(cubic_rate, aws_case_1_successes_only) {
  auto const rates = calculated({{5, ok}, {6, ok}, {7, ok}, {8, ok}, {9, ok}, {10, ok}, {11, ok}});
  double const expect[] = {7.0,
                           9.64893600966,
                           10.000030849917364,
                           10.453284520772092,
                           13.408697022224185,
                           21.26626835427364,
                           36.425998516920465};
  for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expect[i], 1e-9) << i;
}

TEST(cubic_rate, aws_case_2_with_throttles) {
  auto const rates =
      calculated({{5, ok}, {6, ok}, {7, no}, {8, no}, {9, ok}, {10, ok}, {11, ok}, {12, ok}});
  double const expect[] = {7.0,
                           9.64893600966,
                           6.754255206761999,
                           4.727978644733399,
                           6.606547753887045,
                           6.763279816944947,
                           7.598174833907107,
                           11.511232804773524};
  for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expect[i], 1e-9) << i;
  // The tail that the Go and the Rust SDK's tests have instead is of another formula.
  double const wrong[] = {4.670125557970046, 4.770870456867401, 6.011819748005445,
                          10.792973431384178};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(std::abs(rates[4 + i] - wrong[i]), 0.1) << i;
}

TEST(cubic_rate, botocore_k) {
  cubic_rate cubic{.rate_max = 10};
  EXPECT_NEAR(cubic.k(), 1.9574338205844317, 1e-12);
  EXPECT_NEAR(cubic.on_throttle(at(0), 8), 5.6, 1e-12);
  EXPECT_NEAR(cubic.k(), 1.8171205928321397, 1e-12);
}

// As aws-sdk-cpp's test of a clock that went back a day since the last throttle.
TEST(aws_adaptive, a_last_throttle_in_the_future_leaves_the_least_rate) {
  aws_adaptive limiter{.enabled = true, .measured = {.rate = 20}, .started = true};
  limiter.cubic = {.rate_max = 10, .last_throttle = at(86'400)};
  limiter.on_success(at(0), {}, 0);
  EXPECT_EQ(limiter.fill, limiter.fill_min);
  EXPECT_GE(limiter.tokens, 0);
}

TEST(measured_rate, botocore_buckets) {
  measured_rate measured;
  for (double const t : {0.1, 0.2, 0.3, 0.4, 0.49}) {
    measured.record(at(t));
    EXPECT_EQ(measured.rate, 0) << t;
  }
  measured.record(at(0.5));
  EXPECT_NEAR(measured.rate, 9.6, 1e-12);
}

TEST(measured_rate, settles_at_the_true_rate) {
  measured_rate measured;
  for (int t = 0; t < 20; ++t) measured.record(at(t));
  EXPECT_NEAR(measured.rate, 1.0, 1e-9);
}

/// Answered: the law, alone, hears of one response.
template <class L>
void answer(L& limiter, answered a, stamp const& sent = {}) {
  if (a.throttled)
    limiter.on_throttle(at(a.when), {.sent = sent}, resource::unknown, 0);
  else
    limiter.on_success(at(a.when), {.sent = sent}, 0);
}

// The same SDKs' end-to-end case: response, measured rate, new fill rate.
TEST(aws_adaptive, aws_case_3_from_a_cold_start) {
  struct {
    answered response;
    double measured, fill;
  } const rows[] = {
      {{0.2, ok}, 0, 0.5},
      {{0.4, ok}, 0, 0.5},
      {{0.6, ok}, 4.8, 0.5},
      {{0.8, ok}, 4.8, 0.5},
      {{1.0, ok}, 4.16, 0.5},
      {{1.2, ok}, 4.16, 0.6912},
      {{1.4, ok}, 4.16, 1.0976},
      {{1.6, ok}, 5.632, 1.6384},
      {{1.8, ok}, 5.632, 2.3328},
      {{2.0, no}, 4.3264, 3.02848},
      {{2.2, ok}, 4.3264, 3.486639},
      {{2.4, ok}, 4.3264, 3.821874},
      {{2.6, ok}, 5.66528, 4.053386},
      {{2.8, ok}, 5.66528, 4.200373},
      {{3.0, ok}, 4.333056, 4.282037},
      {{3.2, no}, 4.333056, 2.997426},
      {{3.4, ok}, 4.333056, 3.452226},
  };
  aws_adaptive limiter;
  limiter.take(at(0), 1, 0);
  for (auto const& r : rows) {
    answer(limiter, r.response);
    EXPECT_NEAR(limiter.measured.rate, r.measured, 1e-9) << r.response.when;
    EXPECT_NEAR(limiter.fill, r.fill, 5e-7) << r.response.when;  // printed to six digits
  }
}

TEST(aws_adaptive, stays_below_twice_the_measured_rate) {
  aws_adaptive limiter{.cubic = {.rate_max = 100}, .measured = {.rate = 20}, .started = true};
  limiter.cubic.last_throttle = at(0.2);
  limiter.on_success(at(0.2 + limiter.cubic.k()), {}, 0);
  EXPECT_NEAR(limiter.cubic.on_success(at(0.2 + limiter.cubic.k())), 100, 1e-6);
  EXPECT_NEAR(limiter.fill, 2 * limiter.measured.rate, 1e-12);
}

TEST(aws_adaptive, has_no_pace_until_the_first_throttle) {
  aws_adaptive limiter;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(limiter.ready_at(1), at(10));
    limiter.take(at(10), 1, 0);
  }
  answer(limiter, {10.1, no});
  EXPECT_TRUE(limiter.enabled);
  EXPECT_EQ(limiter.fill, limiter.fill_min) << "nothing was measured yet";
}

TEST(aws_adaptive, waits_for_a_token_and_holds_one_second_of_them) {
  aws_adaptive limiter{
      .enabled = true, .fill = 4, .capacity = 4, .tokens = 1, .refilled = at(1), .started = true};
  EXPECT_EQ(limiter.ready_at(1), at(1));
  limiter.take(at(1), 1, 0);
  EXPECT_EQ(limiter.ready_at(1), at(1.25) + 1ns);
  limiter.take(at(1.25) + 1ns, 1, 0);
  EXPECT_NEAR(limiter.tokens, 0, 1e-8);
  limiter.take(at(100), 1, 0);
  EXPECT_EQ(limiter.tokens, 3);
}

TEST(aws_adaptive, pays_out_the_old_rate_before_a_new_one_and_keeps_a_second_of_that) {
  aws_adaptive limiter{.enabled = true,
                       .fill = 10,
                       .capacity = 10,
                       .refilled = at(1),
                       .measured = {.rate = 4, .bucket = measured_rate::half_seconds(3)},
                       .started = true};
  answer(limiter, {1.5, no});
  EXPECT_NEAR(limiter.fill, 2.8, 1e-12);
  EXPECT_NEAR(limiter.tokens, 2.8, 1e-12) << "of 5";
}

TEST(aws_adaptive, begins_with_the_first_send) {
  aws_adaptive limiter;
  limiter.take(at(100.2), 1, 0);
  answer(limiter, {100.6, ok});
  EXPECT_NEAR(limiter.measured.rate, 1.6, 1e-12) << "one in the half second since 100";
  EXPECT_EQ(limiter.fill, 0.5) << "the cubic has just begun";
}

TEST(aws_adaptive, a_failure_counts_as_a_response) {
  aws_adaptive one, other;
  answer(one, {0.7, ok});
  other.on_failure(at(0.7), {}, 0);
  EXPECT_EQ(one, other);
}

// Fifty refusals of one flight at 20/s: what is published, and what one cut would leave.
TEST(aws_adaptive, cuts_at_each_throttle_unless_told_otherwise) {
  auto const after_a_flight = [](auto limiter) {
    limiter = {.enabled = true, .fill = 20, .measured = {.rate = 20}, .started = true};
    auto const sent = limiter.take(at(0.1), 1, 0);
    for (int i = 0; i < 50; ++i) answer(limiter, {0.2 + i * 0.001, no}, sent);
    return limiter;
  };
  EXPECT_EQ(after_a_flight(aws_adaptive{}).fill, 0.5);
  auto const once = after_a_flight(aws_adaptive_one_cut{});
  EXPECT_NEAR(once.fill, 14, 1e-12);
  EXPECT_EQ(once.measured.count, 50) << "all are measured";
}

}  // namespace
}  // namespace headway::sim
