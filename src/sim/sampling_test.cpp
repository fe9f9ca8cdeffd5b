#include "headway/sim/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headway::sim {
namespace {

fraction portion(double p) {
  return static_cast<fraction>(p * 0x1p53) << 11;
}

TEST(sampling, ln) {
  struct {
    double x, expect;
  } const rows[] = {{1, 0},
                    {2, 0.69314718055994531},
                    {10, 2.3025850929940457},
                    {0.5, -0.69314718055994531},
                    {1.5, 0.40546510810816438},
                    {0.75, -0.28768207245178093},
                    {0x1p-53, -36.736800569677101},
                    {1e300, 690.77552789821371}};
  for (auto const& [x, expect] : rows)
    EXPECT_NEAR(sim::ln(x), expect, 5e-16 * std::abs(expect)) << x;
}

TEST(sampling, exp) {
  struct {
    double x, expect;
  } const rows[] = {{0, 1},
                    {1, 2.7182818284590452},
                    {-1, 0.36787944117144232},
                    {0.34657, 1.4142084849595797},
                    {0.34658, 1.4142226271151399},
                    {20, 485165195.40979028},
                    {-36.7, 1.1518409493076096e-16},
                    {690, 4.6046064047829896e299}};
  for (auto const& [x, expect] : rows) EXPECT_NEAR(sim::exp(x) / expect, 1, 1e-14) << x;
  for (double x = -300; x < 300; x += 0.37) EXPECT_NEAR(sim::ln(sim::exp(x)), x, 4e-16 * 300) << x;
}

TEST(sampling, normal) {
  struct {
    double p, expect;
  } const rows[] = {{0.5, 0},
                    {0.75, 0.67448975019608174},
                    {0.925, 1.4395314709384561},
                    {0.975, 1.9599639845400542},
                    {0.999, 3.0902323061678136},
                    {0.00001, -4.2648907939228246},
                    {1e-11, -6.7060231554951363}};
  for (auto const& [p, expect] : rows)
    EXPECT_NEAR(normal(portion(p)), expect, 2e-15 + 1e-16 / p) << p;
  for (fraction u = 1; u != 0; u <<= 1) EXPECT_EQ(normal(u), -normal(~u)) << u;
  EXPECT_TRUE(normal(0) > -8.22 && normal(~fraction{0}) < 8.22);
}

/// Moments over 2^16 fractions in even steps: no chance in it.
TEST(sampling, moments) {
  struct row {
    char const* what;
    distribution d;
    double mean, cv, tolerance;
  };
  row const rows[] = {
      {"always", {50ms}, 0.05, 0, 1e-9},
      {"uniform", {0s, 2s}, 1, 0.57735, 1e-4},
      {"exponential", exponential{500ms}, 0.5, 1, 1e-3},
      {"lognormal, little", lognormal{100ms, 0.2}, 0.1, 0.2, 1e-4},
      {"lognormal, an LLM", lognormal{8s, 1}, 8, 1, 5e-3},
      {"lognormal, none", lognormal{8s, 0}, 8, 0, 1e-9},
      {"nothing", lognormal{0s, 1}, 0, 0, 0},
  };
  int const n = 1 << 16;
  for (row const& r : rows) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      double const x = to_seconds(r.d.draw((2 * static_cast<fraction>(i) + 1) << 47));
      sum += x;
      squares += x * x;
    }
    double const mean = sum / n;
    EXPECT_NEAR(mean, r.mean, r.mean * r.tolerance) << r.what;
    if (mean > 0) {
      double const variance = std::max(squares / n - mean * mean, 0.0);
      EXPECT_NEAR(std::sqrt(variance) / mean, r.cv, std::max(10 * r.tolerance, 1e-5)) << r.what;
    }
  }
}

TEST(sampling, a_mixture_takes_each_part_as_often_as_it_weighs) {
  mixture const m{{{0, spread{1h}}, {1, spread{1ms}}, {0, spread{2h}}, {3, exponential{60s}}}};
  rng draw(1);
  int first = 0;
  double rest = 0;
  int const n = 100'000;
  for (int i = 0; i < n; ++i) {
    duration const d = m.draw(draw());
    first += d == 1ms;
    if (d != 1ms) rest += to_seconds(d);
  }
  EXPECT_NEAR(first, 0.25 * n, 500);
  EXPECT_NEAR(rest / (n - first), 60, 1);
  EXPECT_EQ((mixture{{{1, spread{5ms}}}}).draw(7), 5ms);
  EXPECT_EQ((mixture{{{1, spread{5ms}}, {0, spread{6ms}}}}).draw(~fraction{0}), 5ms);
}

/// The same bits from every compiler at every optimisation.
TEST(sampling, draws_the_same_everywhere) {
  mixture const m{{{1, exponential{1ms}}, {1, lognormal{8s, 1}}, {1, lognormal{1s, 3}}}};
  rng draw(1);
  std::uint64_t digest = 0;
  for (int i = 0; i < 100'000; ++i)
    digest = mix(digest ^ static_cast<std::uint64_t>(m.draw(draw()).count()));
  EXPECT_EQ(digest, 7269425874415991034U);
}

}  // namespace
}  // namespace headway::sim
