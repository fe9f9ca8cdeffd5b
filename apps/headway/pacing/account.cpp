#include "pacing/account.hpp"

#include <fmt/format.h>

namespace headway::app {

std::string account_of(std::string_view origin, std::string_view credential,
                       std::string_view scope) {
  return fmt::format("{}\n{}\n{}", origin, credential, scope);
}

}  // namespace headway::app
