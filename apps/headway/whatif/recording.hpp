/// A recorded run as what its server saw: when each attempt came, and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headway/governor.hpp"
#include "headway/law/shipped.hpp"
#include "pacing/memory.hpp"

namespace headway::app {

/// The scope of a run with the most attempts. Times since its first request was there.
struct recording {
  struct attempt {
    time_point sent{};
    duration latency{};  ///< until the answer
    outcome what = outcome::success;
    std::int64_t cost = 1;
    bool advised = false;     ///< the refusal said when to come back
    bool quota_held = false;  ///< a quota that the server had told held it until then
    bool ended = false;       ///< its request has come to its end with it

    bool refused() const noexcept { return what == outcome::throttle; }
    /// Units.
    std::int64_t accepted() const noexcept { return refused() ? 0 : cost; }
  };

  std::string file;
  std::string scope;  ///< its name; "" in a results file
  shipped_law law = shipped_laws().front();
  governor_settings settings{};
  std::optional<gcra> ceiling{};  ///< of its user, the latest: a rate
  std::optional<remembered> memory{};
  std::vector<attempt> attempts{};  ///< by `sent`: the first, at most `attempts_max`
  std::vector<attempt> last{};      ///< by `sent`: the last after these, twice `newest_max` at most
  std::int64_t requests = 0;
  duration last_request{};     ///< when the last one was there
  duration took{};             ///< until the last good answer
  std::int64_t scopes = 1;     ///< of the run
  std::int64_t elsewhere = 0;  ///< attempts at the other scopes
  bool filled_up = false;      ///< the run held as many requests as it may
  bool timed = true;           ///< false: of refusals only the number is known
  std::int64_t throttled = 0;  ///< attempts, where they are not timed

  static constexpr std::size_t attempts_max = 1'000'000;
  static constexpr std::size_t newest_max = 5'000;

  /// Takes an attempt that has ended.
  void take(attempt const& a);

  /// Of all attempts.
  double throttled_share() const noexcept;
  /// Returns its first `n` attempts, as a run of the requests that ended with them.
  recording first(std::size_t n) const;
  /// Returns its newest attempts, at most `newest_max`; up to as many after them may be missing.
  std::span<attempt const> newest() const;
};

/// Recorded attempts in a row.
using stretch = std::span<recording::attempt const>;

/// Returns how many units were accepted.
std::int64_t accepted(stretch);

/// Returns the most units that were accepted in any `period`.
std::int64_t busiest(stretch, duration period);

/// Returns, of each attempt, how many that were accepted were in flight `slack` after it was sent.
std::vector<std::int64_t> in_flight(stretch, duration slack = {});

/// Reads a trace of `headway run --trace`, or its results, whichever it is. Errors:
/// fatal(exit_usage) that names file:line.
recording read_recording(std::string const& file);

}  // namespace headway::app
