/// A model of a server that throttles. Time and chance are arguments; it has no clock and no I/O.
///
/// The simulator and `headway mock` run the same one. The fate of a request is known when it
/// arrives: the time for which it holds its slot is drawn then. So completions need no report, and
/// an honest Retry-After is possible. Only where processors are `shared` its end depends on what
/// arrives later: the work is drawn, and the server tells the end when it comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "headway/export.hpp"
#include "headway/outcome.hpp"
#include "headway/random.hpp"
#include "headway/sim/limit.hpp"
#include "headway/sim/sampling.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// From `from` on, `becomes` is the limit.
struct step {
  time_point from{};  ///< begin
  limit becomes;      ///< the limit
  friend bool operator==(step const&, step const&) = default;
};

/// From `from` on, the work takes `factor` times as long.
struct slowdown {
  time_point from{};  ///< begin
  double factor = 1;  ///< of the latency
  friend bool operator==(slowdown const&, slowdown const&) = default;
};

/// A random walk of the schedule's limit, if that can be scaled: each `every` its factor, 1 at
/// first, goes up or down by `step` and stays within [min, max]. The walk depends on `seed` only,
/// so that all laws meet the same one. Requires: min > 0.
struct drift {
  duration every{};        ///< zero: no drift
  double step = 0.02;      ///< a share, each time
  double min = 0.5;        ///< the least factor
  double max = 2;          ///< the greatest factor
  std::uint64_t seed = 1;  ///< of the walk alone
  friend bool operator==(drift const&, drift const&) = default;
};

/// A fault of hints: they say factor × honest + offset, never negative. A factor of zero always
/// says "now"; an offset is a skewed clock.
struct hint_fault {
  double factor = 1;  ///< of the honest time
  duration offset{};  ///< added to it
  friend bool operator==(hint_fault const&, hint_fault const&) = default;
};

/// Settings of a server. Network and connection time pass before arrive().
struct behaviour {
  /// All must admit; the first that does not refuses, and of the others only bans count that.
  std::vector<limit> limits{};
  /// One more limit, which changes, asked before the others; ascending, unlimited before the first.
  std::vector<step> schedule{};
  drift drifts{};                       ///< of the schedule's limit
  symptom refusal = symptom::throttle;  ///< look of a refusal, unless the limit has its own
  distribution latency{};  ///< of the work on an accepted request, which holds its slot
  /// Until the head of a good answer; absent: it comes with the end.
  std::optional<distribution> head{};
  std::vector<slowdown> slowdowns{};  ///< ascending
  duration error_latency{};           ///< of a refusal
  double failures = 0;  ///< the share of accepted requests that end in an unrelated failure
  hint_fault hints{};   ///< of Retry-After
  friend bool operator==(behaviour const&, behaviour const&) = default;
};

/// Returns what of the settings does not go together, as half a sentence; null if all of it does.
HEADWAY_EXPORT char const* contradiction(behaviour const& b) noexcept;

/// The fate of a request.
struct answer {
  /// Success, throttle or failure; also a failure if its number ends late.
  outcome what = outcome::success;
  /// From arrival to answer; duration::max(): none ever comes, or its number tells when it does.
  duration after{};
  duration head = after;  ///< from arrival to the head of a success
  /// With a throttle, the time from the answer until the request would be admitted if nothing else
  /// arrived and the limits stay; absent if waiting does not help. Honest unless hints are faulty.
  std::optional<duration> retry_after{};
  /// Units left, after this request, of the bucket or window with the fewest left, if there is one
  /// and the answer comes.
  std::optional<std::int64_t> remaining{};
  std::optional<duration> reset{};  ///< from the head until all are back; as honest
  /// Number by which server::take() tells the end, of a request that shared processors accept.
  std::optional<std::uint64_t> number{};

  /// Returns whether an answer ever comes.
  bool comes() const noexcept { return number || after != duration::max(); }
  friend bool operator==(answer const&, answer const&) = default;
};

/// The model at work. A value: a copy forks the future.
class HEADWAY_EXPORT server {
 public:
  /// Makes one at which nothing has arrived yet. Requires: no contradiction().
  explicit server(behaviour b);

  /// Takes a request of `cost` units. One that is `poisoned` is refused at any load, with this
  /// symptom; it takes nothing of the limits. Requires: `now` is not before the last arrival.
  answer arrive(time_point now, std::int64_t cost, fraction u,
                std::optional<symptom> poisoned = std::nullopt);

  /// Returns when to ask take() if nothing arrives until then; `never` with nothing at work on
  /// shared processors. Not later than the next end; nothing may have ended then.
  time_point next_end() const noexcept;

  /// Returns a request on shared processors that has ended by `now`, the earliest first, once.
  /// Requires: `now` is not before the last arrival. O(log n) for each end.
  std::optional<ended> take(time_point now);

  /// Returns whether one of the limits that do not change never has room for `cost` units.
  bool never_admits(std::int64_t cost) const;

  friend bool operator==(server const&, server const&) = default;

 private:
  void catch_up(time_point now);
  void replace(limit by, time_point now);
  time_point next_step() const noexcept;
  answer refuse(limit& by, time_point now, std::int64_t cost);
  answer accept(time_point now, std::int64_t cost, fraction u);
  void tell_what_is_left(answer& told, time_point now) const;
  duration told_for(duration honest) const;

  behaviour behaviour_;
  std::vector<limit> limits_;  // the schedule's current one, then behaviour_.limits
  limit nominal_;              // the former without its drift
  double drifted_ = 1;
  std::uint64_t drifts_ = 0;  // so many times
  time_point next_drift_ = never;
  std::size_t next_step_ = 0;
  std::size_t slowdowns_ = 0;  // so many have begun
};

}  // namespace headway::sim
