/// "Too many requests", in other ways than by 429.
#pragma once

#include <cstddef>
#include <string_view>

namespace headway::app {

/// Returns whether a refusal of this status may pass as the same request goes again: a 4xx, but not
/// 429, one of what asks (401, 407), or one of what is asked (404, 405, 415, 422 and the like).
bool may_pass(int status) noexcept;

inline constexpr std::size_t too_many_looked_at = 4096;  ///< bytes of a text, at most

/// Returns whether a text says that there were too many requests. One that is longer than
/// `too_many_looked_at` does not.
bool says_too_many(std::string_view text);

/// Returns whether it says so of a short time: nothing of money, of a quota or of a day.
bool says_too_many_now(std::string_view text);

}  // namespace headway::app
