/// `headway fleet status`: what hosts share at the moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headway/postgres/connection.hpp"
#include "queue/queue.hpp"

namespace headway::app {

/// A host that takes part in a limit.
struct host_status {
  std::int64_t id = 0;
  std::string name{}, version{};
  double silent_s = 0;  ///< since its last report

  /// It is cut off, has stopped or was killed: longer silent than any that lives.
  bool unheard() const noexcept { return silent_s > 3.5; }
};

/// A limit that hosts share, at one moment. Times are seconds before it.
struct limit_status {
  std::string title{}, key{};  ///< the key in hexadecimal
  std::int64_t combiner = 0;
  bool readable = false;  ///< else another version of headway keeps it, and what follows is unknown
  double rate = 0, slots = 0;     ///< as learned; 0: not yet
  double pace = 0;                ///< as it sends now, units a second
  std::uint64_t dealt = 0;        ///< turns so far
  std::uint64_t cuts = 0;         ///< so far
  std::optional<double> cut_s{};  ///< the last one
  double held_s = 0;              ///< nothing goes for so long, as a server asked
  std::int64_t unheard = 0;       ///< hosts that went silent lately
  double excess = 0;              ///< by so much of the limit these may exceed it
  std::vector<host_status> hosts{};
};

struct fleet_status {
  std::chrono::steady_clock::time_point at{};
  double answer_s = 0;     ///< the time that the database took
  std::int64_t calls = 0;  ///< transactions in it so far, of all
  std::vector<limit_status> limits{};
  std::vector<queue_status> queues{};
};

/// Asks the database. Errors: postgres::error.
fleet_status look(postgres::connection&);

/// What people are shown, with figures per second since `before`: lines.
std::string in_lines(fleet_status const& now, fleet_status const& before);

/// The same as one JSON object, without a line feed.
std::string in_json(fleet_status const& now, fleet_status const& before);

}  // namespace headway::app
