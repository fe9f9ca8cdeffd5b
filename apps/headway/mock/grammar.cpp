#include "mock/grammar.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

namespace headway::app {
namespace {

constexpr std::int64_t most_units = 1'000'000;
constexpr duration longest = 1h;

template <class... Args>
[[noreturn]] void wrong(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument(fmt::format(text, std::forward<Args>(args)...));
}

/// What stands before the first `mark` and after it; all and nothing without a mark.
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text, char mark) {
  auto const at = text.find(mark);
  if (at == text.npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (std::optional rest = text; rest;) {
    auto const [part, more] = cut(*rest, mark);
    parts.push_back(part);
    rest = more;
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  auto const begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The number that `text` starts with, and what follows it.
std::optional<std::pair<double, std::string_view>> number(std::string_view text) {
  double value = 0;
  auto const [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  return std::pair(value, text.substr(static_cast<std::size_t>(end - text.data())));
}

std::int64_t whole(std::string_view name, std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most_units)
    wrong("{} '{}' is not a whole number from {} to {}", name, text, least, most_units);
  return value;
}

std::optional<duration> unit_of(std::string_view name) {
  if (name == "us") return 1us;
  if (name == "ms") return 1ms;
  if (name == "s") return 1s;
  if (name == "min") return 1min;
  if (name == "h") return 1h;
  return std::nullopt;
}

duration per(std::string_view text) {
  auto const period = unit_of(text) ? *unit_of(text) : parse_time(text);
  if (period < 1ms) wrong("period '{}' is not from 1ms to 1h", text);
  return period;
}

std::pair<std::string_view, duration> count_per(std::string_view text) {
  auto const [count, period] = cut(text, '/');
  if (!period) wrong("'{}' is not a count per time, such as 50/s, 300/min or 10/250ms", text);
  return {count, per(*period)};
}

sim::token_bucket bucket(std::string_view text) {
  auto const [count, period] = count_per(text);
  auto const rate = number(count);
  if (!rate || !rate->second.empty()) wrong("rate '{}' is not a number", count);
  double const interval = static_cast<double>(period.count()) / rate->first;  // ns; inf at rate 0
  if (!(interval >= 1e3 && interval <= static_cast<double>(longest.count())))
    wrong("rate '{}' is not from 1/h to {}/s", text, most_units);
  return {.interval = duration(std::llround(interval))};
}

[[noreturn]] void unknown(std::string_view word, std::string_view kind, std::string_view allowed) {
  wrong("'{}' is not a setting of {}; it may have {}", word, kind, allowed);
}

}  // namespace

duration parse_time(std::string_view text) {
  auto const value = number(text);
  auto const unit = value ? unit_of(value->second) : std::nullopt;
  if (!unit) wrong("'{}' is not a time, such as 250us, 50ms, 2s, 1.5min or 1h", text);
  double const ns = value->first * static_cast<double>(unit->count());
  if (ns > static_cast<double>(longest.count())) wrong("time '{}' is not from 0s to 1h", text);
  return duration(std::llround(ns));
}

sim::limit parse_limit(std::string_view text) {
  auto settings = split(text, ',');
  auto const head = settings.front();
  settings.erase(settings.begin());
  auto const [kind, value] = cut(head, '=');

  if (text == "unlimited") return sim::unlimited{};
  if (kind == "rate" && value) {
    auto limit = bucket(*value);
    for (auto const word : settings) {
      auto const [name, n] = cut(word, '=');
      if (name != "burst" || !n) unknown(word, kind, "burst=N");
      limit.burst = whole(name, *n, 1);
    }
    return limit;
  }
  if (kind == "concurrent" && value) {
    sim::concurrency limit{.max_busy = whole(kind, *value, 0)};
    for (auto const word : settings) {
      auto const [name, time] = cut(word, '=');
      if (name != "error-holds" || !time) unknown(word, kind, "error-holds=TIME");
      limit.error_holds = parse_time(*time);
    }
    return limit;
  }
  if (kind == "window" && value) {
    auto const [count, period] = count_per(*value);
    sim::fixed_window limit{.count = whole(kind, count, 1), .period = period};
    for (auto const word : settings) {
      if (word != "aligned") unknown(word, kind, "aligned");
      limit.aligned = true;
    }
    return limit;
  }
  if (kind == "sliding" && value) {
    auto const [count, period] = count_per(*value);
    sim::sliding_window limit{.count = whole(kind, count, 1), .period = period};
    for (auto const word : settings) {
      if (word != "counts-rejects") unknown(word, kind, "counts-rejects");
      limit.counts_rejects = true;
    }
    return limit;
  }
  wrong("'{}' is not rate=N/PER, concurrent=N, window=N/PER, sliding=N/PER or unlimited", head);
}

std::vector<sim::step> parse_schedule(std::string_view text) {
  std::vector<sim::step> steps;
  for (auto const part : split(text, ';')) {
    auto const words = trim(part);
    if (words.empty()) continue;
    auto const [from, becomes] = cut(words, ':');
    if (!becomes) wrong("'{}' is not TIME:LIMIT, such as 15s:rate=200/s", words);
    time_point const at(parse_time(from));
    if (!steps.empty() && at <= steps.back().from)
      wrong("'{}' is not later than the step before it", words);
    steps.push_back({.from = at, .becomes = parse_limit(trim(*becomes))});
  }
  if (steps.empty()) wrong("no steps; say TIME:LIMIT; TIME:LIMIT, such as 0s:rate=50/s");
  return steps;
}

sim::spread parse_spread(std::string_view text) {
  auto const dots = text.find("..");
  if (dots == text.npos) return {parse_time(text)};
  sim::spread const s{parse_time(text.substr(0, dots)), parse_time(text.substr(dots + 2))};
  if (s.min > s.max) wrong("'{}' is not ascending, such as 20ms..80ms", text);
  return s;
}

double parse_share(std::string_view text) {
  auto const value = number(text);
  if (!value || value->second != "%" || value->first > 100)
    wrong("'{}' is not a share from 0% to 100%", text);
  return value->first / 100;
}

}  // namespace headway::app
