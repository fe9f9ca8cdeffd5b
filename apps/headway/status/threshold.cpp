#include "status/threshold.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/text.hpp"
#include "status/progress.hpp"

namespace headway::app {
namespace {

constexpr double count_max = 1e12;

std::optional<threshold::counted> counted_of(std::string_view name) {
  using enum threshold::counted;
  if (name == "failed") return failed;
  if (name == "unknown") return unknown;
  if (name == "throttled") return throttled;
  return std::nullopt;
}

struct tally {
  std::int64_t count, all;
  std::string_view of, what;
};

tally tally_of(threshold::counted what, standing const& s) noexcept {
  using enum threshold::counted;
  if (what == failed) return {s.failed, s.ended(), "requests", "failed"};
  if (what == unknown) return {s.unknown, s.ended(), "requests", "are unknown"};
  return {s.throttled, s.attempts - s.in_flight, "attempts", "were throttled"};
}

}  // namespace

threshold threshold::parse(std::string_view text) {
  auto const sign = text.find('>');
  auto const what = counted_of(text.substr(0, sign));
  if (!what || sign == text.npos)
    throw std::invalid_argument(
        in_quotes(text) +
        " is not failed, unknown or throttled, then > and a limit: failed>50, throttled>1%");
  auto number = text.substr(sign + 1);
  auto const share = number.ends_with('%');
  if (share) number.remove_suffix(1);
  double limit = -1;
  auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), limit,
                                            std::chars_format::fixed);
  auto const whole = error == std::errc{} && end == number.data() + number.size() &&
                     !std::signbit(limit) && std::isfinite(limit);
  if (!whole || (share ? limit > 100 : limit > count_max || limit != std::floor(limit)))
    throw std::invalid_argument(in_quotes(text.substr(sign + 1)) +
                                " is neither a whole number nor a share from 0% to 100%");
  return {*what, limit, share, std::string(text)};
}

bool threshold::crossed(std::int64_t count, std::int64_t all) const noexcept {
  if (!share) return static_cast<double>(count) > limit;
  return all > 0 && 100 * static_cast<double>(count) > limit * static_cast<double>(all);
}

std::optional<std::string> threshold::crossed_by(standing const& s,
                                                 std::int64_t share_of_min) const {
  auto const [count, all, of, by] = tally_of(what, s);
  if ((share && all < share_of_min) || !crossed(count, all)) return std::nullopt;
  return fmt::format("{} of {} {} {}", count, all, of, by);
}

}  // namespace headway::app
