/// The laws that --law names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/headway.hpp"

namespace headway::app {

struct law_choice {
  std::string_view name;
  std::string_view what;  ///< one line for --help
  any_backoff backoff{};
  any_law law{};
  after_throttle throttled = after_throttle::stand_first;
};

/// All of them, the default first.
std::vector<law_choice> const& laws();

/// Errors: fatal(exit_usage) that lists the names.
law_choice const& law_named(std::string_view name);

/// What a law has found out, in words: "about 48.5/s"; "" where there is nothing to tell.
std::string learned(any_law const&);

}  // namespace headway::app
