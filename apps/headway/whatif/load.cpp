#include "whatif/load.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace headway::app {
namespace {

constexpr std::size_t refusals_max = 24;
constexpr std::size_t few_refusals = 4;    // refusals
constexpr std::size_t many_refusals = 12;  // by which alone chance is told
constexpr double unlikely_load = 1e-3;
constexpr double at_ceiling = 0.87;  // of it

/// Whether about as much was accepted as its user's ceiling lets through.
bool goes_at_ceiling(recording const& r) {
  if (!r.ceiling) return false;
  auto const units = static_cast<double>(accepted(r.attempts));
  auto const span = to_seconds(r.attempts.back().sent - r.attempts.front().sent);
  return units * to_seconds(r.ceiling->interval) >= at_ceiling * span;
}

std::vector<double> flying(stretch all, duration slack) {
  auto const at = in_flight(all, slack);
  return {at.begin(), at.end()};
}

std::int64_t counted(recording::attempt const& a, measure const& m) {
  return m.refusals_too ? a.cost : a.accepted();
}

std::vector<double> in_a_sliding_window(stretch all, measure const& m, duration slack) {
  std::vector<double> at;
  std::int64_t units = 0;
  std::size_t first = 0;
  for (auto const& a : all) {
    for (; first < at.size() && all[first].sent + m.period <= a.sent + slack; ++first)
      units -= counted(all[first], m);
    at.push_back(static_cast<double>(units));
    units += counted(a, m);
  }
  return at;
}

std::vector<double> in_a_fixed_window(stretch all, measure const& m, duration slack) {
  std::vector<double> at;
  auto start = all.front().sent;
  std::int64_t used = 0;
  bool was_refused = false;
  for (auto const& a : all) {
    at.push_back(a.sent + slack >= start + m.period ? 0 : static_cast<double>(used));
    auto const anew = m.what == measure::kind::renewed && was_refused && !a.refused();
    if ((a.sent >= start + m.period || anew) && counted(a, m) > 0) start = a.sent, used = 0;
    used += counted(a, m);
    was_refused = a.refused();
  }
  return at;
}

/// Source: HAProxy, freq_ctr.h.
std::vector<double> in_two_parts(stretch all, measure const& m, duration slack) {
  struct {
    time_point begin{};
    std::int64_t before = 0, now = 0;
  } counts{.begin = later(all.front().sent, m.late)};
  std::vector<double> at;
  for (auto const& a : all) {
    auto then = counts;
    if (a.sent >= later(then.begin, m.period)) {
      bool const follows = a.sent < later(then.begin, 2 * m.period);
      then = {.begin = follows ? later(then.begin, m.period) : a.sent,
              .before = follows ? then.now : 0};
    }
    auto const left = to_seconds(then.begin + m.period - (a.sent + slack)) / to_seconds(m.period);
    at.push_back(static_cast<double>(then.now) +
                 static_cast<double>(then.before) * std::clamp(left, 0.0, 1.0));
    if (counted(a, m) == 0) continue;
    counts = then;
    counts.now += counted(a, m);
  }
  return at;
}

std::vector<double> load_with(stretch all, measure const& m, duration slack) {
  switch (m.what) {
    case measure::kind::in_flight:
      return flying(all, slack);
    case measure::kind::sliding:
      return in_a_sliding_window(all, m, slack);
    case measure::kind::fixed:
    case measure::kind::renewed:
      return in_a_fixed_window(all, m, slack);
    case measure::kind::two_parts:
      return in_two_parts(all, m, slack);
  }
  return {};
}

}  // namespace

std::vector<duration> first_may_come(stretch all) {
  std::vector<duration> after{0ns};
  if (all.empty()) return after;
  for (duration d = 1ms; d < all.front().latency; d += d / 2) after.push_back(d);
  return after;
}

std::vector<double> load_at(stretch all, measure m) {
  if (all.empty()) return {};
  auto at = load_with(all, m, -trial::timing);
  auto const least = load_with(all, m, trial::timing);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].refused()) at[i] = least[i];
  return at;
}

threshold threshold_of(stretch all, std::vector<double> const& load, std::size_t begin,
                       std::vector<std::size_t> const& refusals) {
  std::vector<double> accepted, refused;
  for (auto i = begin; i < all.size(); ++i)
    if (!all[i].refused()) accepted.push_back(load[i]);
  for (auto const i : refusals) refused.push_back(load[i]);
  std::ranges::sort(accepted, std::greater{});
  std::ranges::sort(refused, std::greater{});
  threshold best;
  trial t{.refusals = std::ssize(refused), .acceptances = std::ssize(accepted)};
  for (auto const at : refused) {
    ++t.explained;
    while (t.against < t.acceptances && accepted[static_cast<std::size_t>(t.against)] >= at)
      ++t.against;
    if (t.score() >= best.of.score()) best = {at, t};
  }
  return best;
}

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
  auto const all = r.newest();
  auto const refusals = first_refusals(all);
  std::vector<std::vector<double>> kinds = {flying(all, 0ns)};
  for (duration const period :
       {duration(100ms), duration(300ms), duration(1s), duration(3s), duration(30s)})
    kinds.push_back(in_a_sliding_window(all, {.period = period}, 0ns));
  for (auto n = std::min(refusals.size(), refusals_max); n > 0; --n) {
    auto const newest = std::span(refusals).last(n);
    auto const begin = refusals.size() == n ? 0 : refusals[refusals.size() - n - 1] + 1;
    for (auto const& kind : kinds) {
      loads l;
      for (auto i = begin; i < all.size(); ++i)
        if (!all[i].refused()) l.accepted.push_back(kind[i]);
      for (auto const i : newest) l.refused.push_back(kind[i]);
      if (l.chance() < unlikely_load) return refused_at::high_load;
    }
  }
  return refusals.size() < few_refusals ? refused_at::unsaid : refused_at::any_load;
}

bool refused_by_chance(recording const& r, refused_at at) {
  if (at == refused_at::high_load) return false;
  if (goes_at_ceiling(r)) return true;
  return at == refused_at::any_load && first_refusals(r.attempts).size() >= many_refusals;
}

}  // namespace headway::app
