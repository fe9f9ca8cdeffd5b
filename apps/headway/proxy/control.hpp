/// What `headway ctl` asks a proxy, and tells it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>

#include "proxy/looped_poller.hpp"
#include "watch/command.hpp"
#include "watch/command_socket.hpp"

namespace headway::app::proxy {

/// The command socket in the loop of an io_context. Threads: one, that of the io_context.
class control {
 public:
  /// Errors: as command_socket; then there is none.
  control(boost::asio::io_context&, std::function<std::string(command const&)> answers);

  /// Now and then: hangs up on those that say nothing.
  void tick(time_point now) { socket_.service().tick(now); }
  void close() { events_.close(); }

 private:
  looped_poller events_;
  command_socket socket_;
};

}  // namespace headway::app::proxy
