#include "proxy/control.hpp"

#include <fcntl.h>

#include <utility>

#include "base/clock.hpp"
#include "watch/scopes.hpp"

namespace headway::app::proxy {

control::control(boost::asio::io_context& io, std::function<std::string(command const&)> answers)
    : socket_(events_, "proxy",
              [answers = std::move(answers)](std::string_view line) {
                return answered(line, answers);
              }),
      ready_(io, ::fcntl(events_.fd(), F_DUPFD_CLOEXEC, 0)) {
  await();
}

void control::await() {
  ready_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](boost::system::error_code e) {
                      if (e) return;
                      auto const now = clock_now();
                      for (auto const& event : events_.wait(now))
                        socket_.service().ready(now, event);
                      await();
                    });
}

void control::close() {
  boost::system::error_code none;
  ready_.close(none);
}

}  // namespace headway::app::proxy
