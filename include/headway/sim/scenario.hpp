/// A scenario: a server, the clients that call it, and the wire between them. Data only.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headway/governor.hpp"
#include "headway/sim/sampling.hpp"
#include "headway/sim/server.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// All requests are there when the client joins, or come at `rate` a second (evenly) until there
/// are as many.
struct batch {
  std::int64_t requests = 1000;  ///< in all
  double rate = 0;               ///< zero: all at once
  friend bool operator==(batch const&, batch const&) = default;
};

/// Requests arrive whatever becomes of the others: `rate` a second, as a Poisson process or evenly,
/// switched on and off.
struct open_arrivals {
  double rate = 10;     ///< per second, while it is on
  bool poisson = true;  ///< else evenly
  /// How long it is on, and then off, in turns.
  duration on{}, off{};  ///< zero: always on
  friend bool operator==(open_arrivals const&, open_arrivals const&) = default;
};

/// `workers` each have one request at a time, and the next one `think` after its end.
struct closed_loop {
  int workers = 10;  ///< of each client
  duration think{};  ///< between two requests of a worker
  std::int64_t requests = std::numeric_limits<std::int64_t>::max();  ///< in all
  friend bool operator==(closed_loop const&, closed_loop const&) = default;
};

/// What a client wants done.
using workload = std::variant<batch, open_arrivals, closed_loop>;

/// Where in a client's work the requests are that are refused whatever the load.
enum class placing : std::uint8_t {
  spread,  ///< evenly
  start,   ///< before all others
};

/// Clients that are alike. They are measured together unless they are background.
struct group {
  std::string name = "clients";  ///< as tables call it
  std::string law{};             ///< "": the law under test
  int clients = 1;               ///< so many of them
  workload work{};               ///< of each
  /// As the wire's, but from the nearest of these clients to the farthest, evenly.
  std::optional<spread> connect{};
  duration joins{};                       ///< when the first of them begins
  duration stagger{};                     ///< each begins so much after the one before
  duration leaves = duration::max();      ///< when each ends, done or not
  double cost_mean = 1;                   ///< what a request costs the server
  double cost_cv = 0;                     ///< lognormal; zero: always the mean
  bool cost_known = false;                ///< to the client, which takes it for 1 otherwise
  std::int64_t poisoned = 0;              ///< of each client's requests: refused whatever the load
  placing poisoned_at = placing::spread;  ///< in the client's work
  symptom poisoned_shows = symptom::throttle;  ///< how their refusal looks
  /// So often does an SDK inside the call try again by itself when it is throttled, unknown to the
  /// client. At most 255.
  int sdk_retries = 0;
  duration suspended_at{};   ///< the machine sleeps: answers and timers wait for its return
  duration suspended_for{};  ///< zero: never
  bool background = false;   ///< not measured
  friend bool operator==(group const&, group const&) = default;
};

/// What stands between client and server.
struct wire {
  duration connect{};          ///< before the server hears of a request; see group::connect
  duration jitter = 200us;     ///< more of it, uniform
  duration wakes_late = 60us;  ///< how late a client's timer is, at most
  double lost = 0;             ///< share of answers that never come back
  duration timeout = 60s;      ///< after which a client takes an answer for lost
  double misread = 0;          ///< share of good answers that a client takes for throttles
  friend bool operator==(wire const&, wire const&) = default;
};

/// What the limit-known sender is told: it paces evenly at `rate` and keeps at most `window` out.
struct truth {
  double rate = 0;    ///< per second; zero: no pace
  double window = 0;  ///< zero: no bound
  friend bool operator==(truth const&, truth const&) = default;
};

/// What a server tells of its limits.
enum class telling : std::uint8_t {
  nothing,
  retry_after,  ///< with each throttle: when the request would be admitted
  remaining,    ///< that, and with each answer what is left and until when all of it is back
};

/// A server, what is between, and who calls it.
struct scenario {
  std::string name;                                     ///< as `headway simulate` calls it
  std::string about;                                    ///< half a sentence
  behaviour server{};                                   ///< that all share
  wire net{};                                           ///< of every client
  telling hints = telling::nothing;                     ///< of the server
  std::vector<group> groups{group{}};                   ///< who call it
  truth told{};                                         ///< to the limit-known sender
  duration lasts = 1h;                                  ///< ends at the latest
  duration first_alone = 250ms;                         ///< as governor_settings has it
  int attempts_max = governor_settings{}.attempts_max;  ///< of every client, as in `headway run`
  retry_budget budget{};                                ///< the same
  std::optional<governor_settings> governing{};         ///< of clients, instead of these three
  duration recovery_from{};  ///< when capacity changes, for the recovery time; zero: not measured
  friend bool operator==(scenario const&, scenario const&) = default;
};

}  // namespace headway::sim
