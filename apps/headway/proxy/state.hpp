/// What `headway proxy` shows of itself: one snapshot, from which /api/state, /metrics and the
/// dashboard are rendered.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/governor.hpp"
#include "headway/time.hpp"
#include "status/metrics.hpp"

namespace headway::app {

/// The order in which classes of requests go.
enum class priority : std::uint8_t { interactive, normal, batch };
inline constexpr std::size_t priorities = 3;
inline constexpr std::array<std::string_view, priorities> priority_names = {"interactive", "normal",
                                                                            "batch"};

/// Names of what is counted, each with a small closed set of values.
using counters = std::map<std::string, std::uint64_t, std::less<>>;

/// A second of a scope.
struct scope_second {
  int ago = 0;  ///< seconds: 1 is the last whole one
  std::uint32_t sent = 0, throttled = 0, waiting = 0;
};

struct quota_state {
  std::string name;
  double limit = 0, remaining = 0;
  std::optional<duration> reset{};  ///< until all of it is back
};

struct scope_state {
  std::string name;   ///< "https://api.openai.com gpt-5 (key …a1f3)": digits of a digest, no key
  std::string law;    ///< "seek"
  std::string found;  ///< "a limit of about 48.5/s", "" while nothing is known
  std::optional<double> rate{};  ///< a second; nullopt: no pace yet
  std::optional<double> window{};
  std::size_t in_flight = 0, waiting = 0;
  struct {
    std::string_view why;                ///< as to_string(reason); "" : nothing holds it
    std::optional<duration> for_time{};  ///< from now on; nullopt: until an answer
  } held;
  std::vector<quota_state> quotas{};
  std::optional<duration> expected_wait{};  ///< of a normal request that comes now
  std::optional<duration> expected_wait_interactive{};
  std::optional<fleet_gauges> fleet{};  ///< the hosts that share it
  bool stopped = false;                 ///< its account is refused: nothing more is sent
  std::vector<scope_second> recent{};   ///< the last 120 s, oldest first
};

struct client_state {
  std::string name;  ///< of X-Headway-Client, else "key …a1f3 from 127.0.0.1"
  std::size_t waiting = 0;
  std::uint64_t served_minute = 0;
};

struct upstream_state {
  std::string name, url, profile;
  std::array<std::size_t, priorities> waiting{};
  std::size_t queue_max = 0;
  std::size_t in_flight = 0;
  struct {
    std::uint64_t requests = 0, throttled = 0, failed = 0, refused = 0, left = 0;
    std::optional<duration> wait_p50{}, wait_p99{};
  } last_minute;
  std::vector<scope_state> scopes{};
  std::vector<client_state> clients{};  ///< those with most waiting or served first, at most 20
  struct {
    std::size_t idle = 0, busy = 0;
  } connections;

  // since the start
  std::map<int, std::uint64_t> requests{};  ///< by status that the client got
  counters attempts{};                      ///< success, throttle, failure, ignore
  counters refused{};                       ///< by the reason of our own answers: "queue", …
  counters left{};                          ///< by what the request did: waiting, flying, streaming
  std::uint64_t connects = 0, reused = 0;   ///< attempts on a new connection, on a kept one
  histogram wait, upstream_head, request;   ///< to the turn; turn to head; arrival to end
  metrics by_scope{};
};

struct ended_request {
  std::chrono::system_clock::time_point at{};
  std::string id, upstream, method, path;  ///< path: as far as the query, at most 200 bytes
  int status = 0;                          ///< 0: the client left before there was one
  std::string reason;                      ///< of an answer of our own, else ""
  std::string ended;                       ///< done, left, refused, broken
  duration waited{}, took{};
  int attempts = 0, throttled = 0;
  bool streamed = false;
  std::string client;
};

struct time_share {
  std::string_view why;  ///< as to_string(reason); "not waiting"
  double share = 0;      ///< of the time in which something was asked for
};

struct proxy_state {
  std::chrono::system_clock::time_point now{};
  duration uptime{};
  bool draining = false;
  std::string listen, admin;
  struct {
    std::size_t clients = 0, active = 0, max = 0;
  } connections;
  std::size_t held_bytes = 0, held_bytes_max = 0;
  std::uint64_t received_bytes = 0, sent_bytes = 0;  ///< from and to clients
  std::uint64_t hints_ignored = 0;
  std::vector<upstream_state> upstreams{};
  std::vector<ended_request> last{};    ///< at most 50, the newest first
  std::vector<time_share> last_hour{};  ///< the largest first
};

}  // namespace headway::app
