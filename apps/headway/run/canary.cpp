#include "run/canary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "client/headers.hpp"

namespace headway::app {

std::string canary::why_it_died(result const& last, std::span<std::string const> headers,
                                bool journal) {
  auto const ascii = std::ranges::all_of(last.body, [](char c) { return (c & 0x80) == 0; });
  return fmt::format(
      "the first {} requests all failed with status {}, such as line {}, whose answer is {}; put "
      "that right and run it again{}; --no-canary goes on regardless",
      watched, last.status, last.line,
      ascii ? in_quotes(without_secrets(last.body.substr(0, 4096), headers)) : "in the results",
      journal ? " with --again failed" : "");
}

}  // namespace headway::app
