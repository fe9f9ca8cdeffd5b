#include "provider/costs.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/json_text.hpp"
#include "provider/json_pointer.hpp"

namespace headway::app {

namespace {

bool may_have_any(std::string_view body, std::vector<std::string> const& pointers) {
  return std::ranges::any_of(pointers, [&](auto const& p) { return may_have(body, p); });
}

}  // namespace

bool may_tell_costs(std::string_view body, std::vector<cost_rule> const& rules) {
  return std::ranges::any_of(rules, [&](auto const& c) { return may_have_any(body, c.pointer); });
}

std::vector<settled_cost> costs_in(simdjson::dom::element json, std::string_view body,
                                   std::vector<cost_rule> const& rules) {
  std::vector<settled_cost> costs;
  for (auto const& c : rules) {
    auto const known = [&](auto const& one) { return one.quota == c.quota; };
    if (std::ranges::any_of(costs, known) || !may_have_any(body, c.pointer)) continue;
    if (auto const units = sum_of(json, c.pointer))
      costs.push_back({c.quota, *units, sum_of(json, c.sized)});
  }
  return costs;
}

std::vector<settled_cost> costs_in_stream(std::string_view body,
                                          std::vector<cost_rule> const& rules) {
  std::vector<std::string const*> pointers;
  for (auto const& c : rules)
    for (auto const* list : {&c.pointer, &c.sized})
      for (auto const& p : *list) pointers.push_back(&p);
  std::vector<std::optional<double>> told(pointers.size());
  thread_local simdjson::dom::parser parser;
  while (!body.empty()) {
    auto line = body.substr(0, std::min(body.find('\n'), body.size()));
    body.remove_prefix(std::min(line.size() + 1, body.size()));
    if (!line.starts_with("data:") || line.size() > body_looked_at) continue;
    line.remove_prefix(5);
    simdjson::dom::element event;
    bool parsed = false;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      if (!may_have(line, *pointers[i])) continue;
      if (!std::exchange(parsed, true) &&
          !parse_leniently(parser, line, leniency::all, event).empty())
        break;
      for (auto const* const within : {"", "/message", "/response"})
        if (auto const units = sum_of(event, {within + *pointers[i]})) told[i] = units;
    }
  }
  std::vector<settled_cost> costs;
  std::size_t at = 0;
  auto const sum = [&](std::vector<std::string> const& list) {
    std::optional<double> all;
    for (std::size_t i = 0; i < list.size(); ++i, ++at)
      if (told[at]) all = all.value_or(0) + *told[at];
    return all;
  };
  for (auto const& c : rules) {
    auto const units = sum(c.pointer);
    auto const of_size = sum(c.sized);
    auto const known = [&](auto const& one) { return one.quota == c.quota; };
    if (units && std::ranges::none_of(costs, known)) costs.push_back({c.quota, *units, of_size});
  }
  return costs;
}

std::vector<quota_units> reserved_by(std::string_view request_body,
                                     std::vector<cost_rule> const& rules) {
  std::vector<quota_units> all;
  if (request_body.size() > body_looked_at) return all;
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element json;
  bool parsed = false;
  for (auto const& c : rules)
    for (auto const& pointer : c.reserve) {
      if (!may_have(request_body, pointer)) continue;
      if (!std::exchange(parsed, true) &&
          !parse_leniently(parser, request_body, leniency::all, json).empty())
        return all;
      auto const units = sum_of(json, {pointer});
      if (!units) continue;
      auto const known = [&](auto const& one) { return one.quota == c.quota; };
      if (std::ranges::none_of(all, known)) all.push_back({c.quota, *units});
      break;
    }
  return all;
}

}  // namespace headway::app
