#include "whatif/load.hpp"

#include <algorithm>
#include <span>

namespace headway::app {
namespace {

constexpr std::size_t newest_max = 5'000, refusals_max = 24;
constexpr std::size_t few_refusals = 4;    // refusals
constexpr std::size_t many_refusals = 12;  // by which alone chance is told
constexpr double unlikely_load = 1e-3;
constexpr double at_ceiling = 0.8;  // of it

/// Whether about as much was accepted as its user's ceiling lets through.
bool goes_at_ceiling(recording const& r) {
  if (!r.ceiling) return false;
  auto const units = static_cast<double>(accepted(r.attempts));
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
    if (all[i].refused() && !all[i - 1].refused()) found.push_back(i);
  return found;
}

refused_at load_of_refusals(recording const& r) {
  stretch all(r.attempts);
  all = all.last(std::min(all.size(), newest_max));
  auto const found = first_refusals(all);
  std::vector<std::vector<std::int64_t>> kinds = {in_flight(all)};
  for (duration const period :
       {duration(100ms), duration(300ms), duration(1s), duration(3s), duration(30s)})
    kinds.push_back(accepted_before(all, period));
  for (auto n = std::min(found.size(), refusals_max); n > 0; --n) {
    auto const begin = found.size() == n ? 0 : found[found.size() - n - 1] + 1;
    for (auto const& kind : kinds) {
      loads l;
      for (auto i = begin; i < all.size(); ++i)
        if (!all[i].refused()) l.accepted.push_back(static_cast<double>(kind[i]));
      for (auto i = found.size() - n; i < found.size(); ++i)
        l.refused.push_back(static_cast<double>(kind[found[i]]));
      if (l.chance() < unlikely_load) return refused_at::high_load;
    }
  }
  return found.size() < few_refusals ? refused_at::unsaid : refused_at::any_load;
}

bool refused_by_chance(recording const& r, refused_at at) {
  if (at == refused_at::high_load) return false;
  if (goes_at_ceiling(r)) return true;
  return at == refused_at::any_load && first_refusals(r.attempts).size() >= many_refusals;
}

}  // namespace headway::app
