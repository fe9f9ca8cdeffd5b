/// How a request ends, and how safely that is kept.
#pragma once

#include <cstdint>
#include <string_view>

namespace headway::app {

/// What a commit survives. `process`: any death of the process. `power`: also a power cut or a
/// crash of the machine.
enum class durability : std::uint8_t { process, power };

/// How a request ended for good. `unknown`: it was sent, and whether it was carried out cannot be
/// told.
enum class final_outcome : std::uint8_t { success = 1, failed = 2, unknown = 3 };
/// How many ended in each way.
struct outcome_counts {
  std::int64_t success = 0, failed = 0, unknown = 0;

  std::int64_t& of(final_outcome how) noexcept {
    return how == final_outcome::success  ? success
           : how == final_outcome::failed ? failed
                                          : unknown;
  }
  std::int64_t lost() const noexcept { return failed + unknown; }
  std::int64_t sum() const noexcept { return success + failed + unknown; }
  outcome_counts& operator+=(outcome_counts const& o) noexcept {
    success += o.success, failed += o.failed, unknown += o.unknown;
    return *this;
  }
  friend outcome_counts operator-(outcome_counts const& a, outcome_counts const& b) noexcept {
    return {a.success - b.success, a.failed - b.failed, a.unknown - b.unknown};
  }
};
/// Returns its name, as results have it.
std::string_view to_string(final_outcome) noexcept;

}  // namespace headway::app
