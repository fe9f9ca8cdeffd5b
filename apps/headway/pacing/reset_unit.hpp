/// The unit of a told reset: seconds, or milliseconds where its own falling shows that.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "headway/http/advice.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// Compares how fast the resets of one scope fall with the time between its answers. A reset that
/// is read as seconds, though it is told in milliseconds, falls a thousand times too fast; three
/// times in a row show it. A value that falls otherwise ends the belief; so do, for good, refusals
/// of what was sent after a wait that this made shorter, three waits in a row. Threads: a value.
class reset_unit {
 public:
  /// An answer tells these.
  void look(time_point now, std::span<http::quota const>);
  /// A request that was sent then was accepted or refused.
  void ended(time_point sent, bool refused);

  /// Whether these resets are told in milliseconds.
  bool in_ms(http::quota const&) const noexcept;
  bool any_in_ms() const noexcept {
    return std::ranges::any_of(known_, [](auto const& k) { return k.in_ms(); });
  }
  /// Returns the time to the reset, in the unit that it has.
  duration reset_of(http::quota const& q) const noexcept {
    constexpr duration rounded = std::chrono::milliseconds(1);  // down, by a server
    auto const told = q.reset.value_or(duration::zero());
    return in_ms(q) ? told / 1000 + rounded : told;
  }

 private:
  static constexpr std::size_t names_max = 16;
  static constexpr int shown_by = 3, disproved_by = 3;

  struct known {
    std::string name;
    time_point at{};                      // an answer …
    duration reset{};                     // … that told this
    int fell = 0;                         // since then as milliseconds do
    time_point back = time_point::max();  // when all was there again, by the latest told
    int refused = 0;                      // such waits in a row that were too short

    bool in_ms() const noexcept { return fell >= shown_by && refused < disproved_by; }
  };
  known const* find(std::string const& name) const noexcept;

  std::vector<known> known_{};
};

}  // namespace headway::app
