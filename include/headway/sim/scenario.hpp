/// A scenario: a server, the clients that call it, and the wire between them. Data only.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headway/governor.hpp"
#include "headway/sim/optimistic_lock.hpp"
#include "headway/sim/sampling.hpp"
#include "headway/sim/server.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// Requests that are all there when the client joins, or come at `rate` a second (evenly).
struct batch {
  std::int64_t requests = 1000;  ///< in all
  double rate = 0;               ///< zero: all at once
  friend bool operator==(batch const&, batch const&) = default;
};

/// Requests that arrive independently of the others' fate: `rate` a second, as a Poisson process or
/// evenly, switched on and off.
struct open_arrivals {
  double rate = 10;     ///< per second, while it is on
  bool poisson = true;  ///< else evenly
  /// Turns of being on and off; zero: always on.
  duration on{}, off{};  ///< of one turn
  friend bool operator==(open_arrivals const&, open_arrivals const&) = default;
};

/// Workers that each have one request at a time, and the next one `think` after its end.
struct closed_loop {
  int workers = 10;  ///< of each client
  duration think{};  ///< between two requests of a worker
  std::int64_t requests = std::numeric_limits<std::int64_t>::max();  ///< in all
  friend bool operator==(closed_loop const&, closed_loop const&) = default;
};

/// The work of a client.
using workload = std::variant<batch, open_arrivals, closed_loop>;

/// The place in a client's work of the requests that are refused at any load.
enum class placing : std::uint8_t {
  spread,  ///< evenly
  random,  ///< anywhere: so many on average
  start,   ///< before all others
  middle,  ///< in a row
};

/// Clients that are alike, and measured together unless they are background.
struct group {
  std::string name = "clients";  ///< in tables
  std::string law{};             ///< "": the law under test
  int clients = 1;               ///< number of them
  workload work{};               ///< of each
  /// Replaces the wire's: from the nearest of these clients to the farthest, evenly.
  std::optional<spread> connect{};
  /// Ceilings of each besides the law, as `--rate` and `--concurrency`; a pool shares them.
  std::optional<gcra> rate_ceiling{};
  int in_flight_max = std::numeric_limits<int>::max();  ///< permits; see rate_ceiling
  duration joins{};                                     ///< begin of the first of them
  duration stagger{};                     ///< from the begin of one to that of the next
  duration leaves = duration::max();      ///< end of each, done or not
  double cost_mean = 1;                   ///< of a request, to the server
  double cost_cv = 0;                     ///< lognormal; zero: always the mean
  bool cost_known = false;                ///< to the client, which else assumes 1
  std::int64_t poisoned = 0;              ///< requests of each client that are refused at any load
  placing poisoned_at = placing::spread;  ///< in the client's work
  symptom poisoned_shows = symptom::throttle;  ///< the look of their refusal
  /// Retries of a throttled call by an SDK inside it, unknown to the client. At most 255.
  int sdk_retries = 0;
  duration suspended_at{};    ///< the machine sleeps: answers and timers wait for its return
  duration suspended_for{};   ///< zero: never
  duration suspended_each{};  ///< again after so long, since others need the processor; zero: once
  bool background = false;    ///< not measured
  friend bool operator==(group const&, group const&) = default;
};

/// See wire::timeout.
inline constexpr duration lost_after = 60s;

/// The way between client and server.
struct wire {
  duration connect{};          ///< before the server hears of a request; see group::connect
  duration jitter = 200us;     ///< more of it, uniform
  duration wakes_late = 60us;  ///< delay of a client's timer, at most
  double lost = 0;             ///< share of answers that never arrive
  /// From the arrival of a request until a client considers its answer lost, whether the server
  /// works on it or lets it wait; the server works on, unless it `drops`. Absent: it has patience
  /// with answers that come, and those that do not are lost after lost_after.
  std::optional<duration> timeout{};
  double misread = 0;  ///< share of good answers that a client considers throttles
  friend bool operator==(wire const&, wire const&) = default;
};

/// A fleet: the measured clients with the default law share one limit through one board. Each is so
/// many members, on as many hosts, which do its work in equal parts. Clients with other laws are
/// what they are without.
struct fleet_terms {
  int members = 10;           ///< of each client
  duration round_trip = 1ms;  ///< from a member to the board and back
  double lost = 0;            ///< share of the reports that are lost, and of the answers to them
  friend bool operator==(fleet_terms const&, fleet_terms const&) = default;
};

/// Settings of the sender that knows the limit: it paces evenly at `rate`, with at most `window`
/// out.
struct truth {
  double rate = 0;    ///< per second; zero: no pace
  double window = 0;  ///< zero: no bound
  friend bool operator==(truth const&, truth const&) = default;
};

/// Hints that a server gives about its limits.
enum class telling : std::uint8_t {
  nothing,
  retry_after,  ///< with each throttle: when the request would be admitted
  remaining,    ///< that, and with each answer the rest and when all of it is back
};

/// A server, its clients, and the way between.
struct scenario {
  std::string name;                                     ///< in `headway simulate`
  std::string about;                                    ///< half a sentence
  behaviour server{};                                   ///< one for all
  wire net{};                                           ///< of every client
  telling hints = telling::nothing;                     ///< of the server
  std::vector<group> groups{group{}};                   ///< its clients
  std::optional<fleet_terms> fleet{};                   ///< the measured clients are one
  truth told{};                                         ///< to the limit-known sender
  duration lasts = 1h;                                  ///< ends at the latest
  duration first_alone = 250ms;                         ///< as governor_settings has it
  int attempts_max = governor_settings{}.attempts_max;  ///< of every client, as in `headway run`
  retry_budget budget{};                                ///< the same
  std::optional<governor_settings> governing{};         ///< of clients, instead of these three
  double price = 0;  ///< money that an attempt costs, refused or not
  /// Writers of one row, under the backoff of the law under test, in place of a server that limits.
  std::optional<optimistic_lock> contest{};
  duration recovery_from{};  ///< change of capacity, for the recovery time; zero: not measured
  friend bool operator==(scenario const&, scenario const&) = default;
};

}  // namespace headway::sim
