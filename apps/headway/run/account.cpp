#include "run/account.hpp"

#include <fmt/format.h>

#include "run/headers.hpp"

namespace headway::app {

std::string account_of(job const& j, std::span<std::string const> headers) {
  return fmt::format("{}\n{}\n{}", j.origin, credential_digest(headers), j.scope);
}

}  // namespace headway::app
