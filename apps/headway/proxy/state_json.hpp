/// `headway proxy` as its admin address shows it.
#pragma once

#include <string>

#include "proxy/state.hpp"

namespace headway::app {

/// Returns what /api/state answers: one JSON object. Times are in seconds, unknown figures are
/// null, and text of clients is made UTF-8.
std::string state_json(proxy_state const&);

/// Returns the dashboard: one page with everything in it, which asks for /api/state each second and
/// for nothing else. A build with HEADWAY_WEB=OFF returns state_json().
std::string dashboard(proxy_state const&);

}  // namespace headway::app
