#include "headway/fleet/place.hpp"

namespace headway::fleet {

hosted_pace::~hosted_pace() = default;
place::~place() = default;

}  // namespace headway::fleet
