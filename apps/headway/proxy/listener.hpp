/// A listener: accepts connections at one address.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "proxy/config.hpp"

namespace headway::app::proxy {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

class listener {
 public:
  /// Errors: fatal(exit_usage) where it cannot listen there.
  listener(asio::io_context&, address const&, std::string_view option,
           std::function<void(tcp::socket)>);

  void accept();
  /// Leaves new connections in the backlog, until accept() is called again.
  void pause() noexcept { paused_ = true; }
  void close();
  bool paused() const noexcept { return paused_; }
  address bound() const;

 private:
  void go_on();

  tcp::acceptor acceptor_;
  asio::steady_timer breath_;
  std::function<void(tcp::socket)> take_;
  bool paused_ = false, waiting_ = false;
};

}  // namespace headway::app::proxy
