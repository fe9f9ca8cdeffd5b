#include "proxy/listener.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/fatal.hpp"

namespace headway::app::proxy {

using boost::system::error_code;

listener::listener(asio::io_context& io, address const& at, std::string_view option,
                   std::function<void(tcp::socket)> take)
    : acceptor_(io), breath_(io), take_(std::move(take)) {
  error_code e;
  tcp::endpoint const endpoint(asio::ip::make_address(at.host), at.port);
  acceptor_.open(endpoint.protocol(), e);
  if (!e) acceptor_.set_option(tcp::acceptor::reuse_address(true), e);
  if (!e) acceptor_.bind(endpoint, e);
  if (!e) acceptor_.listen(asio::socket_base::max_listen_connections, e);
  if (e)
    throw fatal(exit_usage,
                fmt::format("{} {}: cannot listen there: {}", option, at.text(), e.message()));
}

void listener::accept() {
  paused_ = false;
  go_on();
}

void listener::go_on() {
  if (waiting_ || paused_ || !acceptor_.is_open()) return;
  waiting_ = true;
  acceptor_.async_accept([this](error_code e, tcp::socket socket) {
    if (e == asio::error::operation_aborted) return;
    waiting_ = false;
    if (!e) {
      take_(std::move(socket));
      return go_on();
    }
    breath_.expires_after(std::chrono::milliseconds(50));  // descriptors will be free again
    breath_.async_wait([this](error_code stopped) {
      if (!stopped) go_on();
    });
  });
}

void listener::close() {
  error_code ignored;
  acceptor_.close(ignored);
  breath_.cancel();
}

address listener::bound() const {
  auto const at = acceptor_.local_endpoint();
  return {at.address().to_string(), at.port()};
}

}  // namespace headway::app::proxy
