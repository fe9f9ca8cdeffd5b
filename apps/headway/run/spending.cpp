#include "run/spending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace headway::app {

spending::spending(std::span<quota_units const> most, std::string_view before,
                   std::int64_t in_doubt)
    : most_(most.begin(), most.end()), own_(read(before, lost_)), all_(own_), in_doubt_(in_doubt) {}

spending::account spending::read(std::string_view ledger, std::int64_t& lost) {
  account all;
  std::istringstream lines{std::string(ledger)};
  lines >> lost;
  for (spent_units s; lines >> s.units >> s.answers >> s.most;) {
    std::string name;
    std::getline(lines.ignore(), name);
    all[name] = s;
  }
  return all;
}

void spending::add(account& to, std::string const& quota, spent_units const& more) {
  auto& s = to[quota];
  s.units += more.units;
  s.answers += more.answers;
  s.most = std::max(s.most, more.most);
}

void spending::share(std::string_view others, std::int64_t flying) {
  all_ = read(others, lost_by_others_);
  for (auto const& [quota, s] : own_) add(all_, quota, s);
  flying_ = flying;
}

std::string spending::ledger() const {
  if (own_.empty() && lost_ == 0) return {};
  auto text = fmt::format("{}\n", lost_);
  for (auto const& [name, s] : own_)
    text += fmt::format("{} {} {} {}\n", s.units, s.answers, s.most, name);
  return text;
}

void spending::resolve() noexcept {
  if (in_doubt_ == 0) return;
  --in_doubt_;
  ++lost_;
}

double spending::total(spent_units const& s) const noexcept {
  return s.units + static_cast<double>(lost_ + lost_by_others_ + in_doubt_) * s.average();
}

bool spending::passed_by_one(quota_units const& most) const noexcept {
  auto const s = all_.find(most.quota);
  return s != all_.end() && total(s->second) + s->second.average() > most.units;
}

std::string spending::why_exhausted(quota_units const& most) const {
  return fmt::format("--spend-max {}={}: {} spent in all runs", most.quota, in_units(most.units),
                     in_units(total(all_.at(most.quota))));
}

std::string spending::exhausted() const {
  for (auto const& most : most_)
    if (passed_by_one(most)) return why_exhausted(most);
  return {};
}

std::string spending::charge(std::span<quota_units const> given,
                             std::span<settled_cost const> told) {
  std::map<std::string_view, double> costs;
  for (auto const& g : given) costs[g.quota] = g.units;
  for (auto const& t : told) costs[t.quota] = t.units;
  for (auto const& [name, its] : costs)
    for (auto* const to : {&own_, &all_})
      add(*to, std::string(name), {.units = its, .answers = 1, .most = its});
  for (auto const& most : most_)
    if (!costs.contains(most.quota))
      return fmt::format("no answer says what it costs in {}, so --spend-max cannot be kept",
                         most.quota);
  return exhausted();
}

void spending::allow(quota_units most) {
  auto const found = std::ranges::find(most_, most.quota, &quota_units::quota);
  if (found == most_.end())
    most_.push_back(std::move(most));
  else
    *found = std::move(most);
}

bool spending::room_beside(std::int64_t out) const noexcept {
  out += flying_;
  return std::ranges::none_of(most_, [&](auto const& most) {
    auto const s = all_.find(most.quota);
    if (s == all_.end() || s->second.answers == 0) return out > 0;
    if (out == 0) return passed_by_one(most);
    return total(s->second) + static_cast<double>(out + 1) * s->second.most > most.units;
  });
}

std::string spending::words() const {
  std::string list;
  for (auto const& [name, s] : all_)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", in_units(total(s)), name);
  return list.empty() ? list : fmt::format("spent in all runs: {}\n", list);
}

std::string in_units(double units) {
  auto const size = std::abs(units);
  if (size >= 1e9) return fmt::format("{:.4g}G", units / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g}M", units / 1e6);
  if (size >= 1e5) return fmt::format("{:.4g}k", units / 1e3);
  if (size >= 100 || size == std::floor(size)) return fmt::format("{:.0f}", units);
  return fmt::format("{:.3g}", units);
}

}  // namespace headway::app
