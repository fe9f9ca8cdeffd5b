#include "run/account.hpp"

#include <fmt/format.h>

#include "run/headers.hpp"
#include "run/url.hpp"

namespace headway::app {

std::string account_of(job const& j, std::span<std::string const> headers) {
  return fmt::format("{}\n{}\n{}", origin(j.url), credential_digest(headers), j.scope);
}

}  // namespace headway::app
