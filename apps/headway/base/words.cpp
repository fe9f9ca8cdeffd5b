#include "base/words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace headway::app {

std::string in_words(duration d) {
  auto const s = to_seconds(d);
  if (s < 60) return fmt::format("{:.1f} s", s);
  auto const whole = std::llround(s);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

void say(std::string_view what) {
  std::fputs(fmt::format("headway: {}\n", what).c_str(), stderr);
}

}  // namespace headway::app
