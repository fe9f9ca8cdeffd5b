/// What lanes are made from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/governor.hpp"
#include "headway/law/shipped.hpp"
#include "pacing/fleet_link.hpp"
#include "pacing/quota_book.hpp"
#include "provider/profile.hpp"

namespace headway::app {

/// What holds for each scope of a host, in place of what holds for all.
struct host_ceiling {
  std::string host;  ///< without its port, "api.example", or with it, "api.example:8080"
  std::optional<gcra> rate{};
  int in_flight = 0;  ///< 0: as for all

  bool is_for(std::string_view origin) const noexcept;
};

/// What a user changes while a run goes on; what is not given stays.
struct lane_order {
  struct ceiling {
    std::optional<gcra> rate{};  ///< none: off
  };
  std::optional<bool> paused{};
  std::optional<ceiling> rate{};
  std::optional<int> in_flight{};  ///< 0: off
  std::optional<double> leave{};
};

struct pacing_settings {
  shipped_law law = shipped_laws().front();
  governor_settings governor{};  ///< hint_max is what a lane waits for at most
  std::vector<host_ceiling> hosts{};
  std::vector<quota_ceiling> quotas;    ///< of every lane
  std::optional<profile> speaks{};      ///< of all lanes; else each by its host
  std::string state;                    ///< what was learned, a path; "" is the default one
  bool alone = false;                   ///< else one pace with all processes of this user here
  std::shared_ptr<fleet_link> fleet{};  ///< with all hosts of a fleet, where there is one
  int in_flight_most = 0;               ///< governor.in_flight_max where the user sets none
  duration hold_max = duration::max();  ///< see lane::parts
};

/// Returns the number of --concurrency. Throws std::invalid_argument, which says what is allowed.
int parse_concurrency(std::string_view text);
/// Returns the share of --leave. Throws as parse_concurrency() does.
double parse_leave(std::string_view text);
/// Throws fatal(exit_usage) unless what is learned can be kept in this file, which is replaced.
void require_state(std::string const& path);

}  // namespace headway::app
