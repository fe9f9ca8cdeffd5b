/// A disposition: what becomes of a request after an answer.
#pragma once

#include <cstdint>

#include "headway/governor.hpp"
#include "provider/judgement.hpp"

namespace headway::app {

/// What is known when an answer has been judged and its lane has ruled.
struct circumstances {
  bool lost = false;  ///< another run has its line
  reaction what = reaction::served;
  bool value_refused = false;    ///< a 401, and a new value of --header-cmd has not been tried
  bool has_remainder = false;    ///< the answer left a part undone, which may go by itself
  bool goes_at_once = false;     ///< it met a kept connection that was closed, and may be repeated
  bool may_follow = false;       ///< a whole redirect that the caller does not call a success
  bool lane_stopped = false;     ///< nothing more goes to its account
  bool refused_alone = false;    ///< for longer than --wait-max, while others were accepted
  bool deadline_passed = false;  ///< its next attempt would come after --request-deadline
  verdict ruling = verdict::done;  ///< of the lane
};

enum class disposition : std::uint8_t {
  renew,       ///< it goes again with a new value of its header
  stop_lane,   ///< it is left open, and nothing more goes to its account
  leave_open,  ///< a later run takes it up
  go_on,       ///< the part that is left goes as a request
  go_again,    ///< it goes again at once, as another request
  follow,      ///< it goes where the redirect says
  wait,        ///< it waits for its next turn
  park,        ///< it waits for longer than we have patience
  expire,      ///< it ends: its deadline comes first
  end,         ///< it ends
};

/// Returns what becomes of the request. The first row of the table in disposition.cpp that applies
/// decides.
disposition disposition_of(circumstances const&) noexcept;

}  // namespace headway::app
