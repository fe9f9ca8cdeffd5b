#include "scenario/grammar.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t most_units = 1'000'000;

std::int64_t whole(std::string_view name, std::string_view text, std::int64_t least,
                   std::int64_t most = most_units) {
  std::int64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most)
    wrong("{} '{}' is not a whole number from {} to {}", name, text, least, most);
  return value;
}

/// What stands before the slash, and after it.
std::pair<std::string_view, std::string_view> cut(std::string_view text) {
  auto const slash = std::min(text.find('/'), text.size());
  return {text.substr(0, slash), text.substr(std::min(slash + 1, text.size()))};
}

duration interval_of(std::string_view text) {
  auto const [units, period] = parse_rate(text);
  return duration(std::llround(static_cast<double>(period.count()) / units));
}

duration period_of(std::string_view text) {
  return parse_rate("1/" + std::string(text)).period;
}

sim::limit bucket(phrase& w) {
  sim::token_bucket limit{.interval = interval_of(w.kind().value)};
  w.with("burst", [&](auto n) {
    limit.burst = whole("burst", n, 1);
    if (limit.burst > duration(24h * 365) / limit.interval)
      wrong("burst '{}' would take more than a year to save up", n);
  });
  return limit;
}

sim::limit slots(phrase& w) {
  sim::concurrency limit{.max_busy = whole("concurrent", w.kind().value, 1)};
  w.with("error-holds", [&](auto v) { limit.error_holds = parse_time(v); });
  return limit;
}

/// One that admits so many units in a period.
template <class Limit>
Limit in_a_period(phrase& w) {
  auto const [count, period] = cut(w.kind().value);
  Limit limit;
  limit.count = whole(w.kind().name, count, 1);
  limit.period = period_of(period);
  return limit;
}

sim::limit window(phrase& w) {
  auto limit = in_a_period<sim::fixed_window>(w);
  limit.aligned = w.flag("aligned");
  return limit;
}

sim::limit sliding(phrase& w) {
  auto limit = in_a_period<sim::sliding_window>(w);
  limit.counts_rejects = w.flag("counts-rejects");
  return limit;
}

sim::limit counter(phrase& w) {
  auto limit = in_a_period<sim::window_counter>(w);
  limit.counts_rejects = w.flag("counts-rejects");
  limit.aligned = w.flag("aligned");
  return limit;
}

sim::limit queue(phrase& w) {
  sim::queue limit{.servers = whole("queue", w.kind().value, 1)};
  w.with("waiting", [&](auto v) { limit.waiting_max = whole("waiting", v, 0); });
  w.with("shows", [&](auto v) { limit.shows = parse_symptom(v); });
  return limit;
}

sim::limit processors(phrase& w) {
  sim::shared limit{.processors = whole("shared", w.kind().value, 1)};
  w.with("at-work", [&](auto v) { limit.at_work_max = whole("at-work", v, 1); });
  w.with("patience", [&](auto v) { limit.patience = parse_bound(v); });
  limit.drops = w.flag("drops");
  return limit;
}

sim::limit ban(phrase& w) {
  auto const [rejects, period] = cut(w.kind().value);
  sim::ban limit{.rejects = whole("ban", rejects, 0), .period = period_of(period)};
  w.with("for", [&](auto v) { limit.lasts = parse_bound(v); });
  limit.prolonged = w.flag("prolonged");
  return limit;
}

sim::limit table(phrase& w) {
  sim::table_capacity limit{.interval = interval_of(w.kind().value)};
  limit.fastest = limit.interval;
  w.with("saved",
         [&](auto v) {
           limit.saved_max = parse_time(v);
           if (limit.saved_max < limit.interval)
             wrong("saved '{}' is less than a unit takes to come back", v);
         })
      .with("level", [&](auto v) { limit.level = parse_share(v); })
      .with("fastest",
            [&](auto v) {
              limit.fastest = interval_of(v);
              if (limit.fastest > limit.interval) wrong("fastest '{}' is below the rate", v);
            })
      .with("hot", [&](auto v) { limit.hot = parse_share(v); })
      .with("hot-minutes", [&](auto v) {
        limit.hot_minutes = static_cast<int>(whole("hot-minutes", v, 1, 1000));
      });
  return limit;
}

sim::limit slope(phrase& w) {
  auto const [growth, period] = cut(w.kind().value);
  sim::slope limit{.growth = parse_share(growth), .period = parse_time(period)};
  w.with("from", [&](auto v) { limit.interval = interval_of(v); }).with("burst", [&](auto v) {
    limit.burst = whole("burst", v, 1);
  });
  if (limit.period < 1s) wrong("a slope's period is at least 1s");
  return limit;
}

sim::limit outage(phrase& w) {
  sim::outage limit;
  w.with("shows", [&](auto v) { limit.shows = parse_symptom(v); });
  return limit;
}

sim::limit unlimited(phrase&) {
  return sim::unlimited{};
}

