/// The engine's part of a fleet: it keeps the state that is valid, and the reports that it has not
/// heard. This one keeps them in memory, for simulations and tests; a database does the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "headway/export.hpp"
#include "headway/fleet/combine.hpp"

namespace headway::fleet {

/// The board where members leave reports and find turns. The member that has the lease combines;
/// but what keeps two of them apart is the version, not the lease. Threads: one at a time.
class HEADWAY_EXPORT board {
 public:
  /// The answer to a report.
  struct reply {
    grant granted{};         ///< of the valid state
    std::uint64_t told = 0;  ///< the number of the member's last report that is here
    bool combine = false;    ///< the lease is this member's, or has run out
    bool fresh = false;      ///< the report was not here before
    friend bool operator==(reply const&, reply const&) = default;
  };

  /// The state that is valid, and all reports that it has not heard.
  struct collected {
    state valid{};                  ///< as it was published last
    std::vector<report> reports{};  ///< since then, by member and number
    friend bool operator==(collected const&, collected const&) = default;
  };

  /// Starts with what a law knows.
  explicit board(seek const& begins = {}) { valid_.law = begins; }

  /// Takes a report, unless it is here already. `now` is the engine's time.
  reply exchange(time_point now, report const& r);
  /// Returns what a combiner needs.
  collected collect() const;
  /// Makes `next` the valid state, if it was made of the valid one, and drops the reports that it
  /// has heard. Returns whether it did.
  bool publish(time_point now, member_id by, std::uint64_t made_of, state next);
  /// Returns the valid state.
  state const& valid() const noexcept { return valid_; }

 private:
  struct box {
    std::uint64_t told = 0;
    std::vector<report> unheard{};
  };

  state valid_{};
  std::map<member_id, box> boxes_;
  member_id combiner_ = 0;
  time_point lease_ = time_point::min();
};

}  // namespace headway::fleet
