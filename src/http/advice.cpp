#include "headway/http/advice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "headway/http/retry_after.hpp"

namespace headway::http {
namespace {

using std::chrono::sys_seconds;

constexpr std::size_t quotas_max = 16;

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool same(std::string_view text, std::string_view in_lower_case) noexcept {
  return std::equal(text.begin(), text.end(), in_lower_case.begin(), in_lower_case.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string_view trimmed(std::string_view text) noexcept {
  auto const first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A plain decimal that begins the text: no sign, no exponent. What follows stays in `text`.
std::optional<double> take_number(std::string_view& text) noexcept {
  auto const end = std::min(text.find_first_not_of("0123456789."), text.size());
  if (end == 0 || !is_digit(text.front())) return std::nullopt;
  double value = 0;
  auto const [stopped, error] =
      std::from_chars(text.data(), text.data() + end, value, std::chars_format::fixed);
  if (error == std::errc::result_out_of_range) value = 1e300;
  if (error != std::errc() && error != std::errc::result_out_of_range) return std::nullopt;
  if (error == std::errc() && stopped != text.data() + end) return std::nullopt;
  text.remove_prefix(end);
  return value;
}

std::optional<double> parse_number(std::string_view text) noexcept {
  text = trimmed(text);
  auto const value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

/// Saturating; zero for what is negative.
duration in_seconds(double seconds) noexcept {
  if (!(seconds > 0)) return duration::zero();
  if (seconds >= 9e9) return duration::max();
  return std::chrono::microseconds(std::llround(seconds * 1e6));
}

/// 2026-02-25T20:02:37.5Z, 2026-03-26T16:00Z, 2026-03-26T16:00+02:00, as seconds since the epoch.
std::optional<double> parse_rfc3339(std::string_view text) noexcept {
  auto const digits = [&](std::size_t count) -> std::optional<int> {
    if (text.size() < count || !std::all_of(text.begin(), text.begin() + count, is_digit))
      return std::nullopt;
    int value = 0;
    for (char const c : text.substr(0, count)) value = value * 10 + (c - '0');
    text.remove_prefix(count);
    return value;
  };
  auto const literal = [&](std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == any_of.npos) return false;
    text.remove_prefix(1);
    return true;
  };
  auto const year = digits(4);
  if (!year || !literal("-")) return std::nullopt;
  auto const month = digits(2);
  if (!month || !literal("-")) return std::nullopt;
  auto const day = digits(2);
  if (!day || !literal("Tt ")) return std::nullopt;
  auto const hour = digits(2);
  if (!hour || !literal(":")) return std::nullopt;
  auto const minute = digits(2);
  if (!minute) return std::nullopt;
  double second = 0;
  if (literal(":")) {
    auto const found = take_number(text);
    if (!found || *found > 60.999) return std::nullopt;
    second = *found;
  }
  double offset = 0;
  if (!literal("Zz")) {
    auto const sign = !text.empty() && text.front() == '-' ? -1 : 1;
    if (!literal("+-")) return std::nullopt;
    auto const hours = digits(2);
    if (!hours || *hours > 23) return std::nullopt;
    literal(":");
    auto const minutes = digits(2);
    if (!minutes || *minutes > 59) return std::nullopt;
    offset = sign * (*hours * 3600.0 + *minutes * 60.0);
  }
  auto const date = std::chrono::year(*year) / *month / *day;
  if (!text.empty() || !date.ok() || *hour > 23 || *minute > 59) return std::nullopt;
  auto const days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + *hour * 3600.0 + *minute * 60.0 + second - offset;
}

std::optional<duration> parse_seconds(std::string_view text, sys_seconds now) noexcept {
  if (auto const strict = parse_retry_after(text, now)) return strict;
  if (auto const decimal = parse_number(text)) return in_seconds(*decimal);
  // Fields that a proxy has merged: "<date>, 5" or "2, 3".
  std::optional<duration> longest;
  while (!text.empty()) {
    auto const comma = std::min(text.find(','), text.size());
    if (auto const number = parse_number(text.substr(0, comma)))
      longest = std::max(longest, std::optional(in_seconds(*number)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return longest;
}

std::optional<duration> parse_ms(std::string_view text) noexcept {
  auto const ms = parse_number(text);
  return ms ? std::optional(in_seconds(*ms / 1000)) : std::nullopt;
}

/// What a member of a structured field begins with: `"name"` or a token; the rest is parameters.
std::string lowered(std::string_view text) {
  std::string result(text.substr(0, 64));
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

class reader {
 public:
  reader(advice& into, std::span<field const> fields, sys_seconds now) noexcept
      : into_(into), fields_(fields), our_now_(now) {}

  void read(std::string_view name, std::string_view value) {
    if (same(name, "ratelimit")) return structured(value);
    if (same(name, "x-should-retry") || same(name, "stripe-should-retry")) return overrule(value);
    if (same(name, "grpc-retry-pushback-ms")) {
      if (!parse_ms(value)) into_.should_retry = false;
      return;
    }
    static constexpr std::array holds = {"retry-after-ms", "retry-after", "x-ms-retry-after-ms",
                                         "x-amz-retry-after"};
    for (std::size_t i = 0; i < holds.size(); ++i)
      if (same(name, holds[i])) return hold(i, value);
    quota_field(name, value);
  }

 private:
  void hold(std::size_t rank, std::string_view value) {
    auto const wait = rank == 1 ? parse_seconds(value, now()) : parse_ms(value);
    if (!wait) {
      ++into_.ignored;
    } else if (rank < rank_) {
      rank_ = rank;
      into_.retry_after = wait;
    } else if (rank == rank_) {
      into_.retry_after = std::max(into_.retry_after, wait);
    }
  }

  void overrule(std::string_view value) {
    value = trimmed(value);
    if (same(value, "true") || same(value, "false"))
      into_.should_retry = same(value, "true");
    else
      ++into_.ignored;
  }

  quota* named(std::string_view name) {
    for (auto& q : into_.quotas)
      if (q.name == name) return &q;
    if (into_.quotas.size() >= quotas_max) return nullptr;
    into_.quotas.push_back({.name = std::string(name)});
    return &into_.quotas.back();
  }

  /// x-ratelimit-remaining-tokens, anthropic-ratelimit-tokens-remaining, X-Rate-Limit-Reset …
  void quota_field(std::string_view name, std::string_view value) {
    auto word = lowered(name);
    auto at = word.find("ratelimit-");
    std::size_t skip = 10;
    if (at == word.npos) at = word.find("rate-limit-"), skip = 11;
    if (at == word.npos || name.size() > 64) return;
    std::string counts;
    enum { none, limit, remaining, reset, reset_after } what = none;
    for (std::string_view rest = std::string_view(word).substr(at + skip); !rest.empty();) {
      auto const dash = std::min(rest.find('-'), rest.size());
      auto const part = rest.substr(0, dash);
      rest.remove_prefix(std::min(dash + 1, rest.size()));
      if (part == "limit") {
        what = limit;
      } else if (part == "remaining") {
        what = remaining;
      } else if (part == "reset") {
        what = reset;
      } else if (part == "after" && what == reset) {
        what = reset_after;
      } else {
        if (!counts.empty()) counts += '-';
        counts += part;
      }
    }
    if (what == none) return;
    auto* const q = named(counts);
    if (q == nullptr) return;
    value = trimmed(value);
    if (what == reset || what == reset_after) {
      auto const seconds = what == reset_after ? parse_number(value) : std::nullopt;
      auto const when = seconds ? std::optional(in_seconds(*seconds)) : parse_reset(value, now());
      if (!when) {
        ++into_.ignored;
      } else if (what == reset_after || !q->reset) {
        q->reset = when;
      }
      return;
    }
    // 100, 100;w=21600, or the lowest of 10, 10;w=1;name="x"
    std::optional<double> least;
    if (value.size() > 256) value = {};
    while (!value.empty()) {
      auto member = trimmed(value.substr(0, std::min(value.find(','), value.size())));
      value.remove_prefix(std::min(std::min(value.find(','), value.size()) + 1, value.size()));
      auto const number = take_number(member);
      if (number && (member.empty() || member.front() == ';'))
        least = least ? std::min(*least, *number) : *number;
    }
    if (!least)
      ++into_.ignored;
    else
      (what == limit ? q->limit : q->remaining) = least;
  }

  /// `limit=100, remaining=50, reset=5`, or `"name";r=50;t=30, …`; a bad member is dropped alone.
  void structured(std::string_view value) {
    auto const legacy = value.find("remaining=") != value.npos || value.find("limit=") == 0;
    quota together;
    for (int members = 0; !value.empty() && members < 32; ++members) {
      auto const comma = std::min(value.find(','), value.size());
      auto member = trimmed(value.substr(0, comma));
      value.remove_prefix(std::min(comma + 1, value.size()));
      if (legacy) {
        assign(together, member);
        continue;
      }
      quota q;
      auto const parameters = std::min(member.find(';'), member.size());
      auto name = trimmed(member.substr(0, parameters));
      if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
        name = name.substr(1, name.size() - 2);
      q.name = lowered(name);
      member.remove_prefix(parameters);
      while (!member.empty()) {
        member.remove_prefix(1);
        auto const end = std::min(member.find(';'), member.size());
        assign(q, trimmed(member.substr(0, end)));
        member.remove_prefix(end);
      }
      keep(std::move(q));
    }
    if (legacy) keep(std::move(together));
  }

  void assign(quota& q, std::string_view pair) {
    auto const equals = pair.find('=');
    if (equals == pair.npos) return;
    auto const key = trimmed(pair.substr(0, equals));
    auto const number = parse_number(pair.substr(equals + 1));
    if (key == "r" || key == "remaining")
      q.remaining = number;
    else if (key == "t" || key == "reset")
      q.reset = number ? std::optional(in_seconds(*number)) : std::nullopt;
    else if (key == "limit")
      q.limit = number;
    else
      return;
    if (!number) ++into_.ignored;
  }

  void keep(quota q) {
    if (!q.remaining && !q.limit) return;
    if (auto* const known = named(q.name)) *known = std::move(q);
  }

  /// By the server's clock, which most answers need not be asked for.
  sys_seconds now() noexcept {
    if (!server_now_) server_now_ = server_time(fields_, our_now_);
    return *server_now_;
  }

  advice& into_;
  std::span<field const> fields_;
  sys_seconds our_now_;
  std::optional<sys_seconds> server_now_;
  std::size_t rank_ = 99;
};

}  // namespace

std::optional<std::string_view> value_of(std::span<field const> fields,
                                         std::string_view name) noexcept {
  for (auto const& f : fields)
    if (same(f.name, name)) return f.value;
  return std::nullopt;
}

bool quota::of_requests() const noexcept {
  return name.find("token") == name.npos && name.find("byte") == name.npos &&
         name.find("complexity") == name.npos && name.find("cost") == name.npos &&
         name.find("concurrent") == name.npos;
}

std::chrono::sys_seconds server_time(std::span<field const> fields, sys_seconds now) noexcept {
  auto const date = value_of(fields, "date");
  return date ? parse_date(*date, now).value_or(now) : now;
}

advice advice_of(std::span<field const> fields, sys_seconds now) {
  advice found;
  reader in(found, fields, now);
  for (auto const& f : fields) in.read(f.name, f.value);
  return found;
}

std::optional<duration> parse_go_duration(std::string_view text) noexcept {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    auto const number = take_number(text);
    if (!number) return std::nullopt;
    auto const unit = text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    if (unit == "h")
      seconds += *number * 3600;
    else if (unit == "m")
      seconds += *number * 60;
    else if (unit == "s")
      seconds += *number;
    else if (unit == "ms")
      seconds += *number / 1e3;
    else if (unit == "us")
      seconds += *number / 1e6;
    else if (unit == "ns")
      seconds += *number / 1e9;
    else
      return std::nullopt;
    text.remove_prefix(unit.size());
  }
  return in_seconds(seconds);
}

std::optional<duration> parse_reset(std::string_view text, sys_seconds server_now) noexcept {
  text = trimmed(text);
  if (text.empty() || text.size() > 64) return std::nullopt;
  auto const now = static_cast<double>(server_now.time_since_epoch().count());
  if (auto const number = parse_number(text)) {
    if (*number >= 1e11) return in_seconds(*number / 1000 - now);
    return in_seconds(*number >= 1e9 ? *number - now : *number);
  }
  if (auto const span = parse_go_duration(text)) return span;
  if (auto const at = parse_rfc3339(text)) return in_seconds(*at - now);
  if (auto const at = parse_date(text, server_now))
    return in_seconds(static_cast<double>(at->time_since_epoch().count()) - now);
  return std::nullopt;
}

std::optional<duration> time_in_text(std::string_view text) noexcept {
  constexpr std::string_view lead = "try again in ";
  auto const at = text.find(lead);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + lead.size());
  auto const span =
      text.substr(0, std::min(text.find_first_not_of("0123456789.hmsun"), text.size()));
  auto const stop = span.ends_with('.') ? span.substr(0, span.size() - 1) : span;
  if (auto const found = parse_go_duration(stop)) return found;
  auto const number = parse_number(stop);  // "try again in 20 seconds"
  auto const unit = trimmed(text.substr(span.size()));
  if (!number) return std::nullopt;
  if (unit.starts_with("ms") || unit.starts_with("milli")) return in_seconds(*number / 1000);
  if (unit.starts_with("s")) return in_seconds(*number);
  if (unit.starts_with("m")) return in_seconds(*number * 60);
  return std::nullopt;
}

namespace {

struct unit {
  std::string_view name;
  duration period;
};
constexpr std::array units = {
    unit{"sec", std::chrono::seconds(1)}, unit{"min", std::chrono::minutes(1)},
    unit{"hour", std::chrono::hours(1)}, unit{"day", std::chrono::hours(24)},
    unit{"month", std::chrono::hours(24 * 30)}};

std::optional<duration> unit_at(std::string_view text) noexcept {
  for (auto const& u : units)
    if (text.size() >= u.name.size() && same(text.substr(0, u.name.size()), u.name))
      return u.period;
  return std::nullopt;
}

/// The number, perhaps with thousands set apart, that follows `word`, a colon, "of" or white space.
std::optional<double> number_after(std::string_view text, std::string_view word) noexcept {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    auto rest = trimmed(text.substr(at + word.size()));
    if (rest.starts_with("of ")) rest.remove_prefix(3);
    while (!rest.empty() && (rest.front() == ':' || rest.front() == ' ')) rest.remove_prefix(1);
    double number = 0;
    std::size_t digits = 0;
    for (std::size_t i = 0; i < rest.size() && digits < 16; ++i) {
      auto const comma = rest[i] == ',' && digits > 0 && i + 3 < rest.size() &&
                         is_digit(rest[i + 1]) && is_digit(rest[i + 2]) && is_digit(rest[i + 3]);
      if (comma) continue;
      if (!is_digit(rest[i])) break;
      number = number * 10 + (rest[i] - '0');
      ++digits;
    }
    if (digits > 0 && digits < 16) return number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<duration> period_in_name(std::string_view name) noexcept {
  for (std::size_t at = 0; at + 3 < name.size(); ++at) {
    if (name.substr(at, 2) == "1/")
      if (auto const period = unit_at(name.substr(at + 2))) return period;
    if (same(name.substr(at, 3), "per"))
      if (auto const period = unit_at(name.substr(at + 3))) return period;
  }
  return std::nullopt;
}

std::optional<quota> quota_in_text(std::string_view said) {
  std::string text(said.substr(0, 4096));
  std::ranges::transform(text, text.begin(), lower);
  auto const limit = number_after(text, "limit");
  if (!limit || *limit < 1) return std::nullopt;
  constexpr std::string_view per = " per ";
  for (auto at = text.find(per); at != text.npos; at = text.find(per, at + 1)) {
    auto const period = unit_at(std::string_view(text).substr(at + per.size()));
    auto const before = std::string_view(text).substr(0, at);
    auto const space = before.rfind(' ');
    auto name = std::string(before.substr(space + 1));
    if (!period || (name != "tokens" && name != "requests")) continue;
    for (auto const* const kind : {"input", "output"})
      if (before.substr(0, std::min(space, before.size())).ends_with(kind))
        name = std::string(kind) + '-' + name;
    auto const used = std::min(number_after(text, "used").value_or(*limit), *limit);
    return quota{.name = std::move(name),
                 .limit = limit,
                 .remaining = *limit - used,
                 .reset = in_seconds(to_seconds(*period) * (used / *limit)),
                 .period = period};
  }
  return std::nullopt;
}

bool never_fits(std::string_view text) noexcept {
  auto const limit = number_after(text, "Limit");
  auto const requested = number_after(text, "Requested");
  return limit && requested && *requested > *limit;
}

}  // namespace headway::http
