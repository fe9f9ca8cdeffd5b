// Seed text 003, "Improve on exponential backoff", 2019: 2,000 requests against 50 slots.

#include <limits>

#include "figures.hpp"

namespace headway::sim {
namespace {

/// 100 ms to connect, before a slot is taken; 500 ms for a success; an error holds a slot for 50
/// ms. "Initially generated at a 1000/s rate".
scenario server_003(std::int64_t requests) {
  scenario s{.name = "seed 003", .about = {}};
  s.server.limits = {concurrency{.max_busy = 50, .error_holds = 50ms}};
  s.server.latency = spread{500ms};
  s.server.error_latency = 50ms;
  s.net = {.connect = 100ms, .jitter = 0ns, .wakes_late = 0ns};
  s.groups = {group{.work = batch{.requests = requests, .rate = 1000}}};
  s.first_alone = 0ns;
  return s;
}

/// min(30 s, 50 ms × 2^k) × U[.5, 1.5].
contender exponential_003() {
  return one_of_its_own({proportional_jitter<exponential_backoff>{
                            .inner = {.initial = 50ms, .cap = 30s}, .randomization_factor = 0.5}},
                        unlimited_law(), after_throttle::back_off);
}

/// The text's windows never hesitate.
template <class Window>
contender window_003(Window w) {
  constexpr hesitant never_does{.free = std::numeric_limits<int>::max()};
  return one_of_its_own({}, {paced<hesitant, Window>{.pace = never_does, .win = w}},
                        after_throttle::stand_in_line);
}

std::vector<figures> over_seeds(scenario const& s, contender const& law, std::uint64_t seeds) {
  std::vector<figures> all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    all.push_back(simulate(s, law, {.seed = seed}));
  return all;
}

double efficiency(figures const& f) {
  return 100 * static_cast<double>(f.done) / static_cast<double>(f.attempts);
}

range efficiencies(std::vector<figures> const& all) {
  std::vector<double> v;
  for (auto const& f : all) v.push_back(efficiency(f));
  return range_of(v);
}

TEST(figures_003, exponential_backoff) {
  std::vector<double> attempts, took;
  for (auto const& f : over_seeds(server_003(2000), exponential_003(), 41)) {
    attempts.push_back(static_cast<double>(f.attempts));
    took.push_back(to_seconds(f.completion));
  }
  auto const a = range_of(attempts), t = range_of(took);
  tell("exponential, 2,000 requests: attempts", "17,392",
       text("%.0f [%.0f … %.0f]", a.median, a.min, a.max));
  tell("… completion, capped before the jitter", "48 s",
       text("%.1f s [%.1f … %.1f]", t.median, t.min, t.max));
  EXPECT_NEAR(a.median, 17'402, 0.015 * 17'402);
  EXPECT_GE(t.min, 36);
  EXPECT_LE(t.median, 51);
}

TEST(figures_003, exponential_efficiency) {
  auto const at_100 = efficiencies(over_seeds(server_003(100), exponential_003(), 41));
  auto const at_5000 = efficiencies(over_seeds(server_003(5000), exponential_003(), 7));
  tell("… efficiency at 100 operations", "< 50 %",
       text("%.1f %% [%.1f … %.1f]", at_100.median, at_100.min, at_100.max));
  tell("… efficiency at 5,000", "< 10 %",
       text("%.1f %% [%.1f … %.1f]", at_5000.median, at_5000.min, at_5000.max));
  EXPECT_LT(at_100.max, 50);
  EXPECT_LT(at_5000.max, 10);
}

TEST(figures_003, attempts_against_operations) {
  std::string row;
  auto before = 1e9;
  for (int const n : {50, 75, 100, 200, 500, 1000, 2000, 5000}) {
    auto const e = efficiencies(over_seeds(server_003(n), exponential_003(), 3)).median;
    row += text("%s%d: %.2f", row.empty() ? "" : ", ", n, 100 / e);
    EXPECT_TRUE(e < before) << n;
    before = e;
  }
  tell("… attempts for each operation, by operations", "superlinear; over 10 at 5,000", row);
}

TEST(figures_003, exponential_request_rate) {
  std::vector<double> early, peak, stragglers;
  for (std::uint64_t seed = 1; seed <= 21; ++seed) {
    auto const f =
        simulate(server_003(2000), exponential_003(), {.seed = seed, .timeline_step = 1s});
    int in_3s = 0, most = 0, after_40s = 0;
    for (auto const& m : f.timeline) {
      if (m.at < 3s) in_3s += m.accepted;
      if (m.at >= 40s) after_40s += m.accepted;
      most = std::max(most, m.attempts);
    }
    early.push_back(in_3s);
    peak.push_back(most);
    stragglers.push_back(after_40s);
  }
  auto const e = range_of(early), p = range_of(peak), s = range_of(stragglers);
  tell("… requests done in the first 3 s", "\"essentially no requests\"",
       text("%.0f [%.0f … %.0f]", e.median, e.min, e.max));
  tell("… most attempts in one second", "\"thousands of requests per second\"",
       text("%.0f [%.0f … %.0f]", p.median, p.min, p.max));
  tell("… requests done after 40 s", "\"a few … in the 47s mark\"",
       text("%.0f [%.0f … %.0f]", s.median, s.min, s.max));
  EXPECT_LE(e.max, 55);
  EXPECT_GT(p.min, 2000);
  EXPECT_GT(s.max, 0);
  EXPECT_LT(s.max, 20);
}

TEST(figures_003, exponential_without_jitter) {
  auto const with = simulate(server_003(2000), exponential_003());
  auto const without = run(server_003(2000), "exponential-none");
  tell("… without jitter: attempts; completion", "\"even worse\"",
       text("%ld; %.0f s", static_cast<long>(without.attempts), to_seconds(without.completion)));
  EXPECT_GT(without.attempts, with.attempts);
  EXPECT_GT(without.completion, 5 * with.completion);
}

TEST(figures_003, congestion_window) {
  struct {
    char const* name;
    contender law;
    char const* theirs;
    std::int64_t attempts;
    double seconds;
  } const rows[] = {
      {"congestion window × 0.9, Tahoe", window_003(tahoe{.beta = 0.9}), "25 s, 2,085", 2081, 25.2},
      {"congestion window × 0.9, Reno", window_003(reno{.beta = 0.9}), "25 s, 2,085", 2088, 25.2},
      {"congestion window × 0.5, Tahoe", window_003(tahoe{.beta = 0.5}), "–", 2032, 31.2},
      {"congestion window × 0.5, Reno", window_003(reno{.beta = 0.5}), "–", 2032, 30.6}};
  for (auto const& r : rows) {
    auto const f = simulate(server_003(2000), r.law);
    auto const took = to_seconds(f.completion);
    tell(r.name, r.theirs, text("%.1f s, %ld", took, static_cast<long>(f.attempts)));
    EXPECT_EQ(f.attempts, r.attempts) << r.name;
    EXPECT_NEAR(took, r.seconds, 0.05) << r.name;
  }
}

/// Its teeth once it has found the limit: each one's top and what is left of it.
struct sawtooth {
  double lowest = 1e9, highest = 0, cut_min = 1, cut_max = 0;
  int teeth = 0;
};

sawtooth sawtooth_of(std::vector<moment> const& timeline, duration from) {
  sawtooth s;
  double before = 0;
  for (auto const& m : timeline) {
    if (m.at > from) {
      s.lowest = std::min(s.lowest, m.window);
      s.highest = std::max(s.highest, m.window);
      if (m.window < before) {
        ++s.teeth;
        s.cut_min = std::min(s.cut_min, m.window / before);
        s.cut_max = std::max(s.cut_max, m.window / before);
      }
    }
    before = m.window;
  }
  return s;
}

TEST(figures_003, cwnd_over_time) {
  for (double const beta : {0.9, 0.5}) {
    auto const f =
        simulate(server_003(2000), window_003(reno{.beta = beta}), {.timeline_step = 10ms});
    auto const s = sawtooth_of(f.timeline, 5s);
    tell(text("cwnd over time, Reno × %.1f, after 5 s", beta), "a sawtooth under 50",
         text("%d teeth of %.1f … %.1f", s.teeth, s.lowest, s.highest));
    EXPECT_GE(s.teeth, beta == 0.9 ? 6 : 1);
    EXPECT_LE(s.highest, 51);  // max_busy, and the one that finds it
    EXPECT_NEAR(s.lowest, s.highest * beta, 1);
    EXPECT_NEAR(s.cut_min, beta, 0.02);  // the cut and the next growth may share a moment
    EXPECT_NEAR(s.cut_max, beta, 0.02);
  }
}

TEST(figures_003, max_busy_drifts_under_the_window) {
  auto s = server_003(10'000);
  auto const max_busy = [](std::int64_t second) {  // 50, 70, 30 and back, within a minute
    auto const t = (second + 15) % 60;
    return 30 + (t < 30 ? t : 60 - t) * 40 / 30;
  };
  for (std::int64_t second = 0; second < 300; ++second)
    s.server.schedule.push_back(
        {time_point(second * 1s), concurrency{.max_busy = max_busy(second), .error_holds = 50ms}});
  s.server.limits.clear();
  auto const f = simulate(s, window_003(reno{.beta = 0.9}), {.timeline_step = 100ms});
  std::vector<double> share;
  int above = 0;
  for (auto const& m : f.timeline) {
    if (m.at < 5s) continue;
    auto const limit = static_cast<double>(max_busy(m.at / duration(1s)));
    share.push_back(100 * m.window / limit);
    above += m.window > limit + 1;
  }
  auto const r = range_of(share);
  auto const above_share = 100. * above / static_cast<double>(share.size());
  tell("max_busy drifts 30 … 70: window as a share of it",
       "\"stays fairly close to (but below, nearly all the time)\"",
       text("%.0f %% [%.0f … %.0f], above for %.0f %% of the time; efficiency %.1f %%", r.median,
            r.min, r.max, above_share, efficiency(f)));
  EXPECT_TRUE(f.finished);
  EXPECT_GT(r.median, 85);
  EXPECT_LT(above_share, 5);
  EXPECT_GT(efficiency(f), 95);
}

TEST(figures_003, problem_mismatch) {
  for (auto const& [clients, each] : {std::pair(1, 1000), std::pair(10, 100), std::pair(1000, 1)}) {
    auto s = server_003(each);
    s.groups.front().clients = clients;
    s.groups.front().work = batch{.requests = each};
    auto const backoff = run(s, "exponential-full");
    auto const window = simulate(s, window_003(reno{.beta = 0.9}));
    tell(text("%d × %d requests: full jitter; Reno × 0.9", clients, each),
         clients == 1000 ? "backoff \"appropriate\"" : "backoff \"not so much\"",
         text("%.1f %%, %.1f s; %.1f %%, %.1f s", efficiency(backoff),
              to_seconds(backoff.completion), efficiency(window), to_seconds(window.completion)));
    EXPECT_EQ(efficiency(backoff) > efficiency(window), clients == 1000);
  }
}

}  // namespace
}  // namespace headway::sim
