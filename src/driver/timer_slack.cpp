#include "headway/driver/timer_slack.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>

namespace headway::blocking {

#ifdef __linux__

timer_slack::timer_slack(duration slack) noexcept : before_(prctl(PR_GET_TIMERSLACK)) {
  // zero would mean the default
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max(slack, 1ns).count()));
}
timer_slack::~timer_slack() {
  if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
}

#else

timer_slack::timer_slack(duration) noexcept : before_(-1) {}
timer_slack::~timer_slack() = default;

#endif

}  // namespace headway::blocking
