#include "exec/pacing.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "exec/task.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr int attempts_if_passing = 4;

}  // namespace

std::shared_ptr<fleet_link> fleet_of(exec_options const& o, command_profile const& speaks,
                                     std::string_view program) {
  if (o.fleet.from_arguments && speaks.local())
    throw fatal(exit_usage, fmt::format("--limit-at: {} asks no server; its limit is this machine",
                                        in_quotes(program)));
  if (o.dry_run || speaks.local()) return nullptr;
  return join_fleet(o.fleet, o.wait_max);
}

pacing_settings pacing_of(exec_options const& o, command_profile const& speaks, room const& here,
                          std::shared_ptr<fleet_link> fleet) {
  pacing_settings s{
      .law = o.law            ? *o.law
             : speaks.local() ? law_named("fixed")
                              : shipped_laws().front(),
      .governor = {.attempts_max = o.attempts_max > 0 ? o.attempts_max : attempts_if_passing,
                   .queue_max = tasks_max,
                   .hint_max = o.wait_max,
                   .rate_ceiling = o.rate_ceiling,
                   .in_flight_max = here.most},
      .quotas = o.quotas,
      .speaks = profile::named("generic"),
      .state = o.state,
      .alone = o.alone || speaks.local(),
      .fleet = std::move(fleet),
      .in_flight_most = o.concurrency > 0 ? 0 : here.most};
  s.governor.throttled = s.law.throttled;
  s.governor.budget = {.balance_max = 1e18, .balance = 1e18};  // --attempts-max is the limit
  if (speaks.local()) s.governor.first_alone = 0ns;
  return s;
}

}  // namespace headway::app
