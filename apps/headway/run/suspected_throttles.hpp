/// Refusals between successes: perhaps the throttle of a server that does not say so.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace headway::app {

/// Counts, for each origin and status, the 4xx that came after a success and before another. Those
/// that say something of the request itself, such as 404 and 409, do not count.
class suspected_throttles {
 public:
  void succeeded(std::string_view origin);
  /// A request was refused for good with this status.
  void refused(std::string_view origin, int status);

  /// Returns what may be done about them where they are many: lines, or "".
  std::string words() const;

 private:
  struct refusals {
    int between = 0, since = 0;  // successes; the last of them
  };
  struct counts {
    int successes = 0;
    std::map<int, refusals> by_status{};
  };
  counts* of(std::string_view origin);

  std::map<std::string, counts, std::less<>> origins_{};
};

}  // namespace headway::app
