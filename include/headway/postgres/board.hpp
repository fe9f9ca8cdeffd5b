/// One limit for the processes of many hosts, kept in PostgreSQL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headway/driver/entropy.hpp"
#include "headway/export.hpp"
#include "headway/fleet/place.hpp"
#include "headway/postgres/connection.hpp"

namespace headway::postgres {

/// A host's place at the board of a fleet: one connection and one thread, which reports for all its
/// paces each 100 ms, hears of their turns in the same round trip, and combines when its turn has
/// come. Cuts of others arrive by notification.
///
/// While the database is away its paces coast, and it connects again. Its thread takes no signal.
/// Threads: safe.
class HEADWAY_EXPORT board final : public fleet::place {
 public:
  /// The words of a host about itself, and its ear.
  struct settings {
    std::string name;                ///< for people: the host
    std::string version;             ///< of the program
    std::function<void()> news{};    ///< called by its thread when one of its paces may know a turn
    std::uint64_t seed = entropy();  ///< of chance: when it connects again
  };

  /// Connects, and makes the schema where there is none. Throws `error`.
  board(endpoint where, settings s);
  /// Leaves, so that the others have its share at once; takes half a second at most.
  ~board() override;

  /// Joins as `place` has it. The pace may outlive the board: it coasts then.
  std::shared_ptr<fleet::hosted_pace> join(std::string_view key, std::string title,
                                           any_law const& begins,
                                           fleet::ceilings const& with = {}) override;

 private:
  struct office;
  std::unique_ptr<office> office_;
};

}  // namespace headway::postgres
