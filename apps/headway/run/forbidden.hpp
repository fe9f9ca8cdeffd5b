/// 403s between successes: perhaps the throttle of a server.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace headway::app {

/// Counts, for each origin, the 403s that came after a success and before another.
class forbidden {
 public:
  void succeeded(std::string_view origin);
  /// A request was refused for good with this status.
  void refused(std::string_view origin, int status);

  /// Returns what may be done about them where they are many: lines, or "".
  std::string words() const;

 private:
  struct counts {
    int successes = 0, between = 0;
    int since = 0;  // the last success
  };
  counts* of(std::string_view origin);

  std::map<std::string, counts, std::less<>> origins_{};
};

}  // namespace headway::app
