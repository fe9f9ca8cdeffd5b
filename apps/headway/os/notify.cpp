#include "os/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace headway::app {

void notify_manager(std::string_view state) noexcept {
  char const* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  auto const size = std::strlen(path);
  if (size >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, path, size);
  if (path[0] == '@') to.sun_path[0] = '\0';
  int const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // A reload is told with its time (Type=notify-reload).
  char text[128];
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  auto const n = std::snprintf(text, sizeof text, "%.*s\nMONOTONIC_USEC=%lld",
                               static_cast<int>(state.size()), state.data(),
                               static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000);
  sendto(fd, text, static_cast<std::size_t>(n), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&to),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
  close(fd);
}

}  // namespace headway::app
