#include "run/text.hpp"

#include <fmt/format.h>

namespace headway::app {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown_max = 80;
  std::string result = "\"";
  for (char const c : text.substr(0, shown_max)) {
    if (is_control(c))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + (text.size() > shown_max ? "…\"" : "\"");
}

}  // namespace headway::app
