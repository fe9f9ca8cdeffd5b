#include "run/source.hpp"

#include "base/fatal.hpp"

namespace headway::app {

std::optional<job> source::next() {
  if (put_back_) return std::exchange(put_back_, std::nullopt);
  if (at_end) return std::nullopt;
  try {
    return take();
  } catch (fatal const&) {
    fail(std::current_exception());
    return std::nullopt;
  }
}

}  // namespace headway::app
