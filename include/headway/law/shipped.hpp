#pragma once

#include <span>
#include <string_view>

#include "headway/backoff/any.hpp"
#include "headway/export.hpp"
#include "headway/governor.hpp"
#include "headway/law/any.hpp"

namespace headway {

/// A law that ships, with the backoff and the place of throttled requests that belong to it.
/// Source: each names its own.
struct shipped_law {
  std::string_view name;                                   ///< what `--law` calls it
  std::string_view what;                                   ///< half a sentence
  any_backoff backoff{};                                   ///< after failures
  any_law law{};                                           ///< as it starts
  after_throttle throttled = after_throttle::stand_first;  ///< where such a request waits
};

/// All of them, the default first.
HEADWAY_EXPORT std::span<shipped_law const> shipped_laws();

/// Null where there is none of that name.
HEADWAY_EXPORT shipped_law const* shipped_law_named(std::string_view name);

}  // namespace headway
