/// The rate that a run was held to in the end.
#pragma once

#include <optional>

#include "whatif/load.hpp"
#include "whatif/recording.hpp"

namespace headway::app {

/// Returns how much a second the server let through when it refused last: by the bucket or window
/// that explains the newest refusals, as many of them as one limit explains. nullopt where none
/// does, where fewer than three tell, or where they may as well have come by chance. `believed`:
/// what decides where several explain as much.
std::optional<double> newest_rate(recording const&, double believed, refused_at);

}  // namespace headway::app
