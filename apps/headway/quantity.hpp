/// Numbers with units, as users write them.
#pragma once

#include <string_view>

#include "headway/time.hpp"

namespace headway::app {

/// 250us, 50ms, 2s, 1.5min, 1h, 2d, from zero to `longest`. A bare number is not a time.
/// Throws std::invalid_argument, whose text says what is wrong and what is allowed.
duration parse_time(std::string_view text, duration longest = 1h);

struct rate {
  double units;
  duration period;
};

/// 50/s, 300/min, 5000/h, 10/250ms, from one a day to 10^6 a second. Throws as parse_time does.
rate parse_rate(std::string_view text);

/// `1%` is 0.01. Throws as parse_time does.
double parse_share(std::string_view text);

}  // namespace headway::app
