#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "headway/random.hpp"
#include "headway/time.hpp"

namespace headway {

/// Keeps departures at places that come again each period, where others share a limit that has no
/// burst.
///
/// Such a limit refuses what comes too soon after another client's request, whatever the rate:
/// clients that go out of step use no more of it than the share that they are refused. Periods that
/// are all powers of two (of a nanosecond) stay in step: two clients that have missed each other
/// once always do, at these paces. So each keeps its place while it is accepted there, and seeks
/// another by chance where it was refused.
///
/// Pairs of requests that go at once show that there is no burst: of each the server accepts one.
/// Pairs a part of a turn apart show others: a limit of one's own refuses them, too.
///
/// Threads: a value. Source: reservation ALOHA (Crowther and others, A System for Broadcast
/// Communication, 1973); scenarios/crowds/noburst-8.toml; design/017, "Without burst".
struct timetable {
  time_point place{};    ///< a departure
  int halved = 0;        ///< pairs of which one passed, since one passed whole; at most `enough`
  int room = 0;          ///< spaced pairs that passed whole, in a row; below 0: that did not
  int due = 0;           ///< times that a pair could go, until one does
  int moves = 0;         ///< to other places, since the latest cut
  int lapses = 0;        ///< pairs in a row of which the second went late
  bool others = false;   ///< spaced pairs have shown them
  bool spaced = false;   ///< the next pair goes a part of a turn apart
  bool lapsed = false;   ///< the second of the latest pair went late
  bool second = false;   ///< … was accepted
  bool doubted = false;  ///< a ceiling may be a crowd's: pairs go without a crowd, too
  friend bool operator==(timetable const&, timetable const&) = default;

  static constexpr std::uint64_t apart = 4;   ///< successes from one time that a pair could go …
  static constexpr int misses = 7;            ///< after so many in a row pairs go rarely, too
  static constexpr int rarely = 1 << misses;  ///< … and such times, once pairs have told
  static constexpr int enough = 3;            ///< pairs that were halved …
  static constexpr int enough_apart = 2;      ///< … and that passed, apart
  static constexpr int alone = 6;  ///< that did not, once they had; a place halves some of a crowd
  static constexpr duration at_once{1'000'000};  ///< two that go further apart tell nothing
  static constexpr std::uint64_t lost = 64;  ///< sends after a pair that is not heard: it is lost
  static constexpr double saving = 8;        ///< turns in which a limit of one's own saves for one
  static constexpr int moves_max = 8;        ///< more in vain: the server is shut
  static constexpr duration longest{1LL << 42};  ///< over an hour; a longer interval has no place

  /// Returns whether a pair is to go now, and counts that one could.
  bool asks() noexcept { return (due = std::max(due - 1, 0)) == 0; }
  /// Takes a pair that is heard, of which so many were accepted.
  void heard(int accepted) noexcept {
    if (std::exchange(lapsed, false)) {
      lapses = std::min(lapses + 1, misses);
      due = 1 << lapses;
      return;
    }
    lapses = 0;
    bool const both = accepted == 2;
    if (spaced)
      hear_apart(both, others ? accepted == 1 && !second : !both);
    else
      hear_at_once(accepted);
    due = others || (both && !bare()) ? rarely : 1 << std::max(-room, 0);
    spaced = bare() && !(others && spaced);
  }
  /// Takes a cut. What has hardly been served asks anew: others may have held it down.
  void cut(bool hardly_served) noexcept {
    moves = 0;
    if (hardly_served && room < 0) room = due = 0;
  }
  /// Returns whether the limit has no burst.
  bool bare() const noexcept { return halved == enough; }
  /// Returns whether it is shared, too.
  bool shared() const noexcept { return bare() && others; }

  /// Returns the next departure, half a period or more from now. A period is `interval` or longer,
  /// but less than twice as long.
  time_point after(time_point now, duration interval) const noexcept {
    if (interval > longest) return later(now, interval);
    auto const period = std::bit_ceil(static_cast<std::uint64_t>(interval.count()));
    auto const since = count(now) - count(place);
    auto left = period - (since & (period - 1));
    if (left < period / 2) left += period;
    return later(now, duration(static_cast<std::int64_t>(left)));
  }
  /// Seeks another place, by chance.
  void move(time_point now, fraction u) noexcept {
    moves = std::min(moves + 1, moves_max);
    place = later(now, from_nanoseconds(unit(u) * static_cast<double>(longest.count())));
  }

 private:
  void hear_at_once(int accepted) noexcept {
    bool const both = accepted == 2;
    doubted = doubted && !both;
    halved = both ? 0 : std::min(halved + accepted, enough);
    if (both) room = 0;
    others = !both && (others || (bare() && doubted));
  }
  /// A limit of one's own accepts the first and refuses the second; others may refuse either.
  void hear_apart(bool both, bool own) noexcept {
    doubted = doubted && !own;
    if (both) room = others ? 0 : std::max(room, 0) + 1;
    if (own) room = std::max(std::min(room, 0) - 1, -misses);
    if (others ? room != -alone : room != enough_apart) return;
    others = !others;
    room = 0;
  }
  static std::uint64_t count(time_point t) noexcept {
    return static_cast<std::uint64_t>(t.time_since_epoch().count());
  }
};

}  // namespace headway
