#include "pacing/settings.hpp"

#include <charconv>
#include <stdexcept>

#include "base/quantity.hpp"
#include "base/text.hpp"

namespace headway::app {

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

int parse_concurrency(std::string_view text) {
  int many = 0;
  auto const* const last = text.data() + text.size();
  auto const [end, wrong] = std::from_chars(text.data(), last, many);
  if (wrong != std::errc{} || end != last || many < 1 || many > 60'000)
    throw std::invalid_argument("want a whole number from 1 to 60000");
  return many;
}

}  // namespace headway::app
