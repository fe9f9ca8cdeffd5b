/// --limit-at: one limit for the processes of many hosts, kept in a database.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headway/law/shipped.hpp"
#include "pacing/fleet_link.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace headway::app {

/// The database that a command line, or else HEADWAY_FLEET, names.
struct limit_at {
  std::string url;              ///< "": none
  bool from_arguments = false;  ///< which all users of this machine can read

  explicit operator bool() const noexcept { return !url.empty(); }
  /// What said it, for messages.
  std::string_view said_by() const noexcept {
    return from_arguments ? "--limit-at" : "HEADWAY_FLEET";
  }
};

/// Returns whether this program has been built with libpq.
bool offers_limit_at() noexcept;
inline constexpr char limit_at_help[] =
    "Share one limit with all hosts that name this PostgreSQL, as postgresql://headway@db/work "
    "[HEADWAY_FLEET]";
/// Adds --limit-at, where it is offered.
void add_limit_at(CLI::App&, std::string& url);

/// What else a command line says that concerns a shared limit.
struct beside_limit {
  bool alone = false;
  bool traced = false;
  shipped_law const* law = nullptr;
};
/// The database: of the option, else of the environment, which --alone is stronger than. Errors:
/// fatal(exit_usage) for what hosts cannot share.
limit_at checked_limit_at(std::string const& url, beside_limit const&);

/// Joins the fleet of a database; null where there is none. Waits for one that does not answer, as
/// long as `patience`, and says so. Errors: fatal(exit_usage) for what a person must change,
/// fatal(exit_parked).
std::shared_ptr<fleet_link> join_fleet(limit_at const&, duration patience);

}  // namespace headway::app
