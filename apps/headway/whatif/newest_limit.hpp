/// The limit that a run was held to in the end.
#pragma once

#include <cstdint>
#include <optional>

#include "whatif/load.hpp"
#include "whatif/recording.hpp"

namespace headway::app {

struct met_limit {
  double rate = 0;         ///< a second; 0: it is slots
  std::int64_t slots = 0;  ///< at once
};

/// Returns the rate or the slots that explain the newest refusals, as many of them as one limit
/// explains. nullopt where none does, where fewer than three tell, or where they may as well have
/// come by chance. `believed`: a rate that decides where several explain as much.
std::optional<met_limit> newest_limit(recording const&, double believed, refused_at);

}  // namespace headway::app
