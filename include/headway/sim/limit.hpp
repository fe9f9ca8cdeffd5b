/// Limits of servers, as values that take the time as an argument.
///
/// Time must not run backwards. Costs are at least 1; one that a limit never has room for is
/// refused for good. Every limit has
///   wait(now, cost)         Returns zero if `cost` units would be admitted, else how long until
///                           they would be if nothing else arrived; duration::max() if waiting
///                           does not help. Changes nothing.
///   admit(now, cost, hold)  Counts a request that all limits admitted; it leaves after `hold`, or
///                           where processors are `shared` after as much work.
///   refuse(now, cost)       Counts a refusal by this limit; a ban's, by any but an outage.
///   inherit(before, now)    Goes on with the counts of one of its kind, which it replaces.
/// Some have
///   delay(now)              Returns how long an admitted request waits before it is worked on.
///   left(now)               Returns what it could admit at once, and when all of it is back.
///   scale(factor)           Scales the capacity in the settings, before inherit().
///   shows                   The look of a refusal, if not that of the rest of the server.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "headway/export.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// The look of a refusal from outside.
enum class symptom : std::uint8_t {
  throttle,  ///< a throttle answer
  failure,   ///< a 500
  silence,   ///< no answer
};

/// The rest of a limit, as in X-RateLimit-Remaining and -Reset.
struct allowance {
  std::int64_t remaining = 0;  ///< units
  duration reset{};            ///< until all of it is back if nothing else arrived
  friend bool operator==(allowance const&, allowance const&) = default;
};

/// Admits everything.
struct unlimited {
  duration wait(time_point, std::int64_t) const noexcept { return {}; }
  void admit(time_point, std::int64_t, duration) {}
  void refuse(time_point, std::int64_t) {}
  void inherit(unlimited const&, time_point) {}

  friend bool operator==(unlimited const&, unlimited const&) = default;
};

/// Serves nothing. A step of the schedule to this one and back.
struct outage {
  symptom shows = symptom::silence;  ///< of every request

  duration wait(time_point, std::int64_t) const noexcept { return duration::max(); }
  void admit(time_point, std::int64_t, duration) {}
  void refuse(time_point, std::int64_t) {}
  void inherit(outage const&, time_point) {}

  friend bool operator==(outage const&, outage const&) = default;
};

/// One unit each `interval`, up to `burst` saved; full at first. Requires: burst × interval fits a
/// duration. As GCRA (ITU-T I.371): exact in whole nanoseconds, without a timer.
///
/// It is also a server that answers 202 at once and works later: a backlog with room for `burst`
/// units, which drains by one each `interval`, and refuses when full.
struct HEADWAY_EXPORT token_bucket {
  duration interval = 20ms;  ///< between two units that come back
  std::int64_t burst = 1;    ///< units saved at most

  time_point tat = time_point::min();  ///< theoretical arrival time: when the bucket is full again

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point, std::int64_t) {}
  void inherit(token_bucket const& before, time_point now);
  allowance left(time_point now) const noexcept;
  void scale(double factor);

  friend bool operator==(token_bucket const&, token_bucket const&) = default;
};

/// At most `max_busy` requests at a time, of any cost. A refusal holds a slot for `error_holds`,
/// also above the limit: since answering "no" is work, retries bring the server of seed 003 down.
/// Source: "Improve on exponential backoff", 2019 (50 slots, errors hold one for 50 ms).
struct HEADWAY_EXPORT concurrency {
  std::int64_t max_busy = 50;  ///< slots
  duration error_holds{};      ///< a slot, for each refusal

  std::vector<time_point> ends{};  ///< of each slot taken, sorted; may start with past ones

  /// Returns the number of slots taken.
  std::int64_t busy(time_point now) const noexcept;
  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(concurrency const& before, time_point now);
  void scale(double factor);

  friend bool operator==(concurrency const&, concurrency const&) = default;
};

/// `servers` requests are worked on at a time, in the order of arrival, and `waiting_max` more
/// wait, of any cost: first latency rises, then there are refusals.
struct HEADWAY_EXPORT queue {
  std::int64_t servers = 50;          ///< at work at a time
  std::int64_t waiting_max = 500;     ///< more is refused
  symptom shows = symptom::throttle;  ///< when full

  /// The time when each server is free, sorted; of more than `servers` the first are out of
  /// service.
  std::vector<time_point> free_at{};
  std::vector<time_point> begins{};  ///< of admitted requests, sorted; may start with past ones

  duration delay(time_point now) const noexcept;
  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point, std::int64_t) {}
  /// Requests that wait keep the beginning that was known on arrival; new servers serve later ones.
  void inherit(queue const& before, time_point now);
  void scale(double factor);

  friend bool operator==(queue const&, queue const&) = default;
};

