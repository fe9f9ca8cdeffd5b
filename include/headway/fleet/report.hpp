/// The words between a member of a fleet and its combiner: turns, what became of them, reports.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "headway/law/seek.hpp"
#include "headway/outcome.hpp"
#include "headway/time.hpp"

/// One limit for the processes of many hosts: one law, and turns that are dealt ahead of time.
///
/// Pure: no clock, no chance, no I/O. Times are those of the engine that keeps the state.
namespace headway::fleet {

/// The number of a member; a process that joins anew gets another one.
using member_id = std::int32_t;

/// A turn: one request may go at an instant, or a little later.
struct turn {
  std::uint64_t number = 0;  ///< ascending, of all members; none is used again
  time_point at{};           ///< not before this
  std::int64_t cost = 1;     ///< units that the law has spent for it
  std::uint64_t epoch = 0;   ///< as on the law's stamp; so all that follow
  std::uint64_t sends = 0;   ///< before this one
  bool paced = false;        ///< the law's pace made it wait
  bool prompt = false;       ///< it followed an answer at once
  bool withdrawn = false;    ///< a cut or a hold took it back; it may have been used meanwhile
  friend bool operator==(turn const&, turn const&) = default;
};

/// An act of a member, or an answer to it.
struct event {
  /// Kinds of events.
  enum class kind : std::uint8_t {
    sent,      ///< a request went on a turn
    paid,      ///< a turn was not used, since a request before it cost more than its turn
    success,   ///< it was served
    throttle,  ///< it was refused
    failure,   ///< it broke
    out,       ///< permits came back for another reason
  };
  kind what = kind::out;                    ///< of the six
  resource short_of = resource::unknown;    ///< of a refusal
  bool app_limited = false;                 ///< as on a sample
  bool capped = false;                      ///< as on a sample
  bool idle = false;                        ///< nothing waited
  std::int32_t out = 0;                     ///< permits of this member, as on a sample; sent: after
  std::int32_t heard = 0;                   ///< of these, the head of the answer has come
  std::uint64_t turn = 0;                   ///< its number; 0: it went on none
  time_point at{};                          ///< when
  std::int64_t cost = 1;                    ///< units
  std::optional<std::int64_t> remaining{};  ///< that the answer told
  std::optional<duration> reset{};          ///< the same
  friend bool operator==(event const&, event const&) = default;
};

/// Settings of a caller, which become those of the fleet.
struct ceilings {
  duration interval{};       ///< between two units; 0: none
  duration tolerance{};      ///< by how much a unit may be early
  std::int32_t out_max = 0;  ///< permits; 0: none
  friend bool operator==(ceilings const&, ceilings const&) = default;
};

/// All that a member tells at once. Repeated under its number until it is known to be heard.
struct report {
  member_id from = 0;                      ///< the member
  std::uint64_t number = 0;                ///< ascending, from 1
  time_point at{};                         ///< what happened until then is told
  std::vector<event> events{};             ///< in order of time
  std::int32_t wants = 0;                  ///< turns that it can use in the next quarter second
  std::int64_t cost = 1;                   ///< of a request, about
  bool quick = false;                      ///< it reports ten times a second
  bool leaves = false;                     ///< it goes; what it has out comes back unheard
  std::optional<std::uint64_t> refused{};  ///< since the last report, in this epoch
  time_point held = time_point::min();     ///< nothing goes before, as a server said
  bool lost = false;                       ///< what it noted before these events was lost
  ceilings with{};                         ///< of its caller
  duration age{};                          ///< of the news that it hears, at best
  friend bool operator==(report const&, report const&) = default;
};

/// The part of the valid state that a member hears.
struct grant {
  std::uint64_t version = 0;            ///< of the state; 0: there is none yet
  time_point at{};                      ///< when that was made
  std::vector<turn> turns{};            ///< its own, in order of time; they replace what it has
  std::int32_t permits = 1;             ///< it may have out
  bool quick = false;                   ///< it is to report ten times a second
  bool slots = false;                   ///< permits bind, and turns may be used later
  std::int32_t members = 0;             ///< that are there
  std::int32_t sharing = 1;             ///< of these, that want turns
  double pace = 0;                      ///< of all, units per second
  std::uint64_t epoch = 0;              ///< of the law
  time_point held = time_point::min();  ///< nothing goes before
  std::optional<seek> law{};            ///< of all; none where another build has made the state
  friend bool operator==(grant const&, grant const&) = default;
};

}  // namespace headway::fleet
