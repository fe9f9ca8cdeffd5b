#pragma once

namespace headway {

/// Returns how many times likelier it is that so many of the answers heard fail if a share
/// `by_this` of all does than if `by_that` does. Requires: 0 < by_that < 1.
///
/// Complexity: O(heard). Source: Wald, Sequential Tests of Statistical Hypotheses, 1945.
constexpr double likelihood_ratio(int heard, int fail, double by_this, double by_that) noexcept {
  double ratio = 1;
  for (int i = 0; i < heard; ++i)
    ratio *= i < fail ? by_this / by_that : (1 - by_this) / (1 - by_that);
  return ratio;
}

}  // namespace headway
