#include "base/statuses.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/text.hpp"

namespace headway::app {
namespace {

/// 0 where it is none.
int status_of(std::string_view text) noexcept {
  int status = 0;
  auto const digits = text.size() == 3 && std::all_of(text.begin(), text.end(), is_digit);
  if (digits) std::from_chars(text.data(), text.data() + text.size(), status);
  return status >= statuses::first && status <= statuses::last ? status : 0;
}

}  // namespace

statuses statuses::parse(std::string_view text) {
  statuses found;
  found.set_.reset();
  for (auto rest = text;;) {
    auto const comma = rest.find(',');
    auto const part = rest.substr(0, comma);
    auto const dash = part.find('-');
    auto const from = status_of(part.substr(0, dash));
    auto const to = dash == part.npos ? from : status_of(part.substr(dash + 1));
    if (from == 0 || to < from)
      throw std::invalid_argument(
          in_quotes(part) +
          " is neither a status from 200 to 599 nor a range, such as 200-299,404");
    found.add(from, to);
    if (comma == rest.npos) return found;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace headway::app
