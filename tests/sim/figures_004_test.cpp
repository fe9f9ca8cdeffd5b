// Seed text 004, "Exponential Backoff And Jitter": its formulas in a run, and the simulation of
// AWS, 2015, that it points to.

#include <array>
#include <functional>

#include "figures.hpp"
#include "headway/sim/optimistic_lock.hpp"

namespace headway::sim {
namespace {

using five = std::array<double, 5>;  // ms

/// What a request that is refused five times waits.
five waits(any_backoff const& b, std::uint64_t seed) {
  any_governor g(b, unlimited_law(), {.throttled = after_throttle::back_off});
  rng chance(seed);
  time_point now{};
  auto const id = std::get<ticket>(g.submit(now));
  five all{};
  for (auto& wait : all) {
    g.start(now, id, chance());
    auto const ruling = g.finish(now, id, {outcome::throttle}, chance());
    wait = 1e3 * to_seconds(ruling.until - now);
    now = ruling.until;
  }
  return all;
}

std::string in_words(five const& w) {
  return text("%.0f, %.0f, %.0f, %.0f, %.0f ms", w[0], w[1], w[2], w[3], w[4]);
}

TEST(figures_004, jitters) {
  struct interval {
    double min, max;
  };
  auto const exponential = [](int i) { return std::min(10'000., 1000. * (1 << i)); };
  struct {
    char const* name;
    any_backoff backoff;
    std::function<interval(int, double)> formula;  // of the attempt and the last wait
    five theirs;
  } const rows[] = {{"full jitter, 1 s up to 10 s",
                     {full_jitter{.base = 1s, .cap = 10s}},
                     [&](int i, double) {
                       return interval{0, exponential(i)};
                     },
                     {692, 259, 1846, 7535, 673}},
                    {"equal jitter",
                     {equal_jitter{.base = 1s, .cap = 10s}},
                     [&](int i, double) {
                       return interval{exponential(i) / 2, exponential(i)};
                     },
                     {817, 1889, 3260, 5198, 9337}},
                    {"decorrelated jitter",
                     {decorrelated_jitter{.base = 1s, .cap = 10s}},
                     [](int i, double last) {
                       return interval{1000, 3 * (i == 0 ? 1000 : last)};
                     },
                     {2218, 2060, 1845, 4990, 10'000}}};
  for (auto const& r : rows) {
    SCOPED_TRACE(r.name);
    tell(r.name, in_words(r.theirs), in_words(waits(r.backoff, 1)));
    five least, most, sum{};  // of where in its interval each wait lies
    least.fill(1);
    most.fill(0);
    auto const place = [&](five const& w, std::size_t i) {
      auto const [min, max] = r.formula(static_cast<int>(i), i == 0 ? 0 : w[i - 1]);
      if (w[i] == 10'000 && max > 10'000) return -1.;  // capped: no matter where
      return (w[i] - min) / (max - min);
    };
    constexpr int runs = 4000;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      auto const w = waits(r.backoff, seed);
      for (std::size_t i = 0; i < 5; ++i) {
        auto const at = place(w, i);
        if (at == -1) continue;
        least[i] = std::min(least[i], at);
        most[i] = std::max(most[i], at);
        sum[i] += at / runs;
      }
    }
    for (std::size_t i = 0; i < 5; ++i) {
      auto const theirs = place(r.theirs, i);
      EXPECT_TRUE(theirs == -1 || (theirs >= 0 && theirs <= 1)) << i;
      EXPECT_GE(least[i], 0) << i;
      EXPECT_LE(most[i], 1) << i;
      EXPECT_LT(least[i], 0.01) << i;
      if (r.theirs[4] == 10'000 && i > 1) continue;  // its upper part is under the cap
      EXPECT_GT(most[i], 0.99) << i;
      EXPECT_NEAR(sum[i], 0.5, 0.02) << i;  // uniform
    }
  }
}

struct mean {
  double calls = 0, ms = 0;
};

mean mean_of(int runs, int clients, any_backoff const& b) {
  mean m;
  for (int i = 1; i <= runs; ++i) {
    auto const f = simulate({.clients = clients, .backoff = b}, static_cast<std::uint64_t>(i));
    m.calls += static_cast<double>(f.calls) / runs;
    m.ms += 1e3 * to_seconds(f.time) / runs;
  }
  return m;
}

struct aws_row {
  int clients;
  double calls, ms;
};

/// Theirs: 100 runs of AWS's own program, in whole calls; ours: 2,000 runs.
void reproduce(char const* name, any_backoff const& b, std::initializer_list<aws_row> rows) {
  for (auto const& r : rows) {
    auto const ours = mean_of(2000, r.clients, b);
    tell(text("AWS 2015, %s, %d clients", name, r.clients),
         text("%.0f calls, %.0f ms", r.calls, r.ms),
         text("%.1f calls (%+.1f %%), %.0f ms (%+.1f %%)", ours.calls,
              100 * (ours.calls / r.calls - 1), ours.ms, 100 * (ours.ms / r.ms - 1)));
    EXPECT_NEAR(ours.calls, r.calls, 0.05 * r.calls);
    EXPECT_NEAR(ours.ms, r.ms, 0.05 * r.ms);
  }
}

any_backoff const none{constant_backoff{.wait = 0ns}};
any_backoff const exponential_2015{exponential_backoff{.initial = 5ms, .cap = 2s}};
any_backoff const equal_2015{equal_jitter{.base = 5ms, .cap = 2s}};
any_backoff const full_2015{full_jitter{.base = 5ms, .cap = 2s}};
any_backoff const decorrelated_2015{decorrelated_jitter{.base = 5ms, .cap = 2s}};

TEST(figures_004, aws_none) {
  reproduce("no backoff", none, {{10, 50, 382}, {100, 2421, 2027}, {190, 7997, 3538}});
}
TEST(figures_004, aws_exponential) {
  reproduce("exponential", exponential_2015,
            {{10, 51, 3590}, {100, 1853, 62'862}, {190, 5186, 101'357}});
}
TEST(figures_004, aws_equal) {
  reproduce("equal jitter", equal_2015, {{10, 42, 732}, {100, 812, 6658}, {190, 1759, 9487}});
}
TEST(figures_004, aws_full) {
  reproduce("full jitter", full_2015, {{10, 38, 465}, {100, 797, 4879}, {190, 1771, 7427}});
}
TEST(figures_004, aws_decorrelated) {
  reproduce("decorrelated jitter", decorrelated_2015,
            {{10, 37, 434}, {100, 1002, 4530}, {190, 2441, 7887}});
}

TEST(figures_004, aws_curves) {
  struct {
    char const* name;
    any_backoff backoff;
  } const all[] = {{"no backoff", none},
                   {"exponential", exponential_2015},
                   {"equal jitter", equal_2015},
                   {"full jitter", full_2015},
                   {"decorrelated jitter", decorrelated_2015}};
  for (auto const& a : all) {
    std::string row;
    double before = 0;
    for (int clients = 10; clients <= 190; clients += 10) {
      auto const calls = mean_of(100, clients, a.backoff).calls;
      EXPECT_GT(calls, before) << a.name << ", " << clients;
      before = calls;
      row += text("%s%.0f", row.empty() ? "" : ", ", calls);
    }
    tell(text("AWS 2015, %s: calls of 10, 20 … 190 clients, 100 runs", a.name), "–", row);
  }
}

}  // namespace
}  // namespace headway::sim
