#include "base/text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

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
  auto const utf8 = simdjson::validate_utf8(text);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = text[i];
    // Of the upper half some terminals obey 0x80 to 0x9f, in UTF-8 c2 80 to c2 9f, as ESC and more.
    auto const upper_control =
        utf8 && c == '\xc2' && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (upper_control) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c)), ++i;
    if (upper_control || is_control(c) || (!utf8 && (c & 0x80) != 0))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    else
      result += c;
  }
  return result;
}

}  // namespace headway::app
