/// The simulation: the shipped governor under virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headway/export.hpp"
#include "headway/headway.hpp"
#include "headway/shared/pace.hpp"
#include "headway/sim/laws/any.hpp"
#include "headway/sim/scenario.hpp"

/// Servers, clients and laws under virtual time.
namespace headway::sim {

/// A governor of laws that do not ship.
using rival_governor = governor<any_backoff, rival_law>;

/// A governor of a member of a fleet.
using fleet_governor = governor<any_backoff, shared_law>;

/// A client's governor: the object code that ships, or that of a law for comparison.
using client_governor =
    std::variant<default_governor, any_governor, rival_governor, fleet_governor>;

/// One of the laws that a scenario can run, by name.
struct contender {
  std::string name;       ///< unique
  std::string_view what;  ///< half a sentence
  std::function<client_governor(scenario const&)>
      make;      ///< a fresh one, for a client of this scenario
  int pool = 1;  ///< workers that share a client's batch, for laws that are one worker
  bool hears_ends_only = false;  ///< learns nothing from the head of an answer
  bool omits_poisoned = false;  ///< knows the requests that are refused at any load, and skips them
  any_backoff backoff{};        ///< after a failure, and in a scenario's contest
};

/// Returns all contenders: those that ship, the rivals, and `told`, which knows the limit.
HEADWAY_EXPORT std::vector<contender> const& contenders();

/// Returns the default law with other knobs, and without one of its parts at a time.
HEADWAY_EXPORT std::vector<contender> const& variants();

/// Returns the contender of that name, or null.
HEADWAY_EXPORT contender const* contender_named(std::string_view name) noexcept;

/// Returns the contender of that name, or else the law that the text describes to parse_law().
/// Errors: std::invalid_argument.
HEADWAY_EXPORT contender contender_of(std::string_view text);

/// Returns a law that ships, or a variant of it, as a contender.
HEADWAY_EXPORT contender contender_of(shipped_law const& law);

/// One stretch of a simulation.
struct moment {
  duration at{};               ///< begin of the stretch
  std::int32_t attempts = 0;   ///< sent in it
  std::int32_t accepted = 0;   ///< served in it
  std::int32_t throttled = 0;  ///< in it
  std::int32_t broken = 0;     ///< failed otherwise in it
  double window = 0;           ///< of the first client's law
  double ssthresh = 0;         ///< of that law; 0: it has none
  std::int32_t in_flight = 0;  ///< of the first client, at its end
  friend bool operator==(moment const&, moment const&) = default;
};

/// One answer, as the first client takes it.
struct point {
  duration at{};        ///< of the answer
  duration delay{};     ///< until it may send again
  bool served = false;  ///< else refused, or failed
  friend bool operator==(point const&, point const&) = default;
};

/// The last stretch of a simulation, over which shares are compared.
inline constexpr duration shares_window = 5min;

/// Figures of one simulation, of the measured clients only (the digest: of all).
struct figures {
  std::int64_t requests = 0;           ///< submitted by clients
  std::int64_t attempts = 0;           ///< sends
  std::int64_t throttled = 0;          ///< of the attempts
  std::int64_t broken = 0;             ///< of the attempts, failed otherwise
  std::int64_t done = 0;               ///< requests with a good answer
  std::int64_t given_up = 0;           ///< requests without, and those that are refused at any load
  std::int64_t poisoned_attempts = 0;  ///< of the attempts, those of the latter
  std::int64_t poisoned_most = 0;      ///< … and the most of one of them
  duration completion{};          ///< end of the last request; the scenario's end if some are open
  bool finished = false;          ///< each request is done or given up
  std::int64_t worst_second = 0;  ///< most throttles in one second
  /// Latency, from submission to the good answer.
  duration p50{}, p99{};  ///< from submission to the good answer
  duration server_p99{};  ///< from arrival to answer, of accepted requests
  double jain = 1;        ///< of the requests done by each client
  /// Shares of the clients that were there for all of the last `shares_window`.
  double jain_late = 1;            ///< of the requests done in it
  double smallest_share = 1;       ///< the slowest one's, as a multiple of an equal share
  double background_share = 1;     ///< done by background clients, of their requests
  duration recovery{};             ///< from recovery_from until 90 % of the later goodput
  std::int64_t exchanges = 0;      ///< reports of members of a fleet
  std::int64_t events = 0;         ///< of the simulation
  std::uint64_t digest = 0;        ///< of all events, and one more number drawn at the end
  std::vector<moment> timeline{};  ///< one for each step
  std::vector<point> points{};     ///< one for each answer
  friend bool operator==(figures const&, figures const&) = default;
};

/// Options of a simulation.
struct simulation_options {
  std::uint64_t seed = 1;                   ///< of all chance
  duration timeline_step{};                 ///< zero: no timeline
  std::size_t points_max = 0;               ///< of the figures
  std::int64_t events_max = 2'000'000'000;  ///< instead of a hang
  bool audit = false;  ///< check all invariants after every event; std::logic_error if one fails
};

/// Runs `s` with `law` as the law under test. The same arguments give the same figures, on every
/// compiler. Errors: std::invalid_argument for a group's unknown law; std::runtime_error at
/// events_max. O(log pending) for each event; about 1.3 KiB for each client (`./dev bench`).
HEADWAY_EXPORT figures simulate(scenario const& s, contender const& law,
                                simulation_options options = {});

}  // namespace headway::sim