struct limit_kind {
  std::string_view name, form;
  sim::limit (*read)(phrase&);
};

constexpr limit_kind kinds[] = {
    {"rate", "rate=N/PER", bucket},        {"concurrent", "concurrent=N", slots},
    {"window", "window=N/PER", window},    {"sliding", "sliding=N/PER", sliding},
    {"counter", "counter=N/PER", counter}, {"queue", "queue=N", queue},
    {"shared", "shared=N", processors},    {"ban", "ban=N/TIME", ban},
    {"table", "table=N/PER", table},       {"slope", "slope=SHARE/TIME", slope},
    {"outage", "outage", outage},          {"unlimited", "unlimited", unlimited}};

}  // namespace

phrase::phrase(std::string_view text) {
  auto const word_of = [](std::string_view part) -> word {
    auto const equals = std::min(part.find('='), part.size());
    auto const has_value = equals < part.size();
    return {part.substr(0, equals), part.substr(has_value ? equals + 1 : equals), has_value};
  };
  auto comma = text.find(',');
  kind_ = word_of(text.substr(0, comma));
  while (comma != text.npos) {
    text.remove_prefix(comma + 1);
    comma = text.find(',');
    settings_.push_back(word_of(text.substr(0, comma)));
  }
}

phrase::word phrase::take(std::string_view name) {
  known_ += fmt::format("{}{}", known_.empty() ? "" : ", ", name);
  auto const at = std::ranges::find(settings_, name, &word::name);
  if (at == settings_.end()) return {};
  auto const found = *at;
  if (!found.has_value) wrong("'{}' takes a value: {}=…", name, name);
  settings_.erase(at);
  return found;
}

bool phrase::flag(std::string_view name) {
  known_ += fmt::format("{}{}", known_.empty() ? "" : ", ", name);
  auto const at = std::ranges::find(settings_, name, &word::name);
  if (at == settings_.end()) return false;
  if (at->has_value) wrong("'{}' takes no value", name);
  settings_.erase(at);
  return true;
}

void phrase::no_more() const {
  if (!settings_.empty())
    wrong("'{}' is not a setting of {}; it has {}", settings_.front().name, kind_.name,
          known_.empty() ? "none" : known_);
}

double parse_number(std::string_view text, double least, double most) {
  double value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= least && value <= most))
    wrong("'{}' is not a number from {} to {}", text, least, most);
  return value;
}

sim::symptom parse_symptom(std::string_view text) {
  if (text == "throttle") return sim::symptom::throttle;
  if (text == "failure") return sim::symptom::failure;
  if (text == "silence") return sim::symptom::silence;
  wrong("'{}' is not throttle, failure or silence", text);
}

sim::limit parse_limit(std::string_view text) {
  phrase w(text);
  for (auto const& kind : kinds) {
    if (kind.name != w.kind().name || w.kind().has_value != (kind.form != kind.name)) continue;
    auto limit = kind.read(w);
    w.no_more();
    return limit;
  }
  std::string forms;
  for (auto const& kind : kinds)
    forms += fmt::format("{}{}",
                         forms.empty()                  ? ""
                         : &kind == std::end(kinds) - 1 ? " or "
                                                        : ", ",
                         kind.form);
  wrong("'{}' is not {}", text.substr(0, text.find(',')), forms);
}

std::vector<std::pair<time_point, std::string_view>> parse_steps(std::string_view text,
                                                                 std::string_view example) {
  std::vector<std::pair<time_point, std::string_view>> steps;
  while (!text.empty()) {
    auto const part = trimmed(text.substr(0, text.find(';')));
    text.remove_prefix(std::min(text.find(';'), text.size() - 1) + 1);
    if (part.empty()) continue;
    auto const colon = part.find(':');
    if (colon == part.npos) wrong("'{}' is not TIME:VALUE, such as {}", part, example);
    time_point const at(parse_time(part.substr(0, colon)));
    if (!steps.empty() && at <= steps.back().first)
      wrong("'{}' is not later than the step before it", part);
    steps.emplace_back(at, trimmed(part.substr(colon + 1)));
  }
  if (steps.empty()) wrong("no steps; say TIME:VALUE; TIME:VALUE, such as {}", example);
  return steps;
}

std::vector<sim::step> parse_schedule(std::string_view text) {
  std::vector<sim::step> steps;
  for (auto const& [at, becomes] : parse_steps(text, "15s:rate=200/s"))
    steps.push_back({.from = at, .becomes = parse_limit(becomes)});
  return steps;
}

sim::spread parse_spread(std::string_view text) {
  auto const dots = text.find("..");
  if (dots == text.npos) return {parse_time(text)};
  sim::spread const s{parse_time(text.substr(0, dots)), parse_time(text.substr(dots + 2))};
  if (s.min > s.max) wrong("'{}' is not ascending, such as 20ms..80ms", text);
  return s;
}

}  // namespace headway::app
