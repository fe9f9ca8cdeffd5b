#include "pacing/lately.hpp"

#include <algorithm>

namespace headway::app {

void lately::add(outcome what, std::string_view error) {
  if (what == outcome::ignore) return;
  constexpr auto all = (1U << most) - 1;
  attempts_ = std::min(attempts_ + 1, most);
  broken_ = (broken_ << 1 | (what == outcome::failure ? 1U : 0U)) & all;
  throttled_ = (throttled_ << 1 | (what == outcome::throttle ? 1U : 0U)) & all;
  if (what == outcome::failure) broke_by_ = error;
  if (what == outcome::throttle) throttled_by_ = error;
}

}  // namespace headway::app