/// The end of a request that shares processors.
struct ended {
  std::uint64_t number = 0;  ///< of the request: 0, 1, 2, … in the order of arrival
  time_point at{};           ///< of its answer
  bool late = false;         ///< the gateway ran out of patience and answers in the server's place
  friend bool operator==(ended const&, ended const&) = default;
};

/// All requests at work share `processors` evenly: each of `n` goes on at the speed
/// min(1, processors / n), so one that arrives later slows down those at work, and no end is known
/// on arrival. Of any cost; the hold is the work. Before it may stand a gateway that waits for an
/// answer no longer than `patience`; an end at that very instant is in time.
///
/// Exact to the nanosecond, by virtual time: what a request that has always been at work has had of
/// it. A request ends when that has grown by its work, whatever else arrives. O(log n) for each
/// request; O(n) for a change of capacity, and for a wait() where that has left too many at work.
/// Source: Kleinrock 1967, "Time-shared systems: a theoretical treatment" (processor sharing).
struct HEADWAY_EXPORT shared {
  std::int64_t processors = 4;  ///< work at full speed, each
  std::int64_t at_work_max = std::numeric_limits<std::int64_t>::max();  ///< more is refused
  duration patience = duration::max();                                  ///< of the gateway
  bool drops = false;  ///< the server stops its work on what the gateway has answered

  /// A request at work.
  struct job {
    double finish = 0;         ///< the virtual time of its end, in nanoseconds
    std::uint64_t number = 0;  ///< of the request
    time_point deadline{};     ///< the end of the gateway's patience
    friend bool operator<(job const& a, job const& b) noexcept {
      return a.finish != b.finish ? a.finish < b.finish : a.number < b.number;
    }
    friend bool operator==(job const&, job const&) = default;
  };

  double worked = 0;                     ///< the virtual time; zero without anything at work
  time_point since = time_point::min();  ///< when it was that
  double rest = 0;                       ///< … and the part of a nanosecond later
  std::uint64_t admitted = 0;            ///< requests so far
  std::set<job> at_work{};               ///< the first to end first
  std::set<std::pair<time_point, job>> unanswered{};  ///< those at work by their deadlines
  std::deque<ended> over{};                           ///< ends that take() has not told yet

  /// Goes on until `now`.
  void advance(time_point now);
  /// Returns when a request next ends, or the gateway's patience with one, if nothing arrives;
  /// `never` with none at work.
  time_point next_end() const noexcept;
  /// Returns an end that has come, the earliest first, and forgets it.
  std::optional<ended> take();

  duration wait(time_point now, std::int64_t cost) const;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point, std::int64_t) {}
  /// Requests at work keep their deadlines.
  void inherit(shared const& before, time_point now);
  void scale(double factor);

  friend bool operator==(shared const&, shared const&) = default;

 private:
  double until_first() const noexcept;
  time_point finish_of_first() const noexcept;
  time_point next_leaves() const noexcept;
  void work_until(time_point then) noexcept;
};

/// `count` units in each window of `period`. Aligned windows begin at whole periods since time 0;
/// others with the first unit admitted after the last window is over.
struct HEADWAY_EXPORT fixed_window {
  std::int64_t count = 300;  ///< units in a window
  duration period = 1min;    ///< of a window
  bool aligned = false;      ///< windows begin at whole periods

  time_point start = time_point::min();  ///< of the current window
  std::int64_t used = 0;                 ///< units in it

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point, std::int64_t) {}
  void inherit(fixed_window const& before, time_point now);
  allowance left(time_point now) const noexcept;
  void scale(double factor);

  friend bool operator==(fixed_window const&, fixed_window const&) = default;
};

/// At most `count` units in any `period`, exactly: in (now - period, now]. With `counts_rejects`
/// refused requests count, too, so a client that hammers never gets in (HAProxy's stick-tables,
/// GitHub's "all requests accrue").
struct HEADWAY_EXPORT sliding_window {
  /// Units counted at one instant.
  struct mark {
    time_point at{};         ///< the instant
    std::int64_t total = 0;  ///< units so far, these included
    friend bool operator==(mark const&, mark const&) = default;
  };

  std::int64_t count = 50;      ///< units in any period
  duration period = 1s;         ///< of them
  bool counts_rejects = false;  ///< refused requests count, too

  std::vector<mark> log{};  ///< ascending, at most about two for each unit of `count`

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(sliding_window const& before, time_point now);
  allowance left(time_point now) const noexcept;
  void scale(double factor);

  friend bool operator==(sliding_window const&, sliding_window const&) = default;

 private:
  std::int64_t total() const noexcept { return log.empty() ? 0 : log.back().total; }
  void add(time_point now, std::int64_t units);
};

