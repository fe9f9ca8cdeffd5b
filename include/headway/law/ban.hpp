#pragma once

#include <algorithm>

namespace headway {

/// Tells a server that bans: a few refusals shut it, each time for about as long. There a refusal
/// costs what would have gone meanwhile, and not one request. One that restarts now and then is
/// shut for as long, too, but has refused often before without that.
///
/// Threads: a value. Source: design/003, "Bans".
struct ban {
  double seconds = 0;  ///< that it was shut, the last time that this cost much, at most …
  double least = 0;    ///< … and at least: probes find the end late
  int alike = 0;       ///< such times in a row that lasted about as long; below 0: it was none
  int cuts = 0;        ///< since the last such time
  friend bool operator==(ban const&, ban const&) = default;

  static constexpr double lost = 50;     ///< requests that do not go meanwhile: it costs much …
  static constexpr double answers = 10;  ///< … where it outlasts what was under way by so many
  static constexpr double other = 1.5;   ///< times as long is another kind
  static constexpr double below = 0.8;   ///< of the rate that is punished, one goes on
  static constexpr int proof = 100;      ///< more such times that it takes, once it was denied
  static constexpr int spared = 5;       ///< cuts, as many as fail2ban lets pass; one more is none

  /// Takes a cut.
  void cut() noexcept {
    if (++cuts > spared + 1) alike = std::min(alike, 0);
  }

  /// Takes that it was none.
  void deny() noexcept { alike = -proof; }

  /// Takes that the server was shut for so many seconds, of which `certain` ones went by until its
  /// last refusal, after `sent` requests per second; an answer takes `answer` seconds.
  void lasted(double shut, double sent, double answer, double certain = 0) noexcept {
    if (shut * sent <= lost || shut <= answers * answer) return;
    bool const about = shut < other * seconds && seconds < other * shut;
    bool const may_be = std::min(certain, least) > 0 && certain < seconds && least < shut;
    bool const as_before = about || may_be;
    alike = cuts > spared + 1 ? std::min(alike, 0) : as_before || alike < 0 ? alike + 1 : 1;
    seconds = shut;
    least = certain;
    cuts = 0;
  }

  /// Returns whether the next refusal is expected to shut it, too.
  bool expected() const noexcept { return alike > 1; }
};

}  // namespace headway
