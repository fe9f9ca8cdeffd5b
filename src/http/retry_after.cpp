#include "headway/http/retry_after.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace headway::http {
namespace {

using std::chrono::sys_days;
using std::chrono::sys_seconds;

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> short_days = {"Mon", "Tue", "Wed", "Thu",
                                                        "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> long_days = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

std::string_view without_ows(std::string_view text) noexcept {
  auto const first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Reads a date from left to right; once something does not fit, nothing does.
class reader {
 public:
  explicit reader(std::string_view text) noexcept : rest_(text) {}

  bool literal(std::string_view expected) noexcept {
    if (!rest_.starts_with(expected)) return ok_ = false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  template <std::size_t N>
  int one_of(std::array<std::string_view, N> const& names) noexcept {
    for (std::size_t i = 0; i < N; ++i)
      if (rest_.starts_with(names[i])) {
        rest_.remove_prefix(names[i].size());
        return static_cast<int>(i);
      }
    ok_ = false;
    return 0;
  }

  int digits(std::size_t count) noexcept {
    if (rest_.size() < count || !std::all_of(rest_.begin(), rest_.begin() + count, is_digit)) {
      ok_ = false;
      return 0;
    }
    int value = 0;
    for (char const c : rest_.substr(0, count)) value = value * 10 + (c - '0');
    rest_.remove_prefix(count);
    return value;
  }

  void require(bool so) noexcept { ok_ = ok_ && so; }

  char front() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }
  bool finished() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct fields {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;

  std::optional<sys_seconds> instant() const noexcept {
    auto const date = std::chrono::year(year) / (month + 1) / day;
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
    return sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second);
  }
};

void read_time(reader& in, fields& f) noexcept {
  f.hour = in.digits(2);
  in.literal(":");
  f.minute = in.digits(2);
  in.literal(":");
  f.second = in.digits(2);
}

/// Sun, 06 Nov 1994 08:49:37 GMT
std::optional<sys_seconds> imf_fixdate(reader in) noexcept {
  fields f;
  in.one_of(short_days);
  in.literal(", ");
  f.day = in.digits(2);
  in.literal(" ");
  f.month = in.one_of(months);
  in.literal(" ");
  f.year = in.digits(4);
  in.literal(" ");
  read_time(in, f);
  in.literal(" GMT");
  return in.finished() ? f.instant() : std::nullopt;
}

/// A name, or +0200: seconds east of Greenwich.
std::chrono::seconds read_zone(reader& in) noexcept {
  using namespace std::chrono_literals;
  char const sign = in.front();
  if (sign == '+' || sign == '-') {
    in.literal(sign == '+' ? "+" : "-");
    auto const hours = in.digits(2);
    if (in.front() == ':') in.literal(":");
    auto const minutes = in.digits(2);
    in.require(hours <= 23 && minutes <= 59);
    auto const offset = hours * 3600s + minutes * 60s;
    return sign == '+' ? offset : -offset;
  }
  static constexpr std::array<std::string_view, 12> names = {
      "UTC", "UT", "GMT", "Z", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT"};
  static constexpr std::array hours = {0, 0, 0, 0, -5, -4, -6, -5, -7, -6, -8, -7};
  return hours[static_cast<std::size_t>(in.one_of(names))] * 3600s;
}

/// Sun, 6 Nov 1994 10:49:37 +0200
std::optional<sys_seconds> mail_date(reader in) noexcept {
  fields f;
  if (!is_digit(in.front())) {
    in.one_of(short_days);
    in.literal(", ");
  }
  f.day = in.digits(1);
  if (is_digit(in.front())) f.day = f.day * 10 + in.digits(1);
  in.literal(" ");
  f.month = in.one_of(months);
  in.literal(" ");
  f.year = in.digits(4);
  in.literal(" ");
  f.hour = in.digits(2);
  in.literal(":");
  f.minute = in.digits(2);
  if (in.front() == ':') {
    in.literal(":");
    f.second = in.digits(2);
  }
  in.literal(" ");
  auto const zone = read_zone(in);
  auto const at = in.finished() ? f.instant() : std::nullopt;
  return at ? std::optional(*at - zone) : std::nullopt;
}

/// Sunday, 06-Nov-94 08:49:37 GMT
std::optional<sys_seconds> rfc850(reader in, sys_seconds now) noexcept {
  fields f;
  in.one_of(long_days);
  in.literal(", ");
  f.day = in.digits(2);
  in.literal("-");
  f.month = in.one_of(months);
  in.literal("-");
  int const year_of_century = in.digits(2);
  in.literal(" ");
  read_time(in, f);
  in.literal(" GMT");
  if (!in.finished()) return std::nullopt;

  auto const limit = now + std::chrono::years(50);
  int const limit_year = int(std::chrono::year_month_day(floor<std::chrono::days>(limit)).year());
  f.year = limit_year - ((limit_year - year_of_century) % 100 + 100) % 100;
  auto const at = f.instant();
  if (!at || *at <= limit) return at;
  f.year -= 100;
  return f.instant();
}

/// Sun Nov  6 08:49:37 1994
std::optional<sys_seconds> asctime(reader in) noexcept {
  fields f;
  in.one_of(short_days);
  in.literal(" ");
  f.month = in.one_of(months);
  in.literal(" ");
  bool const padded = in.front() == ' ';
  if (padded) in.literal(" ");
  f.day = in.digits(padded ? 1 : 2);
  in.literal(" ");
  read_time(in, f);
  in.literal(" ");
  f.year = in.digits(4);
  return in.finished() ? f.instant() : std::nullopt;
}

std::optional<duration> sensible(std::chrono::seconds s) noexcept {
  if (s > std::chrono::floor<std::chrono::seconds>(wait_max)) return std::nullopt;
  return std::max(s, std::chrono::seconds::zero());
}

}  // namespace

std::optional<sys_seconds> parse_date(std::string_view value, sys_seconds now) noexcept {
  reader const in(without_ows(value));
  if (auto const at = imf_fixdate(in)) return at;
  if (auto const at = asctime(in)) return at;
  return rfc850(in, now);
}

std::optional<sys_seconds> parse_mail_date(std::string_view value) noexcept {
  return mail_date(reader(without_ows(value)));
}

std::optional<duration> parse_retry_after(std::string_view value, sys_seconds now) noexcept {
  value = without_ows(value);
  if (!value.empty() && std::all_of(value.begin(), value.end(), is_digit)) {
    std::int64_t seconds = 0;
    for (char const c : value)
      if (__builtin_mul_overflow(seconds, 10, &seconds) ||
          __builtin_add_overflow(seconds, c - '0', &seconds))
        return std::nullopt;
    return sensible(std::chrono::seconds(seconds));
  }
  auto const at = parse_date(value, now);
  if (!at) return std::nullopt;
  return sensible(*at - now);
}

}  // namespace headway::http
