#include "pacing/account.hpp"

#include <fmt/format.h>

#include "base/url.hpp"
#include "client/headers.hpp"

namespace headway::app {

std::string account_of(job const& j, std::span<std::string const> headers) {
  return fmt::format("{}\n{}\n{}", origin(j.url), credential_digest(headers), j.scope);
}

}  // namespace headway::app