/// At most `count` units in a `period`, as two counters estimate it: the units of the current
/// period, and what is left of those of the one before, which leave one by one, evenly. What is
/// left is rounded down, so that the first leaves at once. A period follows the one before, or
/// begins with the first unit after two without any. Sources: HAProxy's `http_req_rate`
/// (freq_ctr.h), and the sliding window counters of Cloudflare and Upstash.
struct HEADWAY_EXPORT window_counter {
  std::int64_t count = 100;     ///< units in a period, by the estimate
  duration period = 10s;        ///< of a counter
  bool counts_rejects = false;  ///< refused requests count, too
  bool aligned = false;         ///< periods begin at whole periods, as the clock has them

  time_point start = time_point::min();  ///< of the current period
  std::int64_t used = 0;                 ///< units in it
  std::int64_t before = 0;               ///< units in the one before

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(window_counter const& earlier, time_point now);
  allowance left(time_point now) const noexcept;
  void scale(double factor);

  friend bool operator==(window_counter const&, window_counter const&) = default;

 private:
  void advance(time_point now) noexcept;
  duration each_leaves() const noexcept { return std::max(period / before, duration(1)); }
};

/// After more than `rejects` refusals within any `period`, by any limit but an outage, refuses
/// everything for `lasts`; then it counts from zero. With `prolonged` it ends only once nothing has
/// come for `lasts` (bottleneck's strategy BLOCK).
struct HEADWAY_EXPORT ban {
  std::int64_t rejects = 5;  ///< that are forgiven
  duration period = 10s;     ///< within which they count
  duration lasts = 1min;     ///< the ban
  bool prolonged = false;    ///< requests meanwhile prolong it

  sliding_window seen{};                 ///< the refusals so far
  time_point until = time_point::min();  ///< the ban holds

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point, std::int64_t, duration) {}
  void refuse(time_point now, std::int64_t cost);
  void inherit(ban const& before, time_point now);

  friend bool operator==(ban const&, ban const&) = default;
};

/// A DynamoDB-like table: one unit each `interval`; unused units are saved for up to `saved_max`;
/// after `hot_minutes` in a row that used at least the share `hot`, capacity doubles,
/// up to one unit each `fastest`; it never shrinks. Minutes count from the first arrival, when the
/// share `level` of what can be saved is there. Source: DynamoDB Developer Guide, "Burst capacity"
/// (300 s) and "Auto scaling" (two consecutive minutes above a target of 70 %); shrinking takes
/// it 15.
struct HEADWAY_EXPORT table_capacity {
  duration interval = 1ms;    ///< between two units, at first
  duration saved_max = 5min;  ///< unused time that is saved
  double level = 0.1;         ///< share of it at first
  duration fastest = 250us;   ///< interval, at full capacity
  double hot = 0.7;           ///< share of the capacity
  int hot_minutes = 2;        ///< in a row, until it doubles

  token_bucket bucket{.burst = 0};  ///< no burst: nothing has arrived
  time_point minute{};              ///< when the current one began
  std::int64_t used = 0;            ///< in it
  int hot_so_far = 0;               ///< minutes in a row

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(table_capacity const& before, time_point now);
  allowance left(time_point now) const noexcept;

  friend bool operator==(table_capacity const&, table_capacity const&) = default;

 private:
  void advance(time_point now);
  void provision(duration each, time_point now);
};

/// The rate may rise only so fast: in the first period one unit each `interval`, and in each later
/// one `growth` more than the period before admitted, but never fewer than in the first. Periods
/// count from the first arrival. Source: Google Cloud, "Best practices for Firestore", ramping up
/// traffic: 500 a second, and 50 % more every 5 minutes.
struct HEADWAY_EXPORT slope {
  duration interval = 2ms;  ///< between two units, at first
  double growth = 0.5;      ///< a share
  duration period = 5min;   ///< from one rise to the next
  std::int64_t burst = 1;   ///< units saved at most

  token_bucket bucket{.burst = 0};  ///< no burst: nothing has arrived
  time_point began{};               ///< the current period
  std::int64_t used = 0;            ///< in it

  duration wait(time_point now, std::int64_t cost) const noexcept;
  void admit(time_point now, std::int64_t cost, duration hold);
  void refuse(time_point now, std::int64_t cost);
  void inherit(slope const& before, time_point now);
  allowance left(time_point now) const noexcept;

  friend bool operator==(slope const&, slope const&) = default;

 private:
  void advance(time_point now);
};

/// Any limit.
using limit = std::variant<unlimited, token_bucket, concurrency, fixed_window, sliding_window,
                           queue, ban, table_capacity, outage, slope, window_counter, shared>;

}  // namespace headway::sim
