/// Characters that a markup reads as its own.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace headway::app {

/// Returns `text` with these characters written in another way.
inline std::string replaced(std::string_view text,
                            std::initializer_list<std::pair<char, std::string_view>> with) {
  std::string out;
  for (char const c : text) {
    auto const* const found = std::ranges::find(with, c, &std::pair<char, std::string_view>::first);
    found == with.end() ? out += c : out += found->second;
  }
  return out;
}

}  // namespace headway::app
