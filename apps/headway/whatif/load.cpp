#include "whatif/load.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace headway::app {
namespace {

constexpr std::size_t newest_max = 5'000, refusals_max = 24;
constexpr std::size_t few_refusals = 4;    // refusals
constexpr std::size_t many_refusals = 12;  // by which alone chance is told
constexpr double unlikely_load = 1e-3;
constexpr double at_ceiling = 0.8;  // of it

bool met_refusal(recording::attempt const& a) {
  return a.what == outcome::throttle;
}

/// At each attempt, what was accepted in the `period` before it.
std::vector<double> accepted_within(stretch all, duration period) {
  std::vector<double> at;
  double units = 0;
  std::size_t first = 0;
  for (auto const& a : all) {
    for (; all[first].sent + period <= a.sent; ++first)
      units -= met_refusal(all[first]) ? 0 : static_cast<double>(all[first].cost);
    at.push_back(units);
    units += met_refusal(a) ? 0 : static_cast<double>(a.cost);
  }
  return at;
}

std::vector<double> in_flight(stretch all) {
  std::vector<double> at;
  std::multiset<time_point> ends;
  for (auto const& a : all) {
    ends.erase(ends.begin(), ends.upper_bound(a.sent));
    at.push_back(static_cast<double>(ends.size()));
    if (!met_refusal(a)) ends.insert(later(a.sent, a.latency));
  }
  return at;
}

/// Whether about as much was accepted as its user's ceiling lets through.
bool goes_at_ceiling(recording const& r) {
  if (!r.ceiling) return false;
  double units = 0;
  for (auto const& a : r.attempts) units += met_refusal(a) ? 0 : static_cast<double>(a.cost);
  auto const span = to_seconds(r.attempts.back().sent - r.attempts.front().sent);
  return units * to_seconds(r.ceiling->interval) >= at_ceiling * span;
}

}  // namespace

double loads::chance() const {
  auto sorted = accepted;
  std::ranges::sort(sorted);
  double chance = 1, sum = 0, n = 0;
  for (auto const load : refused) {
    auto const [as_much, more] = std::equal_range(sorted.begin(), sorted.end(), load);
    auto const half = static_cast<double>(more - as_much) / 2;
    sum += (static_cast<double>(sorted.end() - more) + half + 0.5) /
           (static_cast<double>(sorted.size()) + 1);
  }
  for ([[maybe_unused]] auto const load : refused) chance *= sum / ++n;
  return std::min(chance, 1.0);
}

std::vector<std::size_t> first_refusals(stretch all) {
  std::vector<std::size_t> found;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (met_refusal(all[i]) && !met_refusal(all[i - 1])) found.push_back(i);
  return found;
}

refused_at load_of_refusals(recording const& r) {
  stretch all(r.attempts);
  all = all.last(std::min(all.size(), newest_max));
  auto const found = first_refusals(all);
  std::vector<std::vector<double>> kinds = {in_flight(all)};
  for (duration const period :
       {duration(100ms), duration(300ms), duration(1s), duration(3s), duration(30s)})
    kinds.push_back(accepted_within(all, period));
  for (auto n = std::min(found.size(), refusals_max); n > 0; --n) {
    auto const begin = found.size() == n ? 0 : found[found.size() - n - 1] + 1;
    for (auto const& kind : kinds) {
      loads l;
      for (auto i = begin; i < all.size(); ++i)
        if (!met_refusal(all[i])) l.accepted.push_back(kind[i]);
      for (auto i = found.size() - n; i < found.size(); ++i) l.refused.push_back(kind[found[i]]);
      if (l.chance() < unlikely_load) return refused_at::high_load;
    }
  }
  return found.size() < few_refusals ? refused_at::unsaid : refused_at::any_load;
}

bool refused_by_chance(recording const& r) {
  auto const at = load_of_refusals(r);
  if (at == refused_at::high_load) return false;
  if (goes_at_ceiling(r)) return true;
  return at == refused_at::any_load && first_refusals(r.attempts).size() >= many_refusals;
}

}  // namespace headway::app
