#include "whatif/newest_limit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "headway/sim/limit.hpp"
#include "whatif/trial.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t bouts_min = 3, bouts_max = 24;
constexpr double explains = 0.8;     // a score
constexpr double likelier = 14;      // than chance: a gain
constexpr double far_likelier = 60;  // though loads do not tell; 36: 13 of 20 without one have it
constexpr double above_mean_max = 1.35;  // the run took nearly all that it could have
constexpr double span_max = 1e6;         // seconds
constexpr std::int64_t enough = 20;      // units: one of fewer would be more than 5 %

/// The limit that explains most; of several, the one nearest to what is believed.
struct best_limit {
  double believed = 0;
  double gain_min = 0;
  met_limit what{};
  trial of{};
  double off = 0;  ///< from what is believed

  /// `as_rate`: for slots, what went through them.
  void look(met_limit some, double as_rate, trial const& t) {
    if (t.explained < bouts_min || t.score() < explains || t.gain() < gain_min) return;
    auto const score = t.score(), best = of.score();
    auto const this_off = std::abs(as_rate - believed);
    if (score < best || (score == best && this_off >= off)) return;
    what = some;
    of = t;
    off = this_off;
  }
};

/// Returns the load at each attempt; by two counters, with the first request as late as explains
/// most refusals.
std::vector<double> load_by(measure m, stretch all, std::vector<std::size_t> const& bouts) {
  if (m.what != measure::kind::two_parts) return load_at(all, m);
  std::vector<double> best;
  double score = -1;
  for (auto const late : first_may_come(all)) {
    m.late = late;
    auto load = load_at(all, m);
    auto const found = threshold_of(all, load, 0, bouts).of.score();
    if (found > score) score = found, best = std::move(load);
  }
  return best;
}

/// The newest attempts, and their first refusals.
struct newest {
  stretch all;
  std::vector<std::size_t> bouts;
  std::vector<std::pair<measure, std::vector<double>>> loads;

  explicit newest(stretch some) : all(some), bouts(first_refusals(some)) {
    using enum measure::kind;
    loads.emplace_back(measure{}, load_at(all, {}));
    auto const span = all.back().sent - all.front().sent;
    for (duration const period : {duration(1s), duration(10s), duration(1min), duration(5min)})
      if (2 * period <= 3 * span)
        for (measure const m :
             {measure{sliding, period, false}, measure{sliding, period, true},
              measure{fixed, period, false}, measure{renewed, period, false},
              measure{two_parts, period, false}, measure{two_parts, period, true}})
          loads.emplace_back(m, load_by(m, all, bouts));
  }
};

/// A bucket is empty at the first refusal of the bout at `begin`, and at that of the last: what was
/// accepted between them came at its rate, give or take one.
void look_at_buckets(best_limit& best, newest const& n, std::size_t begin) {
  auto const units = accepted(n.all.subspan(begin, n.bouts.back() - begin));
  auto const begins = n.all[begin].sent;
  auto const span = to_seconds(n.all[n.bouts.back()].sent - begins);
  if (units < enough || span < 1e-3 || span > span_max) return;
  auto const mean = static_cast<double>(units) / span;
  auto const try_it = [&](double rate, std::int64_t burst) {
    if (rate <= 0 || rate > above_mean_max * mean) return;
    sim::token_bucket b{.interval = from_seconds(1 / rate), .burst = burst};
    b.tat = later(begins, burst * b.interval);
    best.look({.rate = rate}, rate, try_out(n.all.subspan(begin + 1), b, refusals_in_a_row::first));
  };
  auto const one = static_cast<double>(n.all.front().cost) / span;
  for (std::int64_t const burst : {1, 2, 5, 10, 20, 50, 200}) {
    for (double const more : {-1.0, -0.5, 0.0, 0.5, 1.0}) try_it(mean + more * one, burst);
    if (burst < 5) try_it(best.believed, burst);  // it saves next to nothing of what is not used
  }
}

/// Slots and windows: loads from which on all is refused.
void look_at_loads(best_limit& best, newest const& n, std::size_t begin) {
  auto const from = std::ranges::lower_bound(n.bouts, begin);
  std::vector<std::size_t> const refusals(from, n.bouts.end());
  auto const& all = n.all;
  auto const span = to_seconds(all.back().sent - all[begin].sent);
  auto const mean = static_cast<double>(accepted(all.subspan(begin))) / std::max(span, 1e-3);
  for (auto const& [how, load] : n.loads) {
    auto const slots = how.what == measure::kind::in_flight;
    if (!slots && to_seconds(how.period) * 2 > 3 * span) continue;
    auto const found = threshold_of(all, load, begin, refusals);
    auto const count = std::floor(found.load);
    if (count < (slots ? 1 : static_cast<double>(enough))) continue;
    auto const rate = slots ? mean : count / to_seconds(how.period);
    if (rate > above_mean_max * mean) continue;
    if (slots)
      best.look({.slots = static_cast<std::int64_t>(count)}, rate, found.of);
    else
      best.look({.rate = rate}, rate, found.of);
  }
}

}  // namespace

std::optional<met_limit> newest_limit(recording const& r, double believed, refused_at at) {
  auto const all = r.newest();
  auto const alike = [&](recording::attempt const& a) { return a.cost == all.front().cost; };
  if (!r.timed || !std::ranges::all_of(all, alike)) return std::nullopt;
  newest const n(all);
  auto const gain_min = at == refused_at::high_load ? likelier : far_likelier;
  auto const bouts_kept = std::min<std::int64_t>(std::ssize(n.bouts), bouts_max);
  for (auto some = bouts_kept; some >= bouts_min; --some) {
    auto const begin = *(n.bouts.end() - some);
    best_limit best{.believed = believed, .gain_min = gain_min};
    look_at_buckets(best, n, begin);
    look_at_loads(best, n, begin);
    if (best.of.explained > 0) return best.what;
  }
  return std::nullopt;
}

}  // namespace headway::app
