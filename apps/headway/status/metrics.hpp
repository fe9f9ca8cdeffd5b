/// What is counted of a run, for monitoring: one vocabulary, whichever surface sends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/outcomes.hpp"
#include "headway/governor.hpp"
#include "headway/policy.hpp"
#include "status/exposition.hpp"

namespace headway::app {

/// The hosts that share the limit of a scope.
struct fleet_gauges {
  std::int64_t members = 0;  ///< this one included
  std::int64_t unheard = 0;  ///< that went silent lately
  double excess = 0;         ///< by which these may exceed the limit, as a share of it
  double away = 0;           ///< seconds for which the database has not answered
  bool coasts = false;       ///< it paces by itself
};

/// Where a scope stands at the moment. NaN: not known.
struct scope_gauges {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::string scope{};
  double rate = unknown;   ///< that its law sends at, units per second
  double slots = unknown;  ///< that its law keeps in flight at most
  std::int64_t in_flight = 0;
  std::int64_t waiting = 0;
  std::vector<std::pair<std::string, double>> quotas{};  ///< what is left, by name
  std::optional<fleet_gauges> fleet{};
};

/// Adds where the scopes stand to a page, each under the name that `name_of` gives it; those of one
/// name together.
void write_gauges(exposition&, std::span<scope_gauges const> now,
                  std::function<std::string_view(std::string_view)> const& name_of);

/// Counters of each scope, which only grow: a scope keeps its own when its lane is gone. Beyond
/// scopes_max all others are counted together as `other`. Threads: one.
class metrics {
 public:
  static constexpr std::size_t scopes_max = 100;

  /// A request has come to its end.
  void ended(std::string_view scope, final_outcome);
  /// An attempt was answered, or was not.
  void attempted(std::string_view scope, outcome, duration took);
  /// What waits was held back for so long.
  void held(std::string_view scope, reason, duration);

  /// Adds what others have counted.
  void add(metrics const&);

  /// Adds all to a page, with where the scopes stand.
  void write(exposition&, std::span<scope_gauges const> now);

 private:
  struct counters {
    std::array<std::int64_t, 3> ended{};      // by final_outcome
    std::array<std::int64_t, 4> attempted{};  // by outcome
    std::array<duration, static_cast<std::size_t>(reason::cancelled) + 1> held{};
    histogram took{};
  };
  using all = std::map<std::string, counters, std::less<>>;
  all::value_type& entry(std::string_view scope);

  all scopes_{};
};

}  // namespace headway::app
