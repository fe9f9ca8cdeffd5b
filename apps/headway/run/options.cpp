#include "run/options.hpp"

#include <algorithm>
#include <utility>

#include "jobs/template.hpp"
#include "os/descriptors.hpp"
#include "run/request.hpp"

namespace headway::app {

std::optional<std::string> body_of(run_options const& o) {
  if (o.body_text || !o.body) return o.body_text;
  return expand_body(*o.body);
}

pacing_settings pacing_of(run_options const& o, std::shared_ptr<fleet_link> fleet) {
  auto const most = o.concurrency_ceiling;
  auto highest = most;
  for (auto const& h : o.hosts) highest = std::max(highest, h.in_flight);
  auto const connections = room_for_connections(highest);
  return {.law = o.law,
          .governor = {.attempts_max = o.attempts_max,
                       .queue_max = requests::requests_max,
                       .hint_max = o.wait_max,
                       .throttled = o.law.throttled,
                       .quiet_successes = o.law.quiet_successes,
                       .rate_ceiling = o.rate_ceiling,
                       .in_flight_max = most > 0 ? most : connections,
                       .budget = o.budget},
          .hosts = o.hosts,
          .quotas = o.quotas,
          .speaks = o.speaks,
          .state = o.state,
          .alone = o.alone,
          .fleet = std::move(fleet),
          .in_flight_most = connections};
}

}  // namespace headway::app
