/// ASCII text as HTTP knows it: no locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace headway::app {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
constexpr bool is_alphanumeric(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_control(char c) noexcept {
  return (c >= 0 && c < ' ') || c == '\x7f';
}
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? char(c + 32) : c;
}
constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? char(c - 32) : c;
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

inline bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// Without the byte order mark that a file may begin with.
constexpr std::string_view without_mark(std::string_view text) noexcept {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.substr(text.starts_with(mark) ? mark.size() : 0);
}

/// Without the characters of `set` at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view set = " \t\r") noexcept {
  auto const first = text.find_first_not_of(set);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(set) - first + 1);
}

/// `text` for an error message: in quotes, cut short, what a terminal would act on escaped.
std::string in_quotes(std::string_view text);

/// Returns how many columns of a terminal UTF-8 text takes.
std::size_t columns_of(std::string_view text) noexcept;

/// Returns what of UTF-8 text fits in so many columns; what is cut ends in "…".
std::string cut_to(std::size_t columns, std::string_view text);

/// `text` with what a terminal would act on as \x1b; nothing is cut.
std::string printable(std::string_view text);

}  // namespace headway::app
