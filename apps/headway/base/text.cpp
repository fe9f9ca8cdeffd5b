#include "base/text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

namespace headway::app {
namespace {

/// The first character of UTF-8 text that is not empty; bytes that are none stand for themselves.
struct character {
  std::size_t bytes = 1, columns = 1;
  char32_t code = 0;

  static character first_of(std::string_view text) noexcept {
    auto const head = static_cast<unsigned char>(text.front());
    auto const bytes = head < 0xc0 ? 1U : head < 0xe0 ? 2U : head < 0xf0 ? 3U : 4U;
    char32_t code = bytes == 1 ? head : head & (0x7fU >> bytes);
    std::size_t n = 1;
    for (; n < bytes && n < text.size() && (text[n] & 0xc0) == 0x80; ++n)
      code = code << 6U | (static_cast<unsigned char>(text[n]) & 0x3fU);
    // East Asian Wide, and pictures.
    auto const wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                      (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                      (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
                      code >= 0x1f300;
    return {n, wide ? 2U : 1U, code};
  }

  /// A terminal acts on it: a control, or what turns the direction of the text around it or ends a
  /// line (Unicode's Bidi_Control, U+2028, U+2029).
  bool is_obeyed() const noexcept {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
  }
};

}  // namespace

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    auto const c = character::first_of(text);
    columns += c.columns;
    text.remove_prefix(c.bytes);
  }
  return columns;
}

std::string cut_to(std::size_t columns, std::string_view text) {
  if (columns_of(text) <= columns) return std::string(text);
  std::size_t kept = 0;
  for (std::size_t taken = 1; kept < text.size();) {  // one for the ellipsis
    auto const c = character::first_of(text.substr(kept));
    taken += c.columns;
    if (taken > columns) break;
    kept += c.bytes;
  }
  return columns == 0 ? "" : std::string(text.substr(0, kept)) + "…";
}

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
  while (!text.empty()) {
    auto const c = utf8 ? character::first_of(text)
                        : character{.code = static_cast<unsigned char>(text.front())};
    if (c.is_obeyed() || (!utf8 && c.code >= 0x80))
      for (char const byte : text.substr(0, c.bytes))
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    else
      result += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return result;
}

}  // namespace headway::app
