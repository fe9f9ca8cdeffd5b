/// Models of servers that throttle: told the time, handed chance; no clock, no I/O.
///
/// The simulator and `headway mock` run the same ones. What becomes of a request is known when it
/// arrives: how long it will hold its slot is drawn then, so nobody has to report completions, and
/// an honest Retry-After can be given.
///
/// Every limit answers one question and is told two things. Time must not run backwards; costs are
/// at least 1.
///   wait(now, cost)         zero if `cost` units would be admitted, else how long until they would
///   be if nothing else
///                           arrived; duration::max() if waiting does not help. Changes nothing.
///   admit(now, cost, hold)  admitted, by every limit; the request is worked on for `hold`
///   refuse(now, cost)       refused, by this limit
/// and, where the schedule replaces it by another of its kind,
///   inherit(before, now)    go on with what `before` has counted
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "headway/outcome.hpp"
#include "headway/random.hpp"
#include "headway/time.hpp"

namespace headway::sim {

struct unlimited {
  duration wait(time_point, std::int64_t) const noexcept { return {}; }
  void admit(time_point, std::int64_t, duration) {}
  void refuse(time_point, std::int64_t) {}
  void inherit(unlimited const&, time_point) {}

  friend bool operator==(unlimited const&, unlimited const&) = default;
};

/// One unit each `interval`, up to `burst` saved; full at first. Requires: burst × interval fits a
/// duration. As GCRA (ITU-T I.371): exact in whole nanoseconds, and no timer to refill anything.
struct token_bucket {
  duration interval = 20ms;
  std::int64_t burst = 1;

  time_point tat = time_point::min();  ///< theoretical arrival time: when the bucket is full again

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point, std::int64_t) {}
  void inherit(token_bucket const& before, time_point now);

  friend bool operator==(token_bucket const&, token_bucket const&) = default;
};

/// At most `max_busy` requests at a time, whatever their cost. A refusal holds a slot for
/// `error_holds`, also above the limit: that answering "no" is work too is what brings the server
/// of seed 003 down under retries. Source: "Improve on exponential backoff", 2019 (50 slots, errors
/// hold one for 50 ms).
struct concurrency {
  std::int64_t max_busy = 50;
  duration error_holds{};

  std::vector<time_point>
      ends{};  ///< when each slot taken is free again, sorted; may start with past ones

  std::int64_t busy(time_point now) const noexcept;
  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(concurrency const& before, time_point now);

  friend bool operator==(concurrency const&, concurrency const&) = default;
};

/// `count` units in each window of `period`. Aligned windows begin at whole periods since time 0;
/// others with the first unit admitted after the last window is over.
struct fixed_window {
  std::int64_t count = 300;
  duration period = 1min;
  bool aligned = false;

  time_point start = time_point::min();
  std::int64_t used = 0;

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point, std::int64_t) {}
  void inherit(fixed_window const& before, time_point now);

  friend bool operator==(fixed_window const&, fixed_window const&) = default;
};

/// At most `count` units in any `period`, exactly: (now - period, now] is looked at. With
/// `counts_rejects` what is refused counts as well, so who hammers never gets in (HAProxy's
/// stick-tables, GitHub's "all requests accrue").
struct sliding_window {
  std::int64_t count = 50;
  duration period = 1s;
  bool counts_rejects = false;

  std::vector<time_point> log{};  ///< a ring of the last `count` units; empty until the first
  std::size_t oldest = 0;

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(sliding_window const& before, time_point now);

  friend bool operator==(sliding_window const&, sliding_window const&) = default;

 private:
  void add(time_point now, std::int64_t units);
};

using limit = std::variant<unlimited, token_bucket, concurrency, fixed_window, sliding_window>;

/// Uniform over [min, max).
struct spread {
  duration min{};
  duration max = min;

  duration draw(fraction u) const noexcept { return min + scale(max - min, u); }
  friend bool operator==(spread const&, spread const&) = default;
};

/// From `from` on, `becomes` is the limit.
struct step {
  time_point from{};
  limit becomes;
  friend bool operator==(step const&, step const&) = default;
};

/// What a server is like. Network and connection time are not its own: they pass before arrive().
struct behaviour {
  std::vector<limit>
      limits{};  ///< all must admit; the first that does not refuses, the others never hear of it
  std::vector<step>
      schedule{};    ///< one limit more, which changes; ascending, unlimited before the first
  spread latency{};  ///< how long an accepted request takes and holds its slot
  duration error_latency{};  ///< how long until a throttled one is told
  double failures = 0;       ///< the share of accepted requests that end in an unrelated failure
  friend bool operator==(behaviour const&, behaviour const&) = default;
};

/// What becomes of a request.
struct answer {
  outcome what = outcome::success;  ///< success, throttle or failure
  duration after{};                 ///< from arrival to answer
  /// On a throttle: how long after the answer the request would be admitted if nothing else arrived
  /// and the limits stay; absent if waiting does not help.
  std::optional<duration> retry_after{};
  friend bool operator==(answer const&, answer const&) = default;
};

class server {
 public:
  explicit server(behaviour b);

  /// A request of `cost` units arrives. Requires: `now` is not before the last arrival.
  answer arrive(time_point now, std::int64_t cost, fraction u);

  friend bool operator==(server const&, server const&) = default;

 private:
  behaviour behaviour_;
  std::vector<limit> limits_;  // behaviour_.limits, and last the schedule's current one
  std::size_t next_step_ = 0;
};

}  // namespace headway::sim
