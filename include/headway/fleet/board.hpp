/// The engine's part of a fleet: it keeps the state that is valid, and the reports that it has not
/// heard. This one keeps them in memory, for simulations and tests; a database does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
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

  static constexpr std::size_t reports_max = 100;  ///< of a member, not heard: of ten seconds

  /// Takes a report, unless it is here already; drops the oldest beyond `reports_max`, and notes on
  /// the next one that it was lost. `now` is the engine's time.
  reply exchange(time_point now, report const& r);
  /// Returns what a combiner needs.
  collected collect() const;
  /// Makes `next` the valid state, if it was made of the valid one, and drops the reports that it
  /// has heard, and the boxes of those it has forgotten. Returns whether it did.
  bool publish(time_point now, member_id by, std::uint64_t made_of, state next);
  /// Returns the number of members that it keeps something of.
  std::size_t size() const noexcept { return boxes_.size(); }
  /// Returns the valid state.
  state const& valid() const noexcept { return valid_; }

 private:
  struct box {
    std::uint64_t told = 0;
    std::deque<report> unheard{};
  };

  state valid_{};
  std::map<member_id, box> boxes_;
  member_id combiner_ = 0;
  time_point lease_ = time_point::min();
};

}  // namespace headway::fleet
