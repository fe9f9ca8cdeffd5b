#pragma once

#include <stdexcept>
#include <string>

#include "headway/governor.hpp"

namespace headway {

/// Exception of a call that may not be sent in time. Caught as `headway::refused` (why, and until
/// when) or as std::exception.
class refused_error : public std::runtime_error, public refused {
 public:
  /// Says why, in words, by what().
  explicit refused_error(refused no)
      : std::runtime_error("headway: not sent: " + std::string(to_string(no.why))), refused(no) {}
};

/// Returns what becomes of a request that got no other turn after an attempt.
inline decision ended_by(refused const& no) noexcept {
  auto const parked = no.why == reason::server_hint || no.why == reason::server_broken;
  return {parked ? verdict::park : verdict::give_up, no.why, no.until};
}

}  // namespace headway
