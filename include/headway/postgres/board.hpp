/// One limit for the processes of many hosts, kept in PostgreSQL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headway/export.hpp"
#include "headway/fleet/member.hpp"
#include "headway/governor.hpp"
#include "headway/postgres/connection.hpp"
#include "headway/shared/pace.hpp"

namespace headway::postgres {

/// A fleet as one of its members knows it.
struct fleet_standing {
  int members = 0;       ///< of the scope, this one included
  int unheard = 0;       ///< that went silent lately: cut off, perhaps, and coasting
  double pace = 0;       ///< of all, units per second
  double share = 0;      ///< of that, this member's
  bool waits = false;    ///< it has heard of no turn yet
  bool coasts = false;   ///< it paces by itself, since nothing is heard
  bool combines = false; ///< it makes the states that the others hear of
  std::optional<time_point> away{};  ///< since then the database does not answer, by steady_now()

  /// Returns by how much those that are unheard may exceed the limit, as a share of it: they go on
  /// at what was theirs, which the others have now.
  double excess() const noexcept {
    return unheard > 0 ? static_cast<double>(unheard) / (members + unheard) : 0;
  }
};

/// A pace that hosts share, and what is known of them.
class HEADWAY_EXPORT fleet_pace : public pace {
 public:
  ~fleet_pace() override;
  /// Returns what it knows of the fleet.
  virtual fleet_standing standing() const = 0;
  /// Sets what this member's user allows, in place of what was set before.
  virtual void limit(fleet::ceilings const& with) = 0;
};

/// A host's place at the board of a fleet: one connection and one thread, which reports for all its
/// paces each 100 ms, hears of their turns in the same round trip, and combines when its turn has
/// come. Cuts of others arrive by notification.
///
/// While the database is away its paces coast, and it connects again. Its thread takes no signal.
/// Threads: safe.
class HEADWAY_EXPORT board {
 public:
  /// What a host says of itself, and wants to hear.
  struct settings {
    std::string name;     ///< for people: the host
    std::string version;  ///< of the program
    duration patience = governor_settings().hint_max;  ///< a longer hold by others is not believed
    std::function<void()> news{};  ///< called by its thread when one of its paces may know a turn
  };

  /// Connects, and makes the schema where there is none. Throws `error`.
  board(endpoint where, settings s);
  board(board const&) = delete;
  board& operator=(board const&) = delete;
  /// Leaves, so that the others have its share at once; takes half a second at most.
  ~board();

  /// Joins those that share `key`, which may name anything: a host, a credential. Only a salted
  /// digest of it leaves this process; `title` is what people are shown. A law that is no `seek` is
  /// none that hosts can share: null. It leaves when the pace is destroyed, and outlives the board.
  std::shared_ptr<fleet_pace> join(std::string_view key, std::string title, any_law const& begins,
                                   fleet::ceilings const& with = {});

 private:
  struct office;
  std::unique_ptr<office> office_;
};

}  // namespace headway::postgres
