#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headway/backoff/any.hpp"
#include "headway/export.hpp"
#include "headway/governor.hpp"
#include "headway/law/any.hpp"

namespace headway {

/// A shipped law, with its backoff and its place for throttled requests. Source: each names its
/// own.
struct shipped_law {
  std::string name;                                           ///< as parse_law() takes it
  std::string_view what;                                      ///< half a sentence
  any_backoff backoff{};                                      ///< after failures
  any_law law{};                                              ///< as it starts
  after_throttle throttled = after_throttle::stand_in_line;   ///< where a throttled request waits
  int quiet_successes = governor_settings{}.quiet_successes;  ///< of the shared retry level
};

/// Returns all shipped laws, the default first.
HEADWAY_EXPORT std::span<shipped_law const> shipped_laws();

/// Returns the shipped law of that name, or null.
HEADWAY_EXPORT shipped_law const* shipped_law_named(std::string_view name);

}  // namespace headway
