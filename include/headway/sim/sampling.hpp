/// Distributions, drawn from one fraction by inversion: one draw each
///
/// The C library's log and exp, and the standard's distributions, differ between compilers and
/// libraries. These use + - × ÷ and sqrt only, in one order: the same bits everywhere.
#pragma once

#include <variant>
#include <vector>

#include "headway/export.hpp"
#include "headway/random.hpp"
#include "headway/time.hpp"

namespace headway::sim {

/// Returns the natural logarithm, to 5e-16 relative. Requires: x is positive and normal.
HEADWAY_EXPORT double ln(double x) noexcept;

/// Returns e^x, to 3e-16 relative. Requires: |x| < 700.
HEADWAY_EXPORT double exp(double x) noexcept;

/// Returns the standard normal quantile of `u`, to 1e-15 relative; within ±8.21.
/// Source: Wichura 1988, "AS 241: the percentage points of the normal distribution", PPND16.
HEADWAY_EXPORT double normal(fraction u) noexcept;

/// Returns a lognormal draw of mean 1 and coefficient of variation `cv` >= 0. Its median is
/// 1 / √(1 + cv²).
HEADWAY_EXPORT double lognormal_share(double cv, fraction u) noexcept;

/// Uniform over [min, max).
struct spread {
  duration min{};      ///< least
  duration max = min;  ///< never reached

  duration draw(fraction u) const noexcept { return min + scale(max - min, u); }
  friend bool operator==(spread const&, spread const&) = default;
};

/// The memoryless distribution.
struct HEADWAY_EXPORT exponential {
  duration mean{};  ///< of it

  duration draw(fraction u) const noexcept;
  friend bool operator==(exponential const&, exponential const&) = default;
};

/// A long tail; `cv` is the standard deviation divided by the mean.
struct HEADWAY_EXPORT lognormal {
  duration mean{};  ///< of it
  double cv = 1;    ///< coefficient of variation

  duration draw(fraction u) const noexcept;
  friend bool operator==(lognormal const&, lognormal const&) = default;
};

/// Several distributions, each as often as its weight says. Requires: a part; weights >= 0, one
/// above.
struct HEADWAY_EXPORT mixture {
  /// One of them.
  struct part {
    double weight = 1;                                  ///< relative to the others
    std::variant<spread, exponential, lognormal> of{};  ///< what it draws from
    friend bool operator==(part const&, part const&) = default;
  };
  std::vector<part> parts{};  ///< at least one

  duration draw(fraction u) const noexcept;
  friend bool operator==(mixture const&, mixture const&) = default;
};

/// Any distribution of durations.
class distribution {
 public:
  /// Makes one that is always the same.
  distribution(duration always = {}) : distribution(spread{always}) {}
  /// Makes a uniform one over [min, max).
  distribution(duration min, duration max) : distribution(spread{min, max}) {}
  /// Makes it of a spread.
  distribution(spread d) : of_(d) {}
  /// Makes it of an exponential.
  distribution(exponential d) : of_(d) {}
  /// Makes it of a lognormal.
  distribution(lognormal d) : of_(d) {}
  /// Makes it of a mixture.
  distribution(mixture d) : of_(std::move(d)) {}

  duration draw(fraction u) const noexcept {
    return std::visit([u](auto const& d) { return d.draw(u); }, of_);
  }
  friend bool operator==(distribution const&, distribution const&) = default;

 private:
  std::variant<spread, exponential, lognormal, mixture> of_;
};

}  // namespace headway::sim
