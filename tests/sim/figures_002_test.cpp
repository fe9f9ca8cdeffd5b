// Seed text 002: 1,000 DescribeCluster calls of 100 ms against 4 a second, alone and with others.

#include "figures.hpp"

namespace headway::sim {
namespace {

limit const bucket = token_bucket{.interval = 250ms, .burst = 4};
/// "A simple, numeric rate limit (ie: x API calls per second)".
limit const in_any_second = sliding_window{.count = 4, .period = 1s};

/// The others ask 2.5 times a second: "we may only get 1 or 2".
scenario describe_clusters(workload work, bool others) {
  scenario s{.name = "DescribeCluster", .about = {}};
  s.server.limits = {bucket};
  s.server.latency = spread{100ms};
  s.server.error_latency = 100ms;
  s.net = {.jitter = 0ns, .wakes_late = 0ns};
  s.groups = {group{.work = work}};
  if (others)
    s.groups.push_back({.name = "others",
                        .law = "exponential-full",
                        .clients = 2,
                        .work = open_arrivals{.rate = 1.25},
                        .background = true});
  s.told = {.rate = 4};
  s.lasts = 90min;
  s.first_alone = 0ns;
  return s;
}

/// 100 ms each, hence at most 10 a second.
workload const one_at_a_time = closed_loop{.workers = 1, .requests = 1000};
workload const all_at_hand = batch{.requests = 1000};

/// "2 ^ retry * base wait unit … base wait of 10 ms 2^10 * 10 = 1024*10 = 10 seconds".
constexpr exponential_backoff text_002{.initial = 10ms, .cap = 10'240ms};

contender exponential_002(after_throttle counts, int quiet_successes) {
  return one_of_its_own({text_002}, unlimited_law(), counts, quiet_successes);
}
constexpr int endless = std::numeric_limits<int>::max();

struct scan {
  std::int64_t done = 0, attempts = 0;
  double seconds = 0;
  double throttled = 0, others_throttled = 0;  ///< shares of the attempts, in percent
  double per_second() const { return static_cast<double>(done) / seconds; }
  std::string in_words() const {
    return text("%s%.0f s, %.2f/s, %.1f %% throttled",
                done < 1000 ? text("%ld of 1,000 in ", static_cast<long>(done)).c_str() : "",
                seconds, per_second(), throttled);
  }
};

double throttled_share(figures const& f) {
  return 100 * static_cast<double>(f.throttled) / static_cast<double>(f.attempts);
}

scan run_of(scenario s, contender const& law) {
  auto const f = simulate(s, law, {.timeline_step = 100ms});
  duration took{};
  for (auto const& m : f.timeline)
    if (m.accepted > 0) took = m.at + 100ms;
  scan all{.done = f.done,
           .attempts = f.attempts,
           .seconds = to_seconds(took),
           .throttled = throttled_share(f)};
  if (s.groups.size() > 1) {  // the same again up to there, with an eye on the others
    s.lasts = took;
    for (auto& g : s.groups) g.background = !g.background;
    all.others_throttled = throttled_share(simulate(s, law));
  }
  return all;
}

scan scanned(contender const& law, workload const& work = one_at_a_time, bool others = false) {
  return run_of(describe_clusters(work, others), law);
}

TEST(figures_002, naive) {
  auto const s = scanned(*contender_named("hammer"));
  tell("naive, at max rate (10/s)", "250 s", s.in_words());
  EXPECT_EQ(s.done, 1000);
  EXPECT_NEAR(s.seconds, 250, 3);
  EXPECT_NEAR(static_cast<double>(s.attempts), 2500, 25);
}

TEST(figures_002, fixed_rate) {
  auto const s = scanned(*contender_named("told"));
  tell("fixed 4/s", "250 s \"without hitting any throttling\"", s.in_words());
  EXPECT_EQ(s.done, 1000);
  EXPECT_NEAR(s.seconds, 250, 3);
  EXPECT_EQ(s.throttled, 0);
}

TEST(figures_002, exponential) {
  auto on_window = describe_clusters(one_at_a_time, false);
  on_window.server.limits = {in_any_second};
  auto const never_reset = exponential_002(after_throttle::share_level, endless);
  auto const as_estimated = run_of(on_window, never_reset);
  auto const on_bucket = scanned(never_reset);
  auto const decays = run_of(on_window, exponential_002(after_throttle::share_level, 10));
  auto const by_call = run_of(on_window, exponential_002(after_throttle::back_off, 10));
  tell("exponential, retry count never reset, 4 in any second", "0.4/s, 2,500 s",
       as_estimated.in_words());
  tell("… against a bucket of 4", "0.4/s, 2,500 s", on_bucket.in_words());
  tell("… one less after 10 successes in a row", "–", decays.in_words());
  tell("… counted for each call anew", "–", by_call.in_words());
  EXPECT_NEAR(as_estimated.per_second(), 0.4, 0.04);
  EXPECT_NEAR(as_estimated.seconds, 2500, 250);
  EXPECT_GT(by_call.per_second(), 2);  // so the estimate is not that of a common library
}

TEST(figures_002, adaptive_rate) {
  auto const at_hand = scanned(*contender_named("adaptive-rate-only"), all_at_hand);
  auto const decaying = scanned(*contender_named("adaptive-rate"), all_at_hand);
  auto const one = scanned(*contender_named("adaptive-rate-only"));
  tell("adaptive rate, all calls at hand", "\"sustained un-throttled\"", at_hand.in_words());
  tell("… and a decaying backoff", "\"sustained un-throttled\"", decaying.in_words());
  tell("adaptive rate, one call at a time", "10/s to 5/s to 2.5/s", one.in_words());
  for (auto const& s : {at_hand, decaying, one}) {
    EXPECT_EQ(s.done, 1000);
    EXPECT_GE(s.per_second(), 3.5);
    EXPECT_LE(s.per_second(), 4);
    EXPECT_LT(s.throttled, 5);
  }
}

TEST(figures_002, with_other_clients) {
  auto const with_others = [](char const* name, contender const& law, workload const& work) {
    auto const s = scanned(law, work, true);
    tell(text("with others: %s", name), "\"1 or 2 requests/second\"",
         s.in_words() + text("; the others %.1f %%", s.others_throttled));
    return s;
  };
  auto const naive = with_others("naive", *contender_named("hammer"), one_at_a_time);
  auto const exponential =
      with_others("exponential, never reset", exponential_002(after_throttle::share_level, endless),
                  one_at_a_time);
  auto const by_call =
      with_others("exponential, each call anew", exponential_002(after_throttle::back_off, endless),
                  one_at_a_time);
  auto const fixed = with_others("fixed 4/s", *contender_named("told"), one_at_a_time);
  auto const adaptive =
      with_others("adaptive rate", *contender_named("adaptive-rate-only"), all_at_hand);
  with_others("adaptive rate, decaying backoff", *contender_named("adaptive-rate"), all_at_hand);
  with_others("adaptive rate, one call at a time", *contender_named("adaptive-rate-only"),
              one_at_a_time);
  // "Make life miserable for all the clients"; "much better overall throughput … a good citizen".
  EXPECT_GT(naive.others_throttled, 90);
  EXPECT_NEAR(by_call.per_second(), 1.5, 0.2);
  EXPECT_GT(adaptive.per_second(), exponential.per_second());
  for (auto const& rude : {naive, by_call, fixed})
    EXPECT_LT(adaptive.others_throttled, rude.others_throttled / 2);
}

}  // namespace
}  // namespace headway::sim
