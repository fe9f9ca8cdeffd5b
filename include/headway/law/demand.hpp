#pragma once

#include <algorithm>
#include <utility>

#include "headway/law/excess.hpp"
#include "headway/outcome.hpp"
#include "headway/time.hpp"

namespace headway {

/// Tells whether the caller wants less than its pace allows. Then a refusal is the doing of others,
/// and a cut would only make the caller's own few requests wait: what helps is to ask again later.
///
/// What counts is how many requests go as soon as they come, and neither when the pace allowed it
/// nor because an answer came just before: a worker that waits for nothing but answers wants all
/// that it can get. One that comes just when its turn is due says nothing against a pace that
/// another caller of the same law keeps busy.
///
/// Threads: a value. Source: scenarios/sparse-1.toml; design/003, "Few requests".
struct demand {
  time_point answered{};       ///< the latest answer
  time_point refused = never;  ///< the first refusal since the last success; never: none
  double answers = 0;          ///< that `idle` is a mean of, at most `smoothing`
  double idle = 0;             ///< share of the requests that came when the pace was long free
  int busy = 0;                ///< requests in a row that one of them made wait, all accepted
  double closed = 0;           ///< seconds from a refusal to the next accepted send, smoothed
  excess over{};               ///< whether it wants more than its limit all the same
  friend bool operator==(demand const&, demand const&) = default;

  static constexpr double smoothing = 128;         ///< answers
  static constexpr double low = 1.0 / 16;          ///< more idle requests than this: a low demand
  static constexpr int busy_max = 32;              ///< in a row: the demand has risen
  static constexpr double at_once = 0.25;          ///< of an answer's time
  static constexpr double closed_smoothing = 8;    ///< rows of refusals
  static constexpr double first_pause = 0.25;      ///< of `closed`
  static constexpr double pause_growth = 0.5;      ///< of the time since the first refusal
  static constexpr double pause_seconds_max = 30;  ///< the longest

  /// Returns whether a send follows an answer at once. `answer` is the mean time of an answer, in
  /// seconds.
  bool prompt(time_point now, double answer) const noexcept {
    return answered != time_point{} && to_seconds(now - answered) <= at_once * answer;
  }

  /// Takes an answer. What waited out a pause tells nothing but how long it lasted.
  void heard(time_point now, sample const& s, bool accepted) noexcept {
    answered = now;
    bool const in_row = s.sent.sent >= refused;
    if (accepted) over.succeeded(s.sent.sent, in_row);
    if (in_row) {
      if (!accepted) return;
      auto const lasted = to_seconds(s.sent.sent - std::exchange(refused, never));
      closed += (lasted - closed) / closed_smoothing;
      return;
    }
    if (s.capped) return;                       // says what the caller allows, not what it wants
    if (accepted && s.sent.sends == 0) return;  // the first of all had nothing to wait for
    bool const waited = !s.app_limited || s.sent.prompt;
    busy = waited && accepted ? busy + 1 : 0;
    answers = std::min(answers + 1, smoothing);
    if (!waited || idle > 0) idle += ((waited ? 0 : 1) - idle) / answers;
    if (busy >= busy_max) rise();
  }

  /// Returns whether the caller, not the pace, is the bottleneck.
  bool is_low() const noexcept { return idle > low; }

  /// Takes a refusal. Returns whether it shows that the caller wants more than its limit: it is not
  /// low any more.
  bool shows_excess() noexcept {
    bool const shown = refused == never && over.refused();
    if (shown) rise();
    return shown;
  }

  /// Takes a refusal. Returns the seconds to wait: the longer nothing was accepted, the longer.
  double pause(time_point now) noexcept {
    refused = std::min(refused, now);
    auto const seconds = std::max(first_pause * closed, pause_growth * to_seconds(now - refused));
    return std::min(seconds, pause_seconds_max);
  }

 private:
  void rise() noexcept {
    busy = 0;
    idle = 0;
  }
};

}  // namespace headway
