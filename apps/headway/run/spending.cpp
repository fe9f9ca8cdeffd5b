#include "run/spending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace headway::app {

spending::spending(std::span<quota_units const> most) {
  for (auto const& m : most) all_.push_back({.most = m});
}

std::string spending::charge(std::span<quota_units const> given,
                             std::span<settled_cost const> told) {
  std::string why;
  for (auto& s : all_) {
    auto const& name = s.most.quota;
    std::optional<double> cost;
    for (auto const& g : given)
      if (g.quota == name) cost = g.units;
    for (auto const& t : told)
      if (t.quota == name) cost = t.units;
    if (cost) {
      s.units += *cost;
      ++s.answers;
    }
    if (!why.empty()) continue;
    if (!cost)
      why = fmt::format("no answer says what it costs in {}, so --spend-max cannot be kept", name);
    else if (s.passed_by(1))
      why = fmt::format("--spend-max {}={:.0f}: {:.0f} spent", name, s.most.units, s.units);
  }
  return why;
}

bool spending::room_beside(std::int64_t out) const noexcept {
  return out == 0 || std::ranges::none_of(all_, [out](auto const& s) {
           return s.answers == 0 || s.passed_by(static_cast<double>(out) + 1);
         });
}

}  // namespace headway::app
