#include "pacing/fleet_link.hpp"

#include <sys/eventfd.h>

namespace headway::app {

fleet_link::fleet_link(
    std::function<std::unique_ptr<fleet::place>(std::function<void()>)> const& join)
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"),
      place_(join([fd = event_.fd()] { ::eventfd_write(fd, 1); })) {}

void fleet_link::heard() noexcept {
  ::eventfd_t unused = 0;
  ::eventfd_read(event_.fd(), &unused);
}

}  // namespace headway::app
