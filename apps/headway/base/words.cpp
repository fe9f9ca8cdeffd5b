#include "base/words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <utility>

namespace headway::app {

std::string in_words(duration d) {
  auto const s = to_seconds(d);
  if (s < 9.95) return fmt::format("{:.1f} s", s);
  auto const whole = std::llround(s);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string short_in_words(duration d) {
  return d < 1s ? fmt::format("{:.0f} ms", 1e3 * to_seconds(d)) : in_words(d);
}

std::string rate_in_words(double per_second) {
  auto const [rate, unit] = per_second >= 1 || per_second <= 0 ? std::pair(per_second, "s")
                            : per_second * 60 >= 1             ? std::pair(per_second * 60, "min")
                                                               : std::pair(per_second * 3600, "h");
  if (rate < 999.5) return fmt::format("{:.3g}/{}", rate, unit);
  auto const scale = std::pow(10, std::floor(std::log10(rate)) - 2);  // three digits are known
  auto const whole = std::llround(rate / scale) * std::llround(scale);
  if (whole < 1'000'000) return fmt::format("{},{:03}/{}", whole / 1000, whole % 1000, unit);
  return fmt::format("{},{:03},{:03}/{}", whole / 1'000'000, whole / 1000 % 1000, whole % 1000,
                     unit);
}

void say(std::string_view what) {
  std::fputs(fmt::format("headway: {}\n", what).c_str(), stderr);
}

}  // namespace headway::app
