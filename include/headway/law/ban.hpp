#pragma once

#include <algorithm>
#include <cmath>

namespace headway {

/// Tells a server that bans: a few refusals shut it, each time for about as long. There a refusal
/// costs what would have gone meanwhile, and not one request. One that restarts now and then is
/// shut for as long, too, but has refused often before without that; and a window that is used up
/// has accepted as many before it shut again, in cycles as long as each other.
///
/// Threads: a value. Source: design/003, "Bans".
struct ban {
  double seconds = 0;   ///< that it was shut, the last time that this cost much, at most …
  double least = 0;     ///< … and at least: probes find the end late
  double accepted = 0;  ///< units, before the last of them, …
  double open = 0;      ///< … in so many seconds
  int alike = 0;        ///< such times in a row that lasted about as long; below 0: it was none
  int cuts = 0;         ///< since the last such time
  friend bool operator==(ban const&, ban const&) = default;

  static constexpr double lost = 50;       ///< requests that do not go meanwhile: it costs much …
  static constexpr double answers = 10;    ///< … where it outlasts what was under way by so many
  static constexpr double brief = 2;       ///< seconds: a wait, and no ban
  static constexpr double other = 1.5;     ///< times as long is another kind
  static constexpr double below = 0.8;     ///< of the rate that is punished, one goes on
  static constexpr int proof = 100;        ///< more such times that it takes, once it was denied
  static constexpr double doubling = 0.3;  ///< of what it lasted, a ramp takes at least to double
  static constexpr double same = 0.1;      ///< that what is as much, or as long, may differ by
  static constexpr double slowness = 1.5;  ///< times what it lasted, a first climb takes
  static constexpr int spared = 5;  ///< cuts, as many as fail2ban lets pass; one more is none

  /// Takes a cut.
  void cut() noexcept {
    if (++cuts > spared + 1) alike = std::min(alike, 0);
  }

  /// Takes that it was none.
  void deny() noexcept { alike = -proof; }

  /// Takes that the server was shut for so many seconds, of which `certain` ones went by until its
  /// last refusal (0: it was refused once, or said how long), after `sent` requests per second, of
  /// which it had accepted `units` in `served` seconds; an answer takes `answer` seconds.
  void lasted(double shut, double sent, double answer, double certain = 0, double units = 0,
              double served = 0) noexcept {
    if (!costs(shut, sent, answer)) return;
    bool const about = certain > 0 && shut < other * seconds && seconds < other * shut;
    if (certain == 0) certain = shut / (1 + same);
    bool const as_long = about || (certain < seconds && least < shut);
    bool const window = std::abs(units - accepted) < same * units &&
                        served + certain < open + seconds && open + least < served + shut;
    bool const few = cuts <= spared + 1;  // after more it is none: see cut()
    if (few && (alike != 1 || !window))
      alike = as_long || alike < 0 ? alike + 1 : 1;
    else if (few && !as_long)
      deny();
    *this = {.seconds = shut, .least = certain, .accepted = units, .open = served, .alike = alike};
  }

  /// Returns whether it costs much to be shut for so many seconds.
  static bool costs(double shut, double sent, double answer) noexcept {
    return shut * sent > lost && shut > answers * answer;
  }
  /// Returns whether it is not known to be none.
  bool may_be() const noexcept { return alike >= 0; }
  /// Returns whether a refusal may have shut it.
  bool suspected() const noexcept { return alike > 0; }
  /// Returns whether the next refusal is expected to shut it, too.
  bool expected() const noexcept { return alike > 1; }
};

}  // namespace headway
