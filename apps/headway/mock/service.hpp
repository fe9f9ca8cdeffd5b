/// The HTTP/1.1 server of `headway mock`: one thread, one sim::server that decides what becomes of
/// each request.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/address.hpp"
#include "headway/sim/server.hpp"
#include "mock/completions.hpp"

namespace headway::app {

/// In which form a throttled client is told when to come back.
enum class retry_after_form : std::uint8_t {
  none,
  seconds,       ///< Retry-After: 2
  date,          ///< Retry-After: Fri, 31 Dec 1999 23:59:59 GMT
  milliseconds,  ///< retry-after-ms: 1250
};

struct mock_options {
  address listen{"127.0.0.1", 8429};
  sim::behaviour server{};
  sim::spread connect_latency{};  ///< passes before the limits see the request
  unsigned throttle_status = 429;
  retry_after_form retry_after = retry_after_form::none;
  std::optional<completions> openai{};  ///< asked before the server's limits
  bool emr = false;                     ///< speaks as Amazon EMR does
  duration others{};         ///< one request of others arrives each so often; zero: there are none
  std::FILE* log = nullptr;  ///< one line for each request answered
};

struct mock_totals {
  std::uint64_t requests = 0;  ///< that the limits have decided on
  std::uint64_t throttled = 0;
  std::uint64_t failed = 0;     ///< answered 500 on purpose
  std::uint64_t silent = 0;     ///< never answered
  std::uint64_t late = 0;       ///< answered 504
  std::uint64_t in_flight = 0;  ///< read and not yet answered
  std::uint64_t peak_in_flight = 0;
  std::uint64_t others = 0;  ///< requests of others
  std::uint64_t others_throttled = 0;
};

class mock_service {
 public:
  /// Listens; connections wait until run(). Throws `fatal` where it cannot.
  explicit mock_service(mock_options options);
  ~mock_service();
  mock_service(mock_service const&) = delete;
  mock_service& operator=(mock_service const&) = delete;

  std::uint16_t port() const;

  /// Serves until stop(), or SIGINT or SIGTERM after stop_on_signals().
  void run();
  void stop_on_signals();
  void stop();  ///< from any thread

  /// Requires: run() is over.
  mock_totals totals() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace headway::app
