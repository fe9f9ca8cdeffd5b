/// What lanes are made from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/governor.hpp"
#include "headway/law/shipped.hpp"
#include "pacing/quota_book.hpp"
#include "provider/profile.hpp"

namespace headway::app {

struct pacing_settings {
  shipped_law law = shipped_laws().front();
  governor_settings governor{};       ///< hint_max is what a lane waits for at most
  std::vector<quota_ceiling> quotas;  ///< of every lane
  std::optional<profile> speaks{};    ///< of all lanes; else each by its host
  std::string state;                  ///< what was learned, a path; "" is the default one
  bool alone = false;                 ///< else one pace with all processes of this user here
};

}  // namespace headway::app
