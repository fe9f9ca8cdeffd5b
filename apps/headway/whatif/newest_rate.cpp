#include "whatif/newest_rate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "headway/sim/limit.hpp"
#include "whatif/trial.hpp"

namespace headway::app {
namespace {

constexpr std::size_t bouts_min = 3, bouts_max = 24;
constexpr std::size_t attempts_max = 5'000;  // that a limit is tried on
constexpr double explains = 0.8;             // a score
constexpr double unlikely = 1e-2;            // a chance
constexpr double above_mean_max = 1.35;      // the run took nearly all that it could have
constexpr double span_max = 1e6;             // seconds
constexpr std::int64_t enough = 20;          // units: one of fewer would be more than 5 %

/// The limit that explains most; of several, the one nearest to what is believed.
struct best_limit {
  double believed, score = 0, rate = 0;
  double chance = 1;  ///< that refusals came by chance as near to it

  template <class Limit>
  void look(double at, stretch all, Limit const& limit, std::size_t before = 0) {
    auto const s = try_out(all, limit, refusals_in_a_row::first, before).score();
    if (s < score || (s == score && std::abs(at - believed) >= std::abs(rate - believed))) return;
    score = s;
    rate = at;
    chance = 1;
    if (score < explains) return;
    loads met;
    try_out(all, limit, refusals_in_a_row::first, before, &met);
    chance = met.chance();
  }
};

/// It is empty at the first refusal of the bout that `all` begins with, and at that of the last:
/// what was accepted between them came at its rate, give or take one.
void look_at_buckets(best_limit& best, stretch all, std::size_t last) {
  auto const units = accepted(all.first(last));
  if (units < enough) return;
  auto const begins = all.front().sent;
  auto const span = to_seconds(all[last].sent - begins);
  if (span < 1e-3 || span > span_max) return;
  auto const try_it = [&](double rate, std::int64_t burst) {
    sim::token_bucket b{.interval = from_seconds(1 / rate), .burst = burst};
    b.tat = later(begins, burst * b.interval);
    best.look(rate, all.subspan(1), b);
  };
  auto const one = static_cast<double>(all.front().cost);
  for (std::int64_t const burst : {1, 2, 5, 10, 20, 50, 200}) {
    for (double const more : {-1.0, -0.5, 0.0, 0.5, 1.0})
      try_it((static_cast<double>(units) + more * one) / span, burst);
    if (burst < 5) try_it(best.believed, burst);  // it saves next to nothing of what is not used
  }
}

/// `all` with what came up to a period before it.
void look_at_windows(best_limit& best, stretch before, stretch all) {
  auto const span = all.back().sent - all.front().sent;
  for (duration const period : {duration(1s), duration(10s), duration(1min)}) {
    if (2 * period > 3 * span) return;
    std::size_t lead = before.size();
    while (lead > 0 && before[lead - 1].sent + period > all.front().sent) --lead;
    stretch const both(before.data() + lead, before.size() - lead + all.size());
    auto const most = busiest(both, period);
    auto const per_second = [&](std::int64_t count) {
      return static_cast<double>(count) / to_seconds(period);
    };
    for (auto n = std::max(enough, most * 2 / 3); n <= most + 2; n += 1 + most / 400) {
      auto const learned = before.size() - lead + 1;
      for (bool const rejects : {false, true})
        best.look(per_second(n), both,
                  sim::sliding_window{.count = n, .period = period, .counts_rejects = rejects},
                  learned);
      // One that is used up begins anew with what is accepted next.
      best.look(per_second(n), all.subspan(1), sim::fixed_window{.count = n, .period = period});
    }
  }
}

}  // namespace

std::optional<double> newest_rate(recording const& r, double believed, refused_at at) {
  stretch all(r.attempts);
  auto const alike = [&](recording::attempt const& a) { return a.cost == all.front().cost; };
  if (!r.timed || all.size() >= recording::attempts_max || !std::ranges::all_of(all, alike))
    return std::nullopt;
  all = all.last(std::min(all.size(), attempts_max));
  auto const bouts = first_refusals(all);
  for (auto n = std::min(bouts.size(), bouts_max); n >= bouts_min; --n) {
    auto const begin = bouts[bouts.size() - n];
    best_limit best{.believed = believed};
    look_at_buckets(best, all.subspan(begin), bouts.back() - begin);
    look_at_windows(best, all.first(begin), all.subspan(begin));
    auto const units = accepted(all.subspan(begin, bouts.back() - begin));
    auto const span = to_seconds(all[bouts.back()].sent - all[begin].sent);
    auto const mean = static_cast<double>(units) / span;
    if (best.score >= explains && (at == refused_at::high_load || best.chance < unlikely) &&
        best.rate < above_mean_max * mean)
      return best.rate;
  }
  return std::nullopt;
}

}  // namespace headway::app
