#include "watch/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/quantity.hpp"
#include "pacing/laws.hpp"

namespace headway::app {

std::optional<fleet_gauges> fleet_of(time_point now, lane const& l) {
  auto const s = l.hosts();
  if (!s) return std::nullopt;
  return fleet_gauges{.members = s->members,
                      .unheard = s->unheard,
                      .excess = s->excess,
                      .away = s->away ? to_seconds(now - *s->away) : 0,
                      .coasts = s->coasts};
}

std::vector<scope_gauges> gauges_of(time_point now, lanes& all) {
  auto const known = [](double n) { return std::isfinite(n) ? n : scope_gauges::unknown; };
  std::vector<scope_gauges> scopes;
  for (auto& [key, l] : all) {
    auto const s = speeds_of(l.law_state());
    scope_gauges g{.scope = l.title(),
                   .rate = known(s.rate),
                   .slots = known(s.slots),
                   .in_flight = l.flying(),
                   .waiting = static_cast<std::int64_t>(l.waiting())};
    for (auto const& q : l.quotas().look(now)) g.quotas.emplace_back(q.name, q.remaining);
    g.fleet = fleet_of(now, l);
    scopes.push_back(std::move(g));
  }
  return scopes;
}

namespace {

/// The member of a scope's JSON, or "".
std::string fleet_json(std::optional<fleet_gauges> const& f) {
  if (!f) return "";
  return fmt::format(
      R"(,"fleet":{{"hosts":{},"unheard":{},"excess":{:.6g},"away_s":{:.3f},"coasts":{}}})",
      f->members, f->unheard, f->excess, f->away, f->coasts);
}

}  // namespace

void append_states(std::string& json, time_point now, lanes& all) {
  auto const number = [](double n) {
    return std::isfinite(n) ? fmt::format("{:.6g}", n) : std::string("null");
  };
  for (auto& [key, l] : all) {
    auto const why = l.why(now);
    auto const held = why.why == reason::none || why.until == never ? 0ns : why.until - now;
    auto const s = speeds_of(l.law_state());
    json += fmt::format(
        R"({}{{"scope":{},"rate":{},"slots":{},"in_flight":{},"waiting":{},"held":{},"held_s":{:.3f},"company":{},"paused":{}{}}})",
        json.ends_with('}') ? "," : "", json_string(l.name()), number(s.rate), number(s.slots),
        l.flying(), l.waiting(), json_string(to_string(why.why)),
        to_seconds(std::max(held, duration(0))), l.company(), l.paused(),
        fleet_json(fleet_of(now, l)));
  }
}

std::optional<lane_order> order_of(command const& c) {
  using enum command::verb;
  auto const off = c.value == "off";
  lane_order o;
  switch (c.what) {
    case pause:
    case resume:
      o.paused = c.what == pause;
      return o;
    case rate:
      o.rate = lane_order::ceiling{};
      if (!off) o.rate->rate = option_value("rate", c.value, parse_ceiling);
      return o;
    case concurrency:
      o.in_flight = off ? 0 : option_value("concurrency", c.value, parse_concurrency);
      return o;
    case leave:
      o.leave = option_value("leave", c.value, parse_leave);
      return o;
    case status:
    case explain:
    case stop:
    case finish:
    case spend_max:
      break;
  }
  return std::nullopt;
}

std::string answered(std::string_view line,
                     std::function<std::string(command const&)> const& answers) {
  auto const refused = [](std::exception const& wrong) {
    return fmt::format(R"({{"error":{}}})", json_string(in_utf8(wrong.what())));
  };
  try {
    return answers(command::parse(line));
  } catch (std::invalid_argument const& wrong) {
    return refused(wrong);
  } catch (fatal const& wrong) {
    return refused(wrong);
  }
}

std::string answer_done(command const& c, std::size_t scopes) {
  return fmt::format(R"({{"ok":true,"did":{},"scopes":{}}})", json_string(c.words()), scopes);
}

}  // namespace headway::app
