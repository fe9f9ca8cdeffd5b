#include "base/live_line.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

namespace headway::app::live_line {
namespace {

constexpr char erased[] = "\r\033[K";

std::mutex mutex;
bool shown = false, line_begun = false;  // by other output, which is not to be erased

void clear() {
  if (std::exchange(shown, false)) std::fputs(erased, stderr);
}

}  // namespace

void draw(std::string_view text) {
  std::lock_guard const held(mutex);
  std::fputs(((std::exchange(line_begun, false) ? "\n" : erased) + std::string(text)).c_str(),
             stderr);
  shown = true;
}

void erase() {
  std::lock_guard const held(mutex);
  clear();
  if (std::exchange(line_begun, false)) std::fputs("\n", stderr);
}

pause::pause(int fd, std::string_view bytes) {
  if (bytes.empty() || isatty(fd) != 1) return;
  held_ = std::unique_lock(mutex);
  clear();
  line_begun = bytes.back() != '\n';
}

}  // namespace headway::app::live_line
