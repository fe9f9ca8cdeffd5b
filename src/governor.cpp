#include "headway/governor.hpp"

#include "headway/backoff/any.hpp"
#include "headway/law/any.hpp"

namespace headway {

// The object code that ships: drivers, simulator and tests all link these two.
template class HEADWAY_EXPORT governor<full_jitter, seek>;
template class HEADWAY_EXPORT governor<any_backoff, any_law>;

std::string_view to_string(reason why) noexcept {
  switch (why) {
    case reason::none:
      return "none";
    case reason::server_hint:
      return "server hint";
    case reason::first_answer:
      return "first answer";
    case reason::pace:
      return "pace";
    case reason::others:
      return "others";
    case reason::window:
      return "window";
    case reason::quota:
      return "quota";
    case reason::backoff:
      return "backoff";
    case reason::refused_alone:
      return "this request refused alone";
    case reason::retry_budget:
      return "retry budget";
    case reason::queue:
      return "queue";
    case reason::deadline:
      return "deadline";
    case reason::attempts:
      return "attempts";
    case reason::server_broken:
      return "server broken";
    case reason::paused:
      return "paused";
    case reason::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace headway
