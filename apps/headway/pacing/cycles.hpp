/// The cycles of a limit: what its server accepted from one refusal to the next, and how fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "headway/time.hpp"
#include "pacing/in_order.hpp"

namespace headway::app {

/// Tells what holds whatever the law thinks: the rate at which a server accepted between its
/// refusals, where the beginnings of its refusals and their ends tell the same one; a window that
/// gave as many in as long a time; and how long it stood. Attempts come in the order in which they
/// were sent. Threads: a value.
class cycles {
 public:
  static constexpr std::size_t most = 32;  ///< cycles that are kept, the latest

  void take(tried const&);
  /// Takes that no request waited for a while: what was accepted meanwhile tells no rate.
  void idle() noexcept { idle_ = true; }

  /// A rate that was kept up.
  struct rate {
    double per_second = 0;
    double most = 0;       ///< what it may be, if refusals told to wait longer than it takes
    int rows = 0;          ///< of refusals, but for the first
    duration over{};       ///< from the first refusal that counts to the last
    bool certain = false;  ///< the beginnings and the ends of the refusals agree, and it never
                           ///< stood for most of that time
    bool steady =
        false;  ///< most cycles, each by itself, tell the same: all that it allows was used
  };
  /// Returns it, where anything was accepted between two rows of refusals.
  std::optional<rate> kept_up() const;

  struct window {
    double units = 0;
    duration period{};
    bool shut = false;  ///< it gave nothing for long, twice; else a rate may look the same
  };
  /// Returns the window that the latest cycles show.
  std::optional<window> shown() const;

  /// The longest time in which nothing was accepted, and what was accepted before it.
  struct stand {
    double units = 0;
    duration lasted{};
  };
  std::optional<stand> stood() const;

 private:
  struct cycle {
    time_point opened{};       // the first that was accepted went
    time_point last{};         // … and the last
    time_point shut = never;   // the first refusal went …
    time_point heard = never;  // … and was heard of
    time_point asked{};        // the last refusal went
    double units = 0;
    bool hinted = false;  // the last refusal said when to come back
    bool idle = false;
  };
  std::deque<cycle> all_{};
  bool idle_ = false;
};

}  // namespace headway::app
