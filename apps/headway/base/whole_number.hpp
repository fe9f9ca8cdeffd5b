/// Whole numbers, as users write them.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace headway::app {

/// Reads all of `text` as a number, and returns whether it is one; else `value` is unspecified.
template <class T>
bool parse_whole(std::string_view text, T& value) {
  auto const* const last = text.data() + text.size();
  auto const [end, wrong] = std::from_chars(text.data(), last, value);
  return wrong == std::errc{} && end == last;
}

}  // namespace headway::app
