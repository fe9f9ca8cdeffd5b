#include "status/metrics.hpp"

#include <algorithm>

namespace headway::app {
namespace {

constexpr std::string_view other = "other";
constexpr std::array<std::string_view, 4> outcomes = {"success", "throttle", "failure", "ignore"};

/// "server_hint": as labels are written.
std::string label_of(reason why) {
  std::string words(to_string(why));
  std::ranges::replace(words, ' ', '_');
  return words;
}

}  // namespace

metrics::all::value_type& metrics::entry(std::string_view scope) {
  auto found = scopes_.find(scope);
  if (found == scopes_.end()) {
    auto const full = scopes_.size() - scopes_.count(other) >= scopes_max;
    found = scopes_.try_emplace(std::string(full ? other : scope)).first;
  }
  return *found;
}

void metrics::ended(std::string_view scope, final_outcome how) {
  ++entry(scope).second.ended.at(static_cast<std::size_t>(how) - 1);
}

void metrics::attempted(std::string_view scope, outcome what, duration took) {
  auto& c = entry(scope).second;
  ++c.attempted.at(static_cast<std::size_t>(what));
  c.took.add(took);
}

void metrics::held(std::string_view scope, reason why, duration span) {
  entry(scope).second.held.at(static_cast<std::size_t>(why)) += span;
}

void metrics::add(metrics const& others) {
  auto const sum = [](auto& into, auto const& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
  };
  for (auto const& [scope, from] : others.scopes_) {
    auto& into = entry(scope).second;
    sum(into.ended, from.ended);
    sum(into.attempted, from.attempted);
    sum(into.held, from.held);
    into.took.add(from.took);
  }
}

void write_gauges(exposition& page, std::span<scope_gauges const> now,
                  std::function<std::string_view(std::string_view)> const& name_of) {
  std::map<std::string_view, scope_gauges> shown;
  for (auto const& g : now) {
    auto const name = name_of(g.scope);
    auto const [at, first] = shown.try_emplace(name, g);
    auto& sum = at->second;
    if (!first) {  // of another credential, or counted together
      sum.rate += g.rate;
      sum.slots += g.slots;
      sum.in_flight += g.in_flight;
      sum.waiting += g.waiting;
    }
    if (name != g.scope) {
      sum.rate = sum.slots = scope_gauges::unknown;
      sum.quotas.clear();
    }
  }

  using enum exposition::kind;
  auto const each = [&](std::string_view name, std::string_view help, auto scope_gauges::*figure) {
    page.family(name, gauge, help);
    for (auto const& [scope, g] : shown) page.sample({{"scope", scope}}, g.*figure);
  };
  each("headway_scope_rate", "Units per second that the law sends.", &scope_gauges::rate);
  each("headway_scope_slots", "Requests that the law keeps in flight at most.",
       &scope_gauges::slots);
  each("headway_scope_in_flight", "Requests sent and not answered.", &scope_gauges::in_flight);
  each("headway_scope_waiting", "Requests that wait for their turn.", &scope_gauges::waiting);
  page.family("headway_scope_quota_remaining", gauge, "What is left of a named quota.");
  for (auto const& [scope, g] : shown)
    for (auto const& [quota, left] : g.quotas)
      page.sample({{"scope", scope}, {"quota", quota}}, left);
  if (std::ranges::none_of(shown, [](auto const& s) { return s.second.fleet.has_value(); })) return;
  auto const of_fleet = [&](std::string_view name, std::string_view help, auto figure) {
    page.family(name, gauge, help);
    for (auto const& [scope, g] : shown)
      if (g.fleet) page.sample({{"scope", scope}}, figure(*g.fleet));
  };
  of_fleet("headway_fleet_hosts", "Hosts that share the limit.",
           [](fleet_gauges const& f) { return f.members; });
  of_fleet("headway_fleet_unheard", "Hosts that went silent in the last ten minutes.",
           [](fleet_gauges const& f) { return f.unheard; });
  of_fleet("headway_fleet_excess_ratio",
           "By how much of the limit unheard hosts may exceed it, at most.",
           [](fleet_gauges const& f) { return f.excess; });
  of_fleet("headway_fleet_away_seconds", "Time for which the database has not answered.",
           [](fleet_gauges const& f) { return f.away; });
  of_fleet("headway_fleet_coasting", "1 while this host paces by itself.",
           [](fleet_gauges const& f) { return std::int64_t{f.coasts}; });
}

void metrics::write(exposition& page, std::span<scope_gauges const> now) {
  for (auto const& g : now) entry(g.scope);
  using enum exposition::kind;
  page.family("headway_requests_total", counter, "Requests that have come to their end.");
  for (auto const& [scope, c] : scopes_)
    for (auto const how : {final_outcome::success, final_outcome::failed, final_outcome::unknown})
      page.sample({{"scope", scope}, {"outcome", to_string(how)}},
                  c.ended[static_cast<std::size_t>(how) - 1]);
  page.family("headway_attempts_total", counter, "Attempts, by what they taught the law.");
  for (auto const& [scope, c] : scopes_)
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      page.sample({{"scope", scope}, {"outcome", outcomes[i]}}, c.attempted[i]);
  page.family("headway_attempt_seconds", histogram, "Time from a send to its answer.");
  for (auto const& [scope, c] : scopes_) page.sample({{"scope", scope}}, c.took);
  page.family("headway_scope_held_seconds_total", counter,
              "Time for which the first that waited was held back.");
  for (auto const& [scope, c] : scopes_)
    for (std::size_t i = 0; i < c.held.size(); ++i)
      if (c.held[i] > 0ns)
        page.sample({{"scope", scope}, {"reason", label_of(static_cast<reason>(i))}},
                    to_seconds(c.held[i]));
  write_gauges(page, now,
               [this](std::string_view scope) { return std::string_view(entry(scope).first); });
}

}  // namespace headway::app
