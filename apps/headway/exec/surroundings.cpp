#include "exec/surroundings.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/sha256.hpp"

namespace headway::app {

std::string set_surroundings(command_profile const& speaks) {
  std::string here;
  for (auto const& [name, value] : speaks.environment())
    if (std::getenv(name.c_str()) == nullptr) {
      ::setenv(name.c_str(), value.c_str(), 1);
      here += fmt::format("{}{}={}", here.empty() ? "" : " ", name, value);
    }
  ::setenv("HEADWAY_FD", "3", 1);
  return here;
}

std::string scope_of_surroundings(command_profile const& speaks) {
  std::string scope;
  for (auto const& name : speaks.scope())
    if (auto const* const value = std::getenv(name.c_str()); value != nullptr && *value != '\0') {
      auto const secret = name.find("KEY") != name.npos || name.find("TOKEN") != name.npos;
      scope += fmt::format("{}{}={}", scope.empty() ? "" : " ", name,
                           secret ? digest_in_hex(value) : std::string(value));
    }
  return scope;
}

}  // namespace headway::app
