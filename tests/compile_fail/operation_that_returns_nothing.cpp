// expect: an operation takes a completion token and returns what it initiates
#include "headway/driver/asio.hpp"

void wait(headway::asio::throttled& api, boost::asio::steady_timer& timer) {
#ifdef CONTROL
  auto const operation = [&](auto token) { return timer.async_wait(std::move(token)); };
#else
  auto const operation = [&](auto token) { timer.async_wait(std::move(token)); };
#endif
  auto const judge = [](auto) { return headway::outcome::success; };
  api.async_call(operation, judge, [](std::exception_ptr) {});
}
