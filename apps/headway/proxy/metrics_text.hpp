/// `headway proxy` as monitoring reads it.
#pragma once

#include <string>

#include "proxy/state.hpp"

namespace headway::app {

/// Returns what /metrics answers, as `exposition` writes it. Figures of a scope have the names that
/// they have in every command; beyond 100 scopes the others are counted together as `other`.
std::string metrics_text(proxy_state const&);

}  // namespace headway::app
