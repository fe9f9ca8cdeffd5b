#pragma once

namespace headway {

/// Tells a server that bans: a refusal shuts it, each time for about as long. There a refusal costs
/// what would have gone meanwhile, and not one request.
///
/// Threads: a value. Source: design/003, "Bans".
struct ban {
  double seconds = 0;  ///< that it was shut, the last time that this cost much
  int alike = 0;       ///< such times in a row that lasted about as long
  friend bool operator==(ban const&, ban const&) = default;

  static constexpr double units = 50;    ///< that do not go meanwhile: it costs much …
  static constexpr double answers = 10;  ///< … where it outlasts what was under way by so many
  static constexpr double other = 1.5;   ///< times as long is another kind
  static constexpr double below = 0.8;   ///< of the rate that is punished, one goes on

  /// Takes that the server was shut for so many seconds, in which `lost` units would have gone. An
  /// answer takes `answer` seconds.
  void lasted(double shut, double lost, double answer) noexcept {
    if (lost <= units || shut <= answers * answer) return;
    alike = shut < other * seconds && seconds < other * shut ? alike + 1 : 1;
    seconds = shut;
  }

  /// Returns whether the next refusal is expected to shut it, too.
  bool expected() const noexcept { return alike > 1; }
};

}  // namespace headway
