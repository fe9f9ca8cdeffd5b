#pragma once

#include <optional>

#include "headway/governor.hpp"
#include "headway/random.hpp"

namespace headway {

/// Starts the request that may go now, if any, and returns it. A governor that shares its pace
/// claims the turn first, since another process may have been faster.
template <class Governor>
std::optional<ticket> take_turn(Governor& governor, time_point now, rng& chance) {
  while (auto const turn = governor.next(now)) {
    auto const u = chance();
    if constexpr (requires { governor.claim(now, *turn, u); })
      if (!governor.claim(now, *turn, u)) continue;
    governor.start(now, *turn, u);
    return turn;
  }
  return std::nullopt;
}

}  // namespace headway
