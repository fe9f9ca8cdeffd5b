#include "run/text.hpp"

#include <fmt/format.h>

namespace headway::app {

std::string in_quotes(std::string_view text) {
  std::size_t shown = std::min<std::size_t>(text.size(), 80);
  auto const inside_character = [&] {
    return shown > 0 && shown < text.size() && (text[shown] & 0xC0) == 0x80;  // of UTF-8
  };
  while (inside_character()) --shown;
  return '"' + printable(text.substr(0, shown)) + (shown < text.size() ? "…\"" : "\"");
}

std::string printable(std::string_view text) {
  std::string result;
  for (char const c : text) {
    if (is_control(c))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result;
}

}  // namespace headway::app
