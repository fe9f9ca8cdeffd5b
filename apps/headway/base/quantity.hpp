/// Numbers with units, as users write them.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/fatal.hpp"
#include "headway/budget/retry_budget.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// 250us, 50ms, 2s, 1.5min, 1h, or their words (2sec, 5minutes), from zero to an hour. A bare
/// number is not a time. Throws std::invalid_argument, whose text says what is wrong and what is
/// allowed.
duration parse_time(std::string_view text);

/// The same, up to a year: 12h, 30d.
duration parse_patience(std::string_view text);

/// The same, from 1ms: a limit of no time at all lets nothing happen. Throws as parse_time does.
duration parse_bound(std::string_view text);

struct rate {
  double units;
  duration period;
};

/// 50/s, 300/min, 90k/min, 10/250ms, 500/day, from one a day to 10^6 a second. Throws as parse_time
/// does.
rate parse_rate(std::string_view text);

/// 50/s, 15/min:5 with bursts of 5, from 1 to 10^6: a ceiling of the caller's. Throws as parse_time
/// does.
gcra parse_ceiling(std::string_view text);

/// `1%` is 0.01. Throws as parse_time does.
double parse_share(std::string_view text);

/// 20%,10/s, or 5% with as many a second as by default, or off. Throws as parse_time does.
retry_budget parse_budget(std::string_view text);

/// 512MiB, 2GiB: bytes, from 16MiB to 1024GiB. Throws as parse_time does.
std::size_t parse_bytes(std::string_view text);

/// parse(text), with errors as fatal(exit_usage) that name the option.
template <class Parse>
auto option_value(std::string_view option, std::string const& text, Parse parse) {
  try {
    return parse(std::string_view(text));
  } catch (std::invalid_argument const& wrong) {
    throw fatal(exit_usage, std::string(option) + " '" + text + "': " + wrong.what());
  }
}

}  // namespace headway::app
