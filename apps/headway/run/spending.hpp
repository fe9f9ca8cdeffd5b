/// What a run spends of named quotas, beside what it may: --spend-max.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "provider/quota_units.hpp"

namespace headway::app {

/// A request costs what its answer says, else what the caller said, and until then what those
/// before it did on average. Threads: distinct objects safe.
class spending {
 public:
  /// `most` of each quota, none of them twice.
  explicit spending(std::span<quota_units const> most);

  /// There is no limit: any cost will do.
  bool empty() const noexcept { return all_.empty(); }

  /// A request was served; `given`: its costs by the caller, `told`: by its answer. Why nothing
  /// more can go, a sentence: one more would be too much, or nobody says what it costs; "" if
  /// neither.
  std::string charge(std::span<quota_units const> given, std::span<settled_cost const> told);

  /// Whether one more can go beside the `out` that have no answer yet. The first flies alone.
  bool room_beside(std::int64_t out) const noexcept;

 private:
  struct spent {
    quota_units most;
    double units = 0;
    double answers = 0;

    /// Whether `more` requests would be too much.
    bool passed_by(double more) const noexcept {
      return units + more * units / answers > most.units;
    }
  };
  std::vector<spent> all_;
};

}  // namespace headway::app
