#pragma once

#include <variant>

#include "headway/backoff/constant.hpp"
#include "headway/backoff/decorrelated_jitter.hpp"
#include "headway/backoff/equal_jitter.hpp"
#include "headway/backoff/exponential.hpp"
#include "headway/backoff/full_jitter.hpp"
#include "headway/backoff/linear.hpp"
#include "headway/backoff/proportional_jitter.hpp"

namespace headway {

/// Any shipped backoff, chosen at run time. A value.
struct any_backoff {
  std::variant<full_jitter, equal_jitter, decorrelated_jitter, exponential_backoff, linear_backoff,
               constant_backoff, proportional_jitter<exponential_backoff>>
      choice{};  ///< in use

  duration delay(int attempt, duration previous, fraction u) const noexcept {
    return std::visit([&](auto const& b) { return b.delay(attempt, previous, u); }, choice);
  }
  friend bool operator==(any_backoff const&, any_backoff const&) = default;
};
static_assert(backoff<any_backoff>);

}  // namespace headway
