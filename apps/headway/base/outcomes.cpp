#include "base/outcomes.hpp"

namespace headway::app {

std::string_view to_string(final_outcome how) noexcept {
  switch (how) {
    case final_outcome::success:
      return "success";
    case final_outcome::failed:
      return "failed";
    case final_outcome::unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace headway::app
