/// What people see while a run goes on, and at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hindrance.hpp"
#include "base/outcomes.hpp"
#include "headway/time.hpp"
#include "status/speed.hpp"

namespace headway::app {

/// Where a run stands.
struct standing {
  std::int64_t total = -1;                             ///< requests; -1: not known (standard input)
  std::int64_t before = 0;                             ///< of them, ended in an earlier run …
  std::int64_t failed_before = 0, unknown_before = 0;  ///< … without success
  std::int64_t elsewhere = 0;  ///< of `before`, ended by other hosts since this run began
  std::int64_t success = 0, failed = 0, unknown = 0;  ///< in this run
  std::int64_t unrepeated = 0;  ///< of them, broke and not sent again, for safety
  std::int64_t attempts = 0, throttled = 0, broken = 0;
  std::int64_t in_flight = 0;
  std::int64_t in_flight_peak = 0;
  std::vector<hindrance> waiting{};  ///< the worst first
  std::string fleet{};               ///< "12 hosts, ~197/s"; "": no other host shares the limit
  std::string last_error{};          ///< "api.example: status 500"; "": none so far

  std::int64_t ended() const noexcept { return success + failed + unknown; }
  std::int64_t& of(final_outcome how) noexcept {
    return how == final_outcome::success  ? success
           : how == final_outcome::failed ? failed
                                          : unknown;
  }
  /// Returns for how long what holds the run up most lets nothing go; 0 where that is not told: a
  /// server may refuse the next one, too.
  duration held(time_point now) const noexcept {
    bool const told = !waiting.empty() && waiting.front().told && waiting.front().until != never;
    return told ? waiting.front().until - now : duration{};
  }
  /// 0 where the total is not known.
  std::int64_t left() const noexcept { return total < 0 ? 0 : total - before - ended(); }
};

enum class progress_style : std::uint8_t { automatic, json, none };

/// On a terminal one live line, redrawn eight times a second; elsewhere a plain line every ten
/// seconds; or JSON lines once a second. To standard error.
class progress {
 public:
  progress(progress_style, time_point now);
  ~progress();

  /// Shows `s` if it is time to. O(1) when it is not.
  void update(time_point now, standing const& s);
  time_point wakeup() const noexcept { return next_; }
  /// Takes the live line away, so that something else can be printed.
  void clear();

 private:
  progress_style style_;
  bool live_ = false;
  duration every_;
  time_point began_, next_, next_shown_;
  std::int64_t last_ended_ = 0, last_throttled_ = 0;
  time_point last_at_;
  speed speed_;
};

/// Returns what fits in so many columns, by rank: what is done, why it waits, what failed, time
/// left, speed, the fleet, the rest.
std::string progress_line(standing const&, outlook, time_point now, std::size_t columns);

/// Returns the same as a JSON object.
std::string progress_json(standing const&, outlook, time_point now, duration elapsed);

/// Returns how a run went that took so long: lines.
std::string summary(standing const&, duration took);

/// Returns what may be done about what was lost: a line, or "". `journal`: there is one.
std::string next_step(standing const&, bool journal);

}  // namespace headway::app
