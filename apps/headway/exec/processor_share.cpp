#include "exec/processor_share.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "exec/descendants.hpp"

namespace headway::app {
namespace {

constexpr duration look_min = 2ms;  // from one look to the next …
constexpr int look_share = 10;      // … which takes at most a tenth of the time

}  // namespace

void processor_share::look(time_point now, std::int64_t started,
                           std::function<std::vector<pid_t>()> const& guards) {
  if (started < most_) return;
  if (now >= looks_at_) {
    hungry_ = hungry_descendants(guards(), most_);
    looks_at_ = later(clock_now(), std::max(look_min, look_share * (clock_now() - now)));
  }
  taken_ = hungry_ >= most_;
}

void processor_share::begin(std::int64_t started) noexcept {
  ++hungry_;
  taken_ = started >= most_ && hungry_ >= most_;
}

bool processor_share::eases(time_point now, std::int64_t started) noexcept {
  if (!taken_ || (now < looks_at_ && started >= most_)) return false;
  taken_ = false;
  return true;
}

}  // namespace headway::app
