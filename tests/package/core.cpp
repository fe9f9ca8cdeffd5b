#include "headway_core.hpp"

bool parts(headway::any_law const& reno) {
  headway::any_governor const governor({}, reno);
  return headway::shipped_law_named("seek") == &headway::shipped_laws().front() &&
         governor.law_state() == reno;
}
