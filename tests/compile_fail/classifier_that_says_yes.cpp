// expect: a classifier answers with a headway::outcome or a headway::attempt_result
#include "headway/driver/blocking.hpp"

int answer(headway::throttled& api) {
#ifdef CONTROL
  auto const judge = [](int) { return headway::outcome::throttle; };
#else
  auto const judge = [](int) { return true; };
#endif
  return api.call([] { return 1; }, judge);
}
