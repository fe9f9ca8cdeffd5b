/// The file of a profile: TOML, as profiles/README.md says.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "provider/rules.hpp"

namespace headway::app {

/// Reads a profile. Errors: fatal(exit_usage) that names file, line and what is allowed.
std::shared_ptr<profile_rules const> read_profile(std::string_view toml_text,
                                                  std::string const& file);

}  // namespace headway::app
