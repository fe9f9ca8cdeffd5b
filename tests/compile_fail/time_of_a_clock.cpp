// expect: steady_clock
#include "headway/pacer/gcra.hpp"

void take(headway::gcra& pacer) {
  auto const now = std::chrono::steady_clock::now();
#ifdef CONTROL
  pacer.take(headway::time_point(now.time_since_epoch()), 1);
#else
  pacer.take(now, 1);
#endif
}
