/// What the tests of every driver share.
#pragma once

#include <string>

#include "headway/backoff/constant.hpp"
#include "headway/governor.hpp"
#include "headway/law/paced.hpp"
#include "headway/window/fixed.hpp"

namespace headway {

using plain = governor<constant_backoff, paced<unpaced, fixed_window>>;

inline plain one_by_one(governor_settings settings = {}) {
  settings.in_flight_max = 1;
  settings.first_alone = 0ns;
  return plain({.wait = 1ms}, {}, settings);
}

inline auto always(outcome what) {
  return [what](auto const&...) { return what; };
}

/// Writes down what it hears.
struct diary : no_listener {
  std::string* text;
  void sent(time_point, ticket, duration) { *text += "sent "; }
  void answered(time_point, ticket, outcome what, decision const& then) const {
    *text += what == outcome::success ? "success " : "throttle ";
    *text += then.what == verdict::retry ? "again " : "done ";
  }
  void refused(time_point, headway::refused const& no) const { *text += to_string(no.why); }
};

}  // namespace headway
