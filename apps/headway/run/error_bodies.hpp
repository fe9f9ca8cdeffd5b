/// Successes with an error as their body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway::app {

/// Returns whether a body is plainly an error: `{"error": {…}}`, beside which there are at most
/// texts, numbers and the like. Looks at no body beyond 4 KiB.
bool is_error_body(std::string_view body);

/// Counts them.
class error_bodies {
 public:
  /// The line was answered with such a status, and has succeeded.
  void succeeded(std::int64_t line, int status, std::string_view body);

  /// Returns what may be done about them: lines, or "".
  std::string words() const;

 private:
  std::int64_t many_ = 0, first_ = 0;  // the line of the first
};

}  // namespace headway::app
