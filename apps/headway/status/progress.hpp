/// What people see while a run goes on, and at its end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/outcomes.hpp"
#include "headway/governor.hpp"

namespace headway::app {

/// Where a run stands.
struct standing {
  std::int64_t total = -1;                            ///< requests; -1: not known (standard input)
  std::int64_t before = 0;                            ///< of them, ended in an earlier run
  std::int64_t success = 0, failed = 0, unknown = 0;  ///< in this run
  std::int64_t attempts = 0, throttled = 0, broken = 0;
  std::int64_t in_flight = 0;
  std::int64_t in_flight_peak = 0;
  held_back waiting{};
  std::string impasse{};  ///< what it waits for, if that is no `reason`: a sentence

  std::int64_t ended() const noexcept { return success + failed + unknown; }
  std::int64_t& of(final_outcome how) noexcept {
    return how == final_outcome::success  ? success
           : how == final_outcome::failed ? failed
                                          : unknown;
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
  std::string line(time_point now, standing const& s) const;

  progress_style style_;
  bool live_ = false;
  bool shown_ = false;
  duration every_;
  time_point began_, next_;
  std::int64_t last_ended_ = 0;
  time_point last_at_;
  double speed_ = 0;  // ended per second, smoothed
};

/// How a run went that took so long: two lines.
std::string summary(standing const&, duration took);

}  // namespace headway::app
