/// The live line of a terminal: what else is printed there comes in its place, not behind it.
#pragma once

#include <mutex>
#include <string_view>

namespace headway::app::live_line {

/// Draws it on standard error, in the place of the last one. Threads: any, as all of this.
void draw(std::string_view text);
/// Takes it away: what is said next begins a line.
void erase();

/// While one lives there is no live line, if `fd` is a terminal; `bytes` are written there.
class pause {
 public:
  pause(int fd, std::string_view bytes);

 private:
  std::unique_lock<std::mutex> held_{};
};

}  // namespace headway::app::live_line
