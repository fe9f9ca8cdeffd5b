#include <boost/asio/io_context.hpp>
#include <headway/driver/asio.hpp>

bool asio_parts() {
  boost::asio::io_context io;
  headway::asio::throttled api{io.get_executor()};
  bool went = false;
  api.async_admit([&](std::exception_ptr error, auto) { went = !error; });
  io.run();
  return went;
}
