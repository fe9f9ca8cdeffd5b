/// The state of a fleet, a value, and the one function that changes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headway/export.hpp"
#include "headway/fleet/report.hpp"
#include "headway/law/seek.hpp"
#include "headway/pacer/gcra.hpp"

namespace headway::fleet {

/// A turn in use: the note on a permit that is out.
struct flight {
  member_id of = 0;             ///< the member
  turn on{};                    ///< the turn
  time_point sent{};            ///< when it went
  int out = 0;                  ///< permits of all, this one included
  std::uint64_t successes = 0;  ///< that had come by then
  friend bool operator==(flight const&, flight const&) = default;
};

/// A member as its last report described it.
struct member_state {
  member_id id = 0;                            ///< its number
  std::uint64_t heard = 0;                     ///< number of its last report
  time_point reported = time_point::min();     ///< when that was made
  bool live = false;                           ///< it reported lately
  bool quick = false;                          ///< it reports ten times a second
  bool active = false;                         ///< it is dealt turns
  time_point quick_until = time_point::min();  ///< it is to report ten times a second until then
  std::int32_t wants = 0;                      ///< turns that it can use
  std::int64_t cost = 1;                       ///< units of one of its requests, about
  std::int32_t out = 0;                        ///< permits, as far as events are heard
  std::int32_t heads = 0;                      ///< of these, the head of the answer has come
  std::int32_t permits = 1;                    ///< it may have out
  ceilings with{};                             ///< of its caller
  duration age{};                              ///< of the news that it hears, at best
  std::vector<turn> planned{};                 ///< dealt, and not known to be used
  friend bool operator==(member_state const&, member_state const&) = default;
};

/// All that the members of a fleet have in common.
///
/// Each version is made from the one before by combine(), and becomes valid only if no other has
/// become so meanwhile. What a version has heard is heard: reports are numbered, so that one that
/// is told twice counts once, and one that no valid version has heard is told again.
struct HEADWAY_EXPORT state {
  /// An event that is not heard yet.
  struct pending_event {
    member_id from = 0;        ///< the member
    event what{};              ///< the event
    bool told = false;         ///< the law has heard it before its time
    std::optional<turn> on{};  ///< of a request that went: its turn
    friend bool operator==(pending_event const&, pending_event const&) = default;
  };

  std::uint64_t version = 0;                ///< the engine's time in µs, or one more than before
  time_point at{};                          ///< when it was made
  seek law{};                               ///< of all
  time_point held = time_point::min();      ///< nothing goes before, as a server asked
  std::optional<std::int64_t> remaining{};  ///< units that a server told, less what was dealt since
  std::uint64_t remaining_as_of = 0;        ///< told by the answer on this turn
  time_point resets = time_point::min();    ///< until then `remaining` is all there is
  std::optional<gcra> ceiling{};            ///< the smallest that a live member brought
  std::uint64_t charged_from = 0;           ///< the first turn that this ceiling paid for
  std::int32_t out_max = 0;                 ///< the smallest of permits; 0: none
  bool recalled = false;                 ///< members were told to drop turns that are still valid
  std::int32_t live = 0;                 ///< members that reported lately
  std::int32_t sharing = 0;              ///< of these, that want turns
  duration way{};                        ///< to the board and back, of the farthest that wants
  std::vector<member_state> members{};   ///< by id
  std::vector<pending_event> pending{};  ///< by time
  std::vector<flight> flights{};         ///< by the number of the turn
  std::uint64_t dealt = 0;               ///< number of the last turn
  member_id last = 0;                    ///< the member that was dealt one last
  member_id front = 0;                   ///< the first active one in the ring
  time_point term{};                     ///< its begin
  std::optional<time_point> began{};     ///< the first turn of all
  friend bool operator==(state const&, state const&) = default;
};

static constexpr duration tick = 100ms;              ///< between two reports of an active member
static constexpr duration rest = 2s;                 ///< … and of one that rests
static constexpr duration ahead = 250ms;             ///< turns are dealt until then, …
static constexpr duration ahead_most = 2s;           ///< … and until then where the board is far
static constexpr duration lease = ahead;             ///< of the combiner: as long as its turns last
static constexpr duration late_max = 25ms;           ///< a turn may be used
static constexpr duration late_slots = 300ms;        ///< the same, where permits bind
static constexpr duration near_turn = 120ms;         ///< a turn sooner than this is told at once
static constexpr duration term_of_ring = 2s;         ///< a member is active, if others wait, …
static constexpr duration term_of_slots = 4s;        ///< … and where permits bind
static constexpr std::size_t events_max = 20'000;    ///< kept, of all members
static constexpr std::size_t turns_max = 20'000;     ///< dealt in one go
static constexpr duration hold_max = 24h;            ///< that is believed
static constexpr std::int64_t cost_max = 1'000'000;  ///< units of a request
static constexpr std::int32_t wants_max = 10'000;    ///< turns, and permits of a member

/// Returns a law with the settings of `law` that begins with what that has learned: for a board
/// that has lost its state.
HEADWAY_EXPORT seek begun_anew(seek const& law);

/// Returns the next state: hears the reports, in order of time and each once, and deals turns to
/// the members that want some. Without a state before it, one that has learned nothing.
///
/// Answers are heard up to the watermark, the last report of the member that has something out and
/// has been silent longest, since the law tells a queue by the times between answers; refusals are
/// heard at once. A cut takes back the turns that nothing is known to have gone on. Of a state that
/// was made in the future, by a clock that went back, only what its law has learned is believed.
/// O(members + events × log(members + events)), and O(members + events) more for each of the
/// refusals that are heard before their time, 64 at most.
HEADWAY_EXPORT state combine(state before, std::span<report const> reports, time_point now);

/// Returns by how much later than from a near board news may come from one that is so far away.
constexpr duration delay_of(duration way) noexcept {
  return std::min(4 * way, ahead_most - ahead);
}

/// Returns for how long a member is active, if others wait.
constexpr duration term_of(state const& s) noexcept {
  return s.law.top.slots ? term_of_slots : term_of_ring;
}

/// Returns what a member may know of the state.
HEADWAY_EXPORT grant grant_of(state const& s, member_id to);

/// Returns the members that would not hear in time by their own reports: of a turn that comes soon,
/// of a permit, of a cut, or that their term is next.
HEADWAY_EXPORT std::vector<member_id> to_wake(state const& s, state const& before, time_point now);

}  // namespace headway::fleet
