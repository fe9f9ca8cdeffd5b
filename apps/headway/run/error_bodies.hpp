/// Successes with an error as their body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway::app {

/// How a body says that it is an error.
struct error_body {
  std::string pointer{};   ///< where
  std::string contains{};  ///< what stands there, or begins there
  bool throttles = false;  ///< it says that there were too many
  friend bool operator==(error_body const&, error_body const&) = default;
};

/// Returns how, of a body that is plainly an error: it has `"error"` (an object or a text),
/// `"errors"` with something in it, `"ok": false`, or a `"code"` of 400 to 599; and beside these
/// texts, numbers and the like at most. Looks at no body beyond 4 KiB.
std::optional<error_body> error_in(std::string_view body);

/// Counts them.
class error_bodies {
 public:
  /// The line was answered with such a status, and has succeeded.
  void succeeded(std::int64_t line, int status, std::string_view body);

  /// Returns what may be done about them: lines, or "".
  std::string words() const;

 private:
  std::int64_t many_ = 0, first_line_ = 0;
  error_body first_{};
};

}  // namespace headway::app
