// Seed text 003's exponential backoff with the cap as the last step, which no shipped backoff does.

#include "line.hpp"

#include "headway/headway.hpp"
#include "tell.hpp"

namespace headway::sim {
namespace {

/// min(30 s, 50 ms × 2^k × U[.5, 1.5]): "maxed out the retry period to 30s".
struct capped_last {
  duration delay(int attempt, duration, fraction u) const noexcept {
    auto const exact = exponential_backoff{.initial = 50ms, .cap = 1h}.delay(attempt, {}, u);
    return std::min<duration>(30s, exact / 2 + scale(exact, u));
  }
  bool operator==(capped_last const&) const = default;
};

TEST(figures_003, exponential_backoff_capped_last) {
  governor<capped_last, paced<unpaced, headway::fixed_window>> const g(
      {}, {.win = {.permits = 1e9}},
      {.queue_max = 1'000'000, .first_alone = 0ns, .throttled = after_throttle::back_off});
  std::vector<double> attempts, took;
  for (std::uint64_t seed = 1; seed <= 41; ++seed) {
    server s({.limits = {concurrency{.max_busy = 50, .error_holds = 50ms}},
              .latency = {500ms},
              .error_latency = 50ms});
    line const l{.requests = 2000, .each = 1ms, .connect = 100ms, .jitter = 0ns, .wakes_late = 0ns};
    auto const f = run(
        l, g, [&](time_point now, fraction u) { return s.arrive(now, 1, u); }, seed);
    EXPECT_EQ(f.done, 2000);
    attempts.push_back(f.attempts);
    took.push_back(to_seconds(f.took));
  }
  auto const a = range_of(attempts), t = range_of(took);
  tell("exponential capped after the jitter: attempts", "17,392",
       text("%.0f [%.0f … %.0f]", a.median, a.min, a.max));
  tell("… completion", "48 s", text("%.1f s [%.1f … %.1f]", t.median, t.min, t.max));
  EXPECT_NEAR(a.median, 17'402, 0.015 * 17'402);
  EXPECT_GE(t.min, 36);
  EXPECT_LE(t.max, 51);
}

}  // namespace
}  // namespace headway::sim
