#include "proxy/looped_poller.hpp"

#include <fcntl.h>

#include <utility>

#include "base/clock.hpp"

namespace headway::app::proxy {

looped_poller::looped_poller(boost::asio::io_context& io,
                             std::function<void(std::span<poller::event const>)> ready)
    : ready_(std::move(ready)), watched_(io, ::fcntl(events_.fd(), F_DUPFD_CLOEXEC, 0)) {
  await();
}

void looped_poller::await() {
  watched_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, alive = std::weak_ptr(alive_)](boost::system::error_code e) {
                        if (e || alive.expired()) return;
                        ready_(events_.wait(clock_now()));
                        if (!alive.expired()) await();
                      });
}

void looped_poller::close() {
  boost::system::error_code none;
  watched_.close(none);
}

}  // namespace headway::app::proxy
