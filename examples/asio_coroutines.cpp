// Coroutines that share an unknown limit: co_await waits for its turn, and tries again.
// Usage: example_asio_coroutines PORT

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <headway/driver/asio.hpp>

#include <cstdio>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

asio::awaitable<std::string> fetch(tcp::endpoint server, int n) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  auto const request = "GET /" + std::to_string(n) + " HTTP/1.0\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  co_await asio::async_read(socket, asio::dynamic_buffer(answer),
                            asio::as_tuple(asio::use_awaitable));  // until it closes
  co_return answer;
}

headway::outcome judge(std::string const& answer) {  // "HTTP/1.1 429 …"
  if (answer.substr(0, 5) != "HTTP/") return headway::outcome::failure;
  return answer.substr(9, 3) == "429" ? headway::outcome::throttle : headway::outcome::success;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  tcp::endpoint const server(asio::ip::address_v4::loopback(),
                             static_cast<asio::ip::port_type>(std::stoi(argv[1])));
  asio::io_context io;
  headway::asio::throttled api{io.get_executor()};
  int served = 0;
  auto const one = [&](int n) -> asio::awaitable<void> {
    auto const answer =
        co_await api.async_call([&] { return fetch(server, n); }, judge, asio::use_awaitable);
    served += judge(answer) == headway::outcome::success;
  };
  for (int n = 1; n <= 100; ++n) asio::co_spawn(io, one(n), asio::detached);
  io.run();
  std::printf("%d of 100\n", served);
  return served == 100 ? 0 : 1;
}
