/// The page around the data, as web/ builds it; both empty in a build with HEADWAY_WEB=OFF.
#pragma once

#include <string_view>

namespace headway::app {

extern std::string_view const simulate_head;
extern std::string_view const simulate_tail;

}  // namespace headway::app
