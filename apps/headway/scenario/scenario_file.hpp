/// Scenarios as TOML files.
///
///   about = "a bucket of 50/s that saves ten, one client with 1,000 requests"
///   limit = "rate=50/s,burst=10"        a LIMIT, or several: all must admit
///   latency = "20ms..80ms"              a LATENCY, or several, each with weight=N
///   clients = { requests = 1000 }       or [[clients]] for more than one group
///
/// docs/simulate.md lists the keys and each LIMIT. LATENCY is TIME, TIME..TIME, exponential=TIME or
/// lognormal=TIME[,cv=N]. An unknown key is answered with the known ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headway/sim/scenario.hpp"

namespace headway::app {

/// What a key is instead: "latency" 20ms, "clients.requests" 500, "clients.1.count" 3.
struct setting {
  std::string key, value;
  friend bool operator==(setting const&, setting const&) = default;
};

/// `requests_max`: of all clients together that have all theirs from the start, each of which takes
/// some 300 bytes and a dozen events. Errors: fatal(exit_usage), "FILE:LINE: KEY VALUE: what is
/// allowed".
sim::scenario parse_scenario(std::string_view text, std::string const& file,
                             std::vector<setting> const& instead = {},
                             std::int64_t requests_max = 2'000'000);

sim::scenario read_scenario(std::string const& file, std::vector<setting> const& instead = {},
                            std::int64_t requests_max = 2'000'000);

/// What a sender that knows the limits of `s` would do: pace evenly just at the tightest, with
/// its share of them if there are several clients. Where they change: at their highest, as
/// refusals cost it less than what it would leave. Nothing where it is not obvious.
sim::truth obvious_truth(sim::scenario const& s);

}  // namespace headway::app
