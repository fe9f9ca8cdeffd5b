/// What a request costs of a quota, learned from what others cost.
#pragma once

#include <array>
#include <cstddef>

#include "provider/quota_units.hpp"

namespace headway::app {

/// A line through the last costs by size (least squares, neither slope nor constant below zero),
/// raised so far that nine of ten of them stay below it.
///
/// Before anything is known it is `per_byte`, the provider's rule of thumb. Threads: a value.
class cost_model {
 public:
  explicit cost_model(double per_byte = 0) noexcept : slope_(per_byte) {}
  /// As another one of the same server's ended.
  explicit cost_model(cost_line const& line) noexcept
      : slope_(line.per_byte), constant_(line.constant) {}

  /// Ignores what makes no sense. O(costs kept).
  void learn(double bytes, double units) noexcept;
  double estimate(double bytes) const noexcept { return raise_ * (slope_ * bytes + constant_); }
  /// What estimate() goes by.
  cost_line line() const noexcept { return {raise_ * slope_, raise_ * constant_}; }
  bool learned() const noexcept { return seen_ > 0; }
  /// Whether estimate() means anything.
  bool known() const noexcept { return learned() || slope_ > 0 || constant_ > 0; }

 private:
  static constexpr std::size_t kept_max = 64;
  static constexpr std::size_t few = 8;
  static constexpr double raise_of_few = 1.25;

  struct cost {
    double bytes = 0, units = 0;
  };
  std::size_t kept() const noexcept { return seen_ < kept_max ? seen_ : kept_max; }
  void fit() noexcept;

  double slope_;
  double constant_ = 0;
  double raise_ = 1;
  std::array<cost, kept_max> last_{};
  std::size_t seen_ = 0;
};

}  // namespace headway::app
