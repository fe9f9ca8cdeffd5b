/// What the options of `headway mock` may say.
///
///   time      50ms, 2s, 1.5min, 1h, 250us
///   count/per 50/s, 300/min, 5000/h, 10/250ms
///   limit     rate=50/s[,burst=N]
///             concurrent=N[,error-holds=TIME]
///             window=N/PER[,aligned]
///             sliding=N/PER[,counts-rejects]
///             unlimited
///   schedule  TIME:limit; TIME:limit; …
///
/// All throw std::invalid_argument, whose text says what is wrong and what is allowed.
#pragma once

#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "headway/sim/server.hpp"

namespace headway::app {

sim::limit parse_limit(std::string_view text);

/// Ascending.
std::vector<sim::step> parse_schedule(std::string_view text);

/// `50ms`, or `20ms..80ms`.
sim::spread parse_spread(std::string_view text);

}  // namespace headway::app
