#include "headway/http/advice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

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

/// Zero for what is negative; nullopt for more than wait_max.
std::optional<duration> in_seconds(double seconds) noexcept {
  if (!(seconds > 0)) return duration::zero();
  if (seconds > to_seconds(wait_max)) return std::nullopt;
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

/// Seconds since the epoch, of any text that parse_instant() reads.
std::optional<double> instant(std::string_view text, sys_seconds now) noexcept {
  auto at = parse_date(text, now);
  if (!at) at = parse_mail_date(text);
  return at ? static_cast<double>(at->time_since_epoch().count()) : parse_rfc3339(trimmed(text));
}

std::optional<duration> parse_seconds(std::string_view text, sys_seconds now) noexcept {
  if (auto const strict = parse_retry_after(text, now)) return strict;
  if (auto const decimal = parse_number(text)) return in_seconds(*decimal);
  if (auto const at = instant(text, now))
    return in_seconds(*at - static_cast<double>(now.time_since_epoch().count()));
  // Fields that a proxy has merged: "<date>, 5" or "2, 3".
  std::optional<duration> longest;
  while (!text.empty()) {
    auto const comma = std::min(text.find(','), text.size());
    if (auto const number = parse_number(text.substr(0, comma)))
      longest = std::max(longest, in_seconds(*number));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return longest;
}

std::optional<duration> parse_ms(std::string_view text) noexcept {
  auto const ms = parse_number(text);
  return ms ? in_seconds(*ms / 1000) : std::nullopt;
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
    if (same(name, "ratelimit-policy")) return policies(value);
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
    if (!wait || (rank == 1 && *wait <= 0s && is_long_past(value))) ++into_.ignored;
    if (!wait) return;
    if (rank < rank_) {
      rank_ = rank;
      into_.retry_after = wait;
    } else if (rank == rank_) {
      into_.retry_after = std::max(into_.retry_after, wait);
    }
  }

  /// Longer than an answer is on its way.
  bool is_long_past(std::string_view value) noexcept {
    auto const at = parse_instant(value, now());
    return at && *at < now() - std::chrono::minutes(1);
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
      auto const relative = what == reset_after;
      auto const when = latest_reset(value, relative);
      auto& best = relative_[static_cast<std::size_t>(q - into_.quotas.data())];
      if (!when) {
        ++into_.ignored;
      } else if (relative == best) {
        q->reset = std::max(q->reset, when);
      } else if (relative) {
        best = true;
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
    auto& told = what == limit ? q->limit : q->remaining;
    if (!least)
      ++into_.ignored;
    else
      told = std::min(told.value_or(*least), *least);
  }

  /// Of one time, or of several that a proxy has merged: "2, 3".
  std::optional<duration> latest_reset(std::string_view value, bool relative) {
    auto const read = [&](std::string_view one) {
      auto const seconds = relative ? parse_number(one) : std::nullopt;
      return seconds ? in_seconds(*seconds) : parse_reset(one, now());
    };
    auto latest = read(value);
    if (value.size() > 256 || latest) return latest;
    while (!value.empty()) latest = std::max(latest, read(take_until(value, ',')));
    return latest;
  }

  /// What comes before the next `mark` that is not in a quoted string; it and the mark are taken.
  static std::string_view take_until(std::string_view& rest, char mark) noexcept {
    bool quoted = false;
    std::size_t at = 0;
    for (; at < rest.size() && (quoted || rest[at] != mark); ++at) {
      if (rest[at] == '"') quoted = !quoted;
      if (rest[at] == '\\' && quoted) ++at;
    }
    at = std::min(at, rest.size());
    auto const taken = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return taken;
  }
  static std::string_view unquoted(std::string_view text) noexcept {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
      return text.substr(1, text.size() - 2);
    return text;
  }

  /// `"burst";q=100;w=60;qu="requests";pk=:Zm9v:, …`, or by older drafts `100;w=60, …`; a bad
  /// member is dropped alone.
  void policies(std::string_view value) {
    for (int members = 0; !value.empty() && members < 32; ++members) {
      auto member = take_until(value, ',');
      auto const name = trimmed(take_until(member, ';'));
      quota q{.name = lowered(unquoted(name)), .limit = parse_number(name)};
      bool sound = !name.empty();
      if (q.limit) q.name = "";
      while (!member.empty()) {
        auto const pair = trimmed(take_until(member, ';'));
        auto const equals = std::min(pair.find('='), pair.size());
        auto const key = trimmed(pair.substr(0, equals));
        auto const told = trimmed(pair.substr(std::min(equals + 1, pair.size())));
        auto const number = parse_number(told);
        if (key == "q") {
          q.limit = number;
        } else if (key == "w") {
          q.window = number ? in_seconds(*number) : std::nullopt;
          sound = sound && q.window > duration::zero();
        } else if (key == "qu") {
          q.counts = unit_named(unquoted(told));
        } else if (key == "pk") {
          q.partition = told.substr(0, 64);
        }
      }
      if (!sound || !q.limit) {
        ++into_.ignored;
        continue;
      }
      if (q.counts == counted::unsaid && !q.name.empty() && q.of_requests())
        q.counts = counted::requests;
      keep_policy(std::move(q));
    }
  }
  static counted unit_named(std::string_view unit) noexcept {
    if (same(unit, "requests") || same(unit, "request")) return counted::requests;
    if (same(unit, "content-bytes") || same(unit, "bytes")) return counted::bytes;
    if (same(unit, "concurrent-requests") || same(unit, "concurrency")) return counted::concurrent;
    return counted::other;
  }
  void keep_policy(quota q) {
    auto* const known = named(q.name);
    if (known == nullptr) return;
    if (q.name.empty()) return unnamed_policy(*known, q);
    q.remaining = known->remaining;
    q.reset = known->reset;
    if (q.partition.empty()) q.partition = std::move(known->partition);
    *known = std::move(q);
  }
  /// Of several without a name, none is the one that other fields speak of.
  void unnamed_policy(quota& known, quota const& q) {
    known.window = policies_unnamed_++ == 0 ? q.window : std::nullopt;
  }

  /// `limit=100, remaining=50, reset=5`, or `"name";r=50;t=30, …`; a bad member is dropped alone.
  void structured(std::string_view value) {
    auto const legacy = value.find("remaining=") != value.npos || value.find("limit=") == 0;
    quota together;
    for (int members = 0; !value.empty() && members < 32; ++members) {
      auto member = trimmed(take_until(value, ','));
      if (legacy) {
        assign(together, member);
        continue;
      }
      quota q{.name = lowered(unquoted(trimmed(take_until(member, ';'))))};
      while (!member.empty()) assign(q, trimmed(take_until(member, ';')));
      keep(std::move(q));
    }
    if (legacy) keep(std::move(together));
  }

  void assign(quota& q, std::string_view pair) {
    auto const equals = pair.find('=');
    if (equals == pair.npos) return;
    auto const key = trimmed(pair.substr(0, equals));
    if (key == "pk") {
      q.partition = trimmed(pair.substr(equals + 1)).substr(0, 64);
      return;
    }
    auto const number = parse_number(pair.substr(equals + 1));
    bool sound = number.has_value();
    if (key == "r" || key == "remaining") {
      q.remaining = number;
    } else if (key == "t" || key == "reset") {
      q.reset = number ? in_seconds(*number) : std::nullopt;
      sound = q.reset.has_value();
    } else if (key == "limit") {
      q.limit = number;
    } else {
      return;
    }
    if (!sound) ++into_.ignored;
  }

  void keep(quota q) {
    if (!q.remaining && !q.limit) return;
    auto* const known = named(q.name);
    if (known == nullptr) return;
    auto const& left = known->remaining;
    if (!left || (q.remaining &&
                  (*q.remaining < *left || (*q.remaining == *left && q.reset > known->reset)))) {
      known->remaining = q.remaining;
      known->reset = q.reset;
    }
    if (q.limit) known->limit = std::min(known->limit.value_or(*q.limit), *q.limit);
    if (!q.partition.empty()) known->partition = std::move(q.partition);
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
  int policies_unnamed_ = 0;
  std::array<bool, quotas_max> relative_{};  // whose reset is by no clock
};

}  // namespace

std::optional<std::string_view> value_of(std::span<field const> fields,
                                         std::string_view name) noexcept {
  for (auto const& f : fields)
    if (same(f.name, name)) return f.value;
  return std::nullopt;
}

bool quota::of_requests() const noexcept {
  if (counts != counted::unsaid) return counts == counted::requests;
  return name.find("token") == name.npos && name.find("byte") == name.npos &&
         name.find("complexity") == name.npos && name.find("cost") == name.npos &&
         name.find("concurrent") == name.npos;
}

std::chrono::sys_seconds server_time(std::span<field const> fields, sys_seconds now) noexcept {
  auto const date = value_of(fields, "date");
  return date ? parse_instant(*date, now).value_or(now) : now;
}

advice advice_of(std::span<field const> fields, sys_seconds now) {
  advice found;
  reader in(found, fields, now);
  for (auto const& f : fields) {
    in.read(f.name, f.value);
    if (found.ignored > 0 && !found.first_ignored) found.first_ignored = f;
  }
  return found;
}

std::optional<sys_seconds> parse_instant(std::string_view text, sys_seconds now) noexcept {
  auto const at = instant(text, now);
  if (!at) return std::nullopt;
  return sys_seconds(std::chrono::seconds(std::llround(std::floor(*at))));
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
  if (auto const at = instant(text, server_now)) return in_seconds(*at - now);
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

namespace {

/// A word of a sentence, or a number in it.
struct word {
  std::string_view text;
  std::optional<double> number{};
};

/// What parts one statement from the next. Between the number of a limit and its time none stands:
/// "429 Too Many Requests</h1>" is no limit an hour, nor "429 requests. In 5 s" one of 5 s.
constexpr std::string_view ends_statement = ".,:;!?<>(){}[]|\"\n";

/// Takes the next word; thousands may be set apart by commas. "/" is a word, and so are "10" of
/// "10s" and each end of a statement.
std::optional<word> take_word(std::string_view& rest) {
  auto const begin = std::ranges::find_if(rest, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '/' || c == '-' ||
           ends_statement.find(c) != ends_statement.npos;
  });
  rest.remove_prefix(static_cast<std::size_t>(begin - rest.begin()));
  if (rest.empty()) return std::nullopt;
  if (ends_statement.find(rest.front()) != ends_statement.npos) {
    rest.remove_prefix(1);
    return word{"."};
  }
  auto const take = [&](auto belongs) {
    std::size_t n = 1;
    while (n < rest.size() && belongs(n)) ++n;
    auto const taken = rest.substr(0, n);
    rest.remove_prefix(n);
    return taken;
  };
  if (!is_digit(rest.front())) {
    auto const letters = rest.front() != '/';
    auto const text = take([&](std::size_t n) {
      return letters && ((rest[n] >= 'a' && rest[n] <= 'z') || rest[n] == '-');
    });
    if (text.back() == '-' && !rest.empty() && is_digit(rest.front())) {
      take([&](std::size_t n) { return is_digit(rest[n]); });  // -1 is no number of anything
      return word{"-"};
    }
    return word{text};
  }
  auto const digits = take([&](std::size_t n) {
    auto const apart = (rest[n] == ',' || rest[n] == '.') && n + 1 < rest.size();
    return is_digit(rest[n]) || (apart && is_digit(rest[n + 1]));
  });
  std::string plain;
  std::ranges::copy_if(digits, std::back_inserter(plain), [](char c) { return c != ','; });
  auto const value = parse_number(plain);
  return word{digits, value && *value < 1e15 ? value : std::nullopt};
}

std::optional<duration> time_unit(std::string_view text) noexcept {
  if (text == "s") return std::chrono::seconds(1);
  if (text == "ms" || text.starts_with("milli")) return std::chrono::milliseconds(1);
  if (text == "m") return std::chrono::minutes(1);
  if (text == "h" || text == "hr" || text == "hrs") return std::chrono::hours(1);
  if (text == "d") return std::chrono::hours(24);
  return unit_at(text);
}

/// "RPM" and the like: what is counted, and in which time.
struct rate_word {
  std::string_view text, counts;
  duration period;
};
constexpr std::array rate_words = {rate_word{"rps", "requests", std::chrono::seconds(1)},
                                   rate_word{"qps", "requests", std::chrono::seconds(1)},
                                   rate_word{"rpm", "requests", std::chrono::minutes(1)},
                                   rate_word{"qpm", "requests", std::chrono::minutes(1)},
                                   rate_word{"rpd", "requests", std::chrono::hours(24)},
                                   rate_word{"tpm", "tokens", std::chrono::minutes(1)},
                                   rate_word{"tpd", "tokens", std::chrono::hours(24)}};

/// What a noun counts; "" where that is nothing that we know.
std::string_view counted_by(std::string_view noun) noexcept {
  for (std::string_view const known : {"request", "requests", "call", "calls", "query", "queries"})
    if (noun == known) return "requests";
  return noun == "token" || noun == "tokens" ? "tokens" : "";
}

quota ceiling_of(std::string name, double limit, duration window) {
  return {.name = std::move(name), .limit = limit, .window = window};
}

/// A limit that begins with the number `words[0]`: "100 requests per 10 seconds", "20 per minute",
/// "600 RPM".
std::optional<quota> limit_at(std::span<word const> words) {
  auto const is = [&](std::size_t i, std::initializer_list<std::string_view> any) {
    return i < words.size() && std::ranges::find(any, words[i].text) != any.end();
  };
  auto const& limit = words.front().number;
  if (!limit || *limit < 1 || words.size() < 2) return std::nullopt;
  for (auto const& r : rate_words)
    if (words[1].text == r.text) return ceiling_of(std::string(r.counts), *limit, r.period);
  std::string name = "requests";
  std::size_t at = 1;
  if (!is(1, {"per", "/"})) {
    for (at = 1; at < std::min<std::size_t>(words.size(), 4) && counted_by(words[at].text).empty();)
      ++at;
    if (at >= std::min<std::size_t>(words.size(), 4)) return std::nullopt;
    auto const between = words.subspan(1, at - 1);  // "429 Too Many Requests" counts none
    if (std::ranges::any_of(between, [](auto& w) { return w.text == "." || w.text == "too"; }))
      return std::nullopt;
    name = counted_by(words[at].text);
    if (is(at - 1, {"input", "output"})) name = std::string(words[at - 1].text) + '-' + name;
    ++at;
  }
  if (!is(at, {"per", "/", "in", "within", "every", "each", "a", "an"})) return std::nullopt;
  if (is(++at, {"a", "an", "any"})) ++at;
  auto many = 1.0;
  if (at < words.size() && words[at].number) many = *words[at++].number;
  auto const unit = at < words.size() ? time_unit(words[at].text) : std::nullopt;
  if (!unit) return std::nullopt;
  auto const window = in_seconds(many * to_seconds(*unit));
  if (!(window >= std::chrono::milliseconds(1))) return std::nullopt;
  return ceiling_of(std::move(name), *limit, *window);
}

/// "… on tokens per min (TPM): Limit 90000, Used 89000 …": the only one that says what was used.
std::optional<quota> limit_and_use(std::string_view text) {
  auto const limit = number_after(text, "limit");
  if (!limit || *limit < 1) return std::nullopt;
  constexpr std::string_view per = " per ";
  for (auto at = text.find(per); at != text.npos; at = text.find(per, at + 1)) {
    auto const period = unit_at(text.substr(at + per.size()));
    auto const before = text.substr(0, at);
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

}  // namespace

std::vector<quota> quotas_in_text(std::string_view said) {
  constexpr std::size_t found_max = 4;
  std::string text(said.substr(0, 4096));
  std::ranges::transform(text, text.begin(), lower);
  std::vector<quota> found;
  if (auto one = limit_and_use(text)) {
    found.push_back(std::move(*one));
    return found;
  }
  std::vector<word> words;
  for (std::string_view rest = text; auto const next = take_word(rest);) words.push_back(*next);
  for (std::size_t i = 0; i < words.size() && found.size() < found_max; ++i) {
    auto one = limit_at(std::span(words).subspan(i));
    if (one && std::ranges::none_of(found, [&](auto const& q) { return q.name == one->name; }))
      found.push_back(std::move(*one));
  }
  return found;
}

std::optional<duration> time_in_text(std::string_view said) {
  std::string text(said.substr(0, 4096));
  std::ranges::transform(text, text.begin(), lower);
  for (std::string_view const lead :
       {"try again in ", "try again after ", "retry in ", "retry after ", "request after ",
        "available in ", "wait for ", "wait "}) {
    auto const at = text.find(lead);
    if (at == text.npos) continue;
    auto rest = std::string_view(text).substr(at + lead.size());
    for (std::string_view const about : {"about ", "at least ", "another "})
      if (rest.starts_with(about)) rest.remove_prefix(about.size());
    auto const span =
        rest.substr(0, std::min(rest.find_first_not_of("0123456789.hmsun"), rest.size()));
    auto const stop = span.ends_with('.') ? span.substr(0, span.size() - 1) : span;
    if (auto const found = parse_go_duration(stop)) return found;
    auto const number = parse_number(stop);  // "try again in 20 seconds"
    rest.remove_prefix(span.size());
    auto const unit = take_word(rest);
    auto const each = unit ? time_unit(unit->text) : std::nullopt;
    if (number && each) return in_seconds(*number * to_seconds(*each));
  }
  return std::nullopt;
}

bool never_fits(std::string_view text) noexcept {
  auto const limit = number_after(text, "Limit");
  auto const requested = number_after(text, "Requested");
  return limit && requested && *requested > *limit;
}

}  // namespace headway::http
