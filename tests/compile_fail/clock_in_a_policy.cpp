// expect: no member named 'now'|'now' is not a member of
#include "headway/policy.hpp"

struct impatient {
  headway::duration delay(int, headway::duration previous, headway::fraction) const noexcept {
#ifdef CONTROL
    return previous;
#else
    return headway::timeline::now() - headway::time_point{} + previous;
#endif
  }
  friend bool operator==(impatient const&, impatient const&) = default;
};
static_assert(headway::backoff<impatient>);
