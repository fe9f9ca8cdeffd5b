#include "scenario/grammar.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/quantity.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t most_units = 1'000'000;

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

std::int64_t whole(std::string_view name, std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most_units)
    wrong("{} '{}' is not a whole number from {} to {}", name, text, least, most_units);
  return value;
}

/// N of N/PER.
std::int64_t count_of(std::string_view name, std::string_view text) {
  return whole(name, cut(text, '/').first, 1);
}

sim::token_bucket bucket(std::string_view text) {
  auto const [units, period] = parse_rate(text);
  return {.interval = duration(std::llround(static_cast<double>(period.count()) / units))};
}

[[noreturn]] void unknown(std::string_view word, std::string_view kind, std::string_view allowed) {
  wrong("'{}' is not a setting of {}; it may have {}", word, kind, allowed);
}

}  // namespace

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
      if (limit.burst > duration(24h * 365) / limit.interval)
        wrong("burst '{}' would take more than a year to save up", *n);
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
    sim::fixed_window limit{.count = count_of(kind, *value), .period = parse_rate(*value).period};
    for (auto const word : settings) {
      if (word != "aligned") unknown(word, kind, "aligned");
      limit.aligned = true;
    }
    return limit;
  }
  if (kind == "sliding" && value) {
    sim::sliding_window limit{.count = count_of(kind, *value), .period = parse_rate(*value).period};
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

}  // namespace headway::app
