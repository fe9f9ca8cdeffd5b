// expect: a classifier is called with what the attempt returned
#include <string>

#include "headway/driver/blocking.hpp"

int answer(headway::throttled& api) {
#ifdef CONTROL
  auto const judge = [](int) { return headway::outcome::success; };
#else
  auto const judge = [](std::string const&) { return headway::outcome::success; };
#endif
  return api.call([] { return 1; }, judge);
}
