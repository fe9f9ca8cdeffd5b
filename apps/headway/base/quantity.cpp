#include "base/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "base/wrong.hpp"

namespace headway::app {
namespace {

constexpr double per_second_max = 1e6;

/// The number that `text` starts with, and what follows it.
std::optional<std::pair<double, std::string_view>> number(std::string_view text) {
  double value = 0;
  auto const [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  return std::pair(value, text.substr(static_cast<std::size_t>(end - text.data())));
}

std::optional<duration> unit_of(std::string_view name) {
  auto const is = [&](auto... words) { return ((name == words) || ...); };
  if (is("us")) return 1us;
  if (is("ms", "millisecond", "milliseconds")) return 1ms;
  if (is("s", "sec", "secs", "second", "seconds")) return 1s;
  if (is("min", "mins", "minute", "minutes", "m")) return 1min;
  if (is("h", "hr", "hour", "hours")) return 1h;
  if (is("d", "day", "days")) return 24h;
  return std::nullopt;
}

/// What k and M are short for, 1 of nothing else; takes it off `text`.
double thousands(std::string_view& text) {
  auto const factor = text.starts_with('k') ? 1e3 : text.starts_with('M') ? 1e6 : 1;
  if (factor > 1) text.remove_prefix(1);
  return factor;
}

duration time_up_to(std::chrono::hours longest, std::string_view text) {
  auto const value = number(text);
  auto const unit = value ? unit_of(value->second) : std::nullopt;
  if (!unit) wrong("'{}' is not a time, such as 250us, 50ms, 2s, 1.5min or 1h", text);
  double const ns = value->first * static_cast<double>(unit->count());
  if (ns > static_cast<double>(duration(longest).count()))
    wrong("time '{}' is not from 0s to {}h", text, longest.count());
  return duration(std::llround(ns));
}

}  // namespace

duration parse_bound(std::string_view text) {
  auto const limit = parse_patience(text);
  if (limit < 1ms) wrong("want from 1ms to {}h", 24 * 365);
  return limit;
}

duration parse_time(std::string_view text) {
  return time_up_to(1h, text);
}

duration parse_patience(std::string_view text) {
  return time_up_to(24h * 365, text);
}

rate parse_rate(std::string_view text) {
  auto const slash = text.find('/');
  auto units = number(text.substr(0, slash));
  if (units) units->first *= thousands(units->second);
  if (slash == text.npos || !units || !units->second.empty())
    wrong("'{}' is not a count per time, such as 50/s, 300/min or 10/250ms", text);
  auto const unit = text.substr(slash + 1);
  auto const period = unit_of(unit) ? *unit_of(unit) : time_up_to(24h, unit);
  if (period < 1ms) wrong("period '{}' is not from 1ms to 24h", unit);
  double const per_second = units->first / to_seconds(period);
  if (!(per_second <= per_second_max && per_second * 86400 >= 1))
    wrong("rate '{}' is not from one a day to {:.0f}/s", text, per_second_max);
  return {units->first, period};
}

retry_budget parse_budget(std::string_view text) {
  constexpr double without_end = 1e15;
  if (text == "off") return {.balance_max = without_end, .balance = without_end};
  auto const comma = text.find(',');
  retry_budget budget{.ratio = parse_share(text.substr(0, comma))};
  if (comma != text.npos) {
    auto const [units, period] = parse_rate(text.substr(comma + 1));
    budget.per_second = units / to_seconds(period);
    budget.balance = budget.balance_max = std::max(1.0, 10 * budget.per_second);
  }
  return budget;
}

std::size_t parse_bytes(std::string_view text) {
  auto const value = number(text);
  auto const mib = !value                   ? 0
                   : value->second == "MiB" ? value->first
                   : value->second == "GiB" ? 1024 * value->first
                                            : 0;
  if (!(mib >= 16 && mib <= 1024 * 1024))
    wrong("'{}' is not a size from 16MiB to 1024GiB, such as 64MiB", text);
  return static_cast<std::size_t>(mib * (1 << 20));
}

gcra parse_ceiling(std::string_view text) {
  auto const colon = text.find(':');
  auto const [units, period] = parse_rate(text.substr(0, colon));
  std::int64_t burst = 1;
  if (colon != text.npos) {
    auto const digits = text.substr(colon + 1);
    auto const* const last = digits.data() + digits.size();
    auto const [end, wrong] = std::from_chars(digits.data(), last, burst);
    if (wrong != std::errc{} || end != last || burst < 1 || burst > 1'000'000)
      throw std::invalid_argument("burst " + in_quotes(digits) +
                                  " is not a whole number from 1 to 1000000");
  }
  return gcra::per(units, period, burst);
}

double parse_share(std::string_view text) {
  auto const value = number(text);
  if (!value || value->second != "%" || value->first > 100)
    wrong("'{}' is not a share from 0% to 100%", text);
  return value->first / 100;
}

}  // namespace headway::app
