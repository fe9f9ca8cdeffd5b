/// The common state of the members of a pace, a value: pure, told the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "headway/export.hpp"
#include "headway/law/any.hpp"

namespace headway {

/// One law, one hold, and the members that act on them.
///
/// Of the members that wait, the one served least recently goes first: each other one defers to it
/// for a moment, in all never longer than the law forgives a late request. A member that waits and
/// has not looked for a second is absent, stopped by a signal: its permits are no longer counted,
/// since it cannot say that its answers have come.
struct HEADWAY_EXPORT common_pace {
  static constexpr int members_max = 32;  ///< processes that share one pace

  /// A process, as it described itself when it looked last.
  struct member {
    bool here = false;                      ///< the slot is taken
    bool waits = false;                     ///< for the law to give a turn
    std::int32_t out = 0;                   ///< permits
    time_point took = time_point::min();    ///< its last turn
    time_point looked = time_point::min();  ///< its last look at all others
    friend bool operator==(member const&, member const&) = default;
  };

  any_law law{};                              ///< of all
  time_point held = time_point::min();        ///< nothing goes before, as a server asked
  std::array<member, members_max> members{};  ///< by slot

  /// Returns a member by its slot.
  member& of(int me) noexcept { return members[static_cast<std::size_t>(me)]; }
  /// Returns a member by its slot.
  member const& of(int me) const noexcept { return members[static_cast<std::size_t>(me)]; }

  /// Returns whether that member waits, and has not looked for a while.
  bool absent(int whose, time_point now) const noexcept;
  /// Returns the permits that other members than `me` have out. O(members).
  int others_out(int me, time_point now) const noexcept;
  /// Returns how long `me` lets others go first. O(members).
  duration deference(int me, time_point now) const noexcept;
  /// Returns the number of members. O(members).
  int size() const noexcept;
  /// Returns the last act of another member than `me`, by its clock. O(members).
  time_point others_acted(int me) const noexcept;
  /// Returns whether the next turn is as near as its pace and the patience of a reader allow.
  bool near(time_point now, duration patience) const noexcept;
};
static_assert(std::is_trivially_copyable_v<common_pace>);  // it is copied by its bytes

}  // namespace headway
