/// Selects the Asio under headway::asio: Boost's, or, with HEADWAY_ASIO_STANDALONE defined, the one
/// without Boost. A program uses one only.
#pragma once

#ifdef HEADWAY_ASIO_STANDALONE
#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/co_spawn.hpp>
#include <asio/compose.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/system_error.hpp>

namespace headway::asio {
namespace net = ::asio;
using error_code = ::asio::error_code;
using system_error = ::asio::system_error;
}  // namespace headway::asio
#define HEADWAY_ASIO_NAMESPACE asio
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

namespace headway::asio {
namespace net = boost::asio;
using error_code = boost::system::error_code;
using system_error = boost::system::system_error;
}  // namespace headway::asio
#define HEADWAY_ASIO_NAMESPACE boost::asio
#endif
