#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "headway/time.hpp"

namespace headway::sim {

/// Counts durations in buckets of at most 1.6 % of their value. Fixed memory, O(1) to add, integers
/// only. Source: HdrHistogram's layout, 64 linear steps in each power of two.
class histogram {
 public:
  /// Adds a duration; a negative one counts as zero.
  void add(duration d) noexcept {
    ++counts_[bucket(d.count() < 0 ? 0 : static_cast<std::uint64_t>(d.count()))];
    ++total_;
  }

  /// Returns the least duration that at least `share` of those added do not exceed, rounded down to
  /// its bucket; zero if empty.
  duration quantile(double share) const noexcept {
    auto const wanted = static_cast<double>(total_) * share;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (counts_[i] > 0 && static_cast<double>(seen) >= wanted)
        return duration(static_cast<std::int64_t>(lowest(i)));
    }
    return {};
  }

 private:
  static constexpr unsigned step_bits = 6;

  static std::size_t bucket(std::uint64_t v) noexcept {
    auto const power = static_cast<unsigned>(std::bit_width(v));
    if (power <= step_bits + 1) return static_cast<std::size_t>(v);
    auto const shift = power - step_bits - 1;
    return (std::size_t{shift} << step_bits) + static_cast<std::size_t>(v >> shift);
  }
  static std::uint64_t lowest(std::size_t i) noexcept {
    if (i < (2U << step_bits)) return i;
    auto const shift = (i >> step_bits) - 1;
    return (i - (shift << step_bits)) << shift;
  }

  std::array<std::uint32_t, (64 - step_bits + 1) << step_bits> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace headway::sim
