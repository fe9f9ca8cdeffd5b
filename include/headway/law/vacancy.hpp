#pragma once

#include <algorithm>
#include <cstdint>

#include "headway/time.hpp"

namespace headway {

/// Tells slots from a rate by an experiment: once some slots would be vacant, a row of requests
/// goes at once. Slots take them all; a rate refuses those that it has not saved.
///
/// Nothing goes before that. Where refusals come soon, one request goes ahead of the row: a server
/// that has shut refuses that one, and the row is spared. What is not refused in twice the time of
/// a refusal was accepted.
///
/// Units: seconds where not typed. Threads: a value. Source: scenarios/no-burst-180.toml;
/// design/003, "Slots or a rate".
struct vacancy {
  double slots = 0;          ///< that are suspected; 0: nothing is asked
  double refusal = 0;        ///< the time of one
  int row = 0;               ///< requests of the whole experiment
  int unsent = 0;            ///< of them, that go before anything else
  std::uint64_t first = 0;   ///< stamp of its first send
  std::uint64_t beyond = 0;  ///< stamp of the first send after it, as far as it has gone
  int flight = 0;            ///< requests that went after the refused one, until that was heard
  time_point due = never;    ///< what was sent and is not refused by then was accepted
  friend bool operator==(vacancy const&, vacancy const&) = default;

  static constexpr double share = 0.75;  ///< of the slots, at most, are to be vacant
  static constexpr int margin = 3;       ///< slots more are to be vacant: their number is a guess
  static constexpr int row_max = 8;      ///< a rate that saves more loses little as slots
  static constexpr double slow = 4;      ///< times the way from the server, an answer: else all are
  static constexpr double soon = 0.125;  ///< of an answer's time: a refusal comes soon
  static constexpr double patience = 2;  ///< times a refusal: no other comes any more …
  static constexpr int flight_min = 8;   ///< of which a limit far below refuses more than …
  static constexpr int flight_one = 16;  ///< … one of so many
  static constexpr double late = 0.001;  ///< … and so much later

  /// Returns how many requests were at the server when it refused one, which took `took` to be
  /// heard, where an answer takes `answer`; `out` permits were out when it went, and `answered`
  /// were answered since. Of those out, some had left the server by then, and some had not reached
  /// it.
  static double at_server(int out, std::uint64_t answered, double took, double answer) noexcept {
    auto const way = took / 2;
    auto const besides = out - 1.0;
    if (answer <= slow * way) return besides;
    return (besides - static_cast<double>(answered) / 2) * answer / (answer - way);
  }

  /// Asks whether there are so many slots, more than a few, after a refusal that took `took`, where
  /// an answer takes `answer`. `stamp` is that of the next send; `after` went after the refused
  /// one.
  void ask(double suspected, double took, double answer, std::uint64_t stamp, int after) noexcept {
    auto const all = std::min(static_cast<int>(share * suspected) - 1, row_max);
    *this = {suspected, took, all, took < soon * answer ? 1 : all, stamp, stamp, after};
  }

  /// Returns how many of the row have not gone yet.
  int left() const noexcept { return row - static_cast<int>(beyond - first); }

  /// Returns whether enough slots are vacant for all that is left, while `out` permits are out.
  bool may_send(int out) const noexcept { return unsent > 0 && out + left() + margin <= slots; }

  /// Takes a send of it. Returns whether that was the last for now.
  bool sent(time_point now) noexcept {
    ++beyond;
    due = later(now, from_seconds(patience * refusal + late));
    return --unsent == 0;
  }

  /// Takes a refusal of the send of that stamp. Returns whether it tells of a rate: it was the
  /// row's, and not of the one ahead.
  bool refused(std::uint64_t stamp) noexcept {
    if (stamp < first || stamp >= beyond) return false;
    slots = unsent = 0;
    return beyond > first + 1;
  }

  /// Returns whether hardly any of what went after the refused one is among so many refused since:
  /// a ramp that has met slots goes on until that is heard.
  bool none_but_one(int rejects) const noexcept {
    return flight >= flight_min && rejects * flight_one <= flight;
  }

  /// Takes the time. Returns whether all were accepted; what is left may follow.
  bool passed(time_point now) noexcept {
    if (slots == 0 || unsent > 0 || now < due) return false;
    unsent = left();
    return unsent == 0;
  }
};

}  // namespace headway
