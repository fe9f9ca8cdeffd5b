// Any completion token: a callback for an operation of Asio's own, which is cancelled as it waits.

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <headway/driver/asio.hpp>

#include <cstdio>

namespace asio = boost::asio;

int main() {
  using namespace std::chrono_literals;
  asio::io_context io;
  asio::steady_timer work(io, 1ms);
  headway::asio::throttled api{io.get_executor()};
  auto const operation = [&](auto token) { return work.async_wait(std::move(token)); };
  auto const judge = [](boost::system::error_code failed) {
    return failed ? headway::outcome::failure : headway::outcome::success;
  };

  int served = 0, cancelled = 0;
  asio::cancellation_signal stop;
  auto const second = [&](std::exception_ptr error) { cancelled += error != nullptr; };
  api.async_call(operation, judge, [&](std::exception_ptr error) {
    served += error == nullptr;
    api.hold(headway::steady_now() + 1h);  // "come back in an hour": the next one waits
    api.async_call(operation, judge, asio::bind_cancellation_slot(stop.slot(), second));
    stop.emit(asio::cancellation_type::total);  // and leaves the queue
  });
  io.run();
  std::printf("%d served, %d cancelled\n", served, cancelled);
  return served == 1 && cancelled == 1 ? 0 : 1;
}
