/// Lanes for tests.
#pragma once

#include <string_view>
#include <utility>

#include "headway/law/shipped.hpp"
#include "pacing/lane.hpp"

namespace headway::app {

/// Returns a lane of no account in which nothing waits.
inline lane test_lane(std::string_view law = "seek", governor_settings settings = {},
                      quota_book quotas = quota_book(), duration wait_max = 15min,
                      std::string_view host = "api.example", trace* to = nullptr,
                      duration hold_max = duration::max()) {
  return lane({.account = {},
               .name = {},
               .governor = traced_governor(to, 0, "", *shipped_law_named(law), settings),
               .quotas = std::move(quotas),
               .speaks = profile::of_host(host),
               .wait_max = wait_max,
               .hold_max = hold_max});
}

}  // namespace headway::app
