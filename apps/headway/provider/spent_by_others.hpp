/// What the other runs of a queue have spent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "provider/quota_units.hpp"

namespace headway::app {

struct spent_by_others {
  std::string ledger{};             ///< as that of `spending`
  std::int64_t flying = 0;          ///< attempts that are announced and have not ended
  std::vector<quota_units> most{};  ///< that all runs together may spend
};

}  // namespace headway::app
