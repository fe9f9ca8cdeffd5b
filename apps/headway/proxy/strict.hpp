/// What may pass: messages that two servers could read in two ways are refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proxy/message.hpp"

namespace headway::app::proxy {

/// An answer of our own to a message.
struct objection {
  int status = 400;
  std::string_view code;  ///< "malformed", …
  std::string message;    ///< a sentence
};

/// Returns why a request is refused, if it is; its grammar has been read by Beast. Never repeats a
/// value.
std::optional<objection> objection_to(head const& request);

/// Returns why an answer cannot be passed on, as a sentence; "" if it can.
std::string_view flaw_of(head const& answer) noexcept;

/// Returns whether `text` is host or host:port, as in Host and :authority.
bool is_authority(std::string_view text) noexcept;

}  // namespace headway::app::proxy
