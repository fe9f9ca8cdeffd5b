#include "base/json_text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "base/text.hpp"

namespace headway::app {
namespace {

// These walk JSON text that has been found valid, from one position to another.

std::size_t skip_space(std::string_view json, std::size_t at) noexcept {
  return json.find_first_not_of(" \t\r\n", at);
}

std::size_t skip_string(std::string_view json, std::size_t at) noexcept {
  for (;;) {
    at = json.find('"', at + 1);
    auto const backslashes = at - json.find_last_not_of('\\', at - 1) - 1;
    if (backslashes % 2 == 0) return at + 1;
  }
}

std::size_t skip_value(std::string_view json, std::size_t at) noexcept {
  if (json[at] == '"') return skip_string(json, at);
  if (json[at] != '{' && json[at] != '[') return json.find_first_of(",}] \t\r\n", at);
  int depth = 0;
  do {
    char const c = json[at];
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    at = c == '"' ? skip_string(json, at) : at + 1;
  } while (depth > 0);
  return at;
}

// These walk any text.

/// The UTF-16 code unit of \uXXXX; nullopt where there is none.
std::optional<unsigned> code_unit(std::string_view json, std::size_t at) noexcept {
  if (!json.substr(at).starts_with("\\u") || json.size() < at + 6) return std::nullopt;
  unsigned unit = 0;
  auto const* const end = json.data() + at + 6;
  if (std::from_chars(json.data() + at + 2, end, unit, 16).ptr != end) return std::nullopt;
  return unit;
}

/// Mends the string that begins there; returns where it ends.
std::size_t mend_string(std::string& json, std::size_t at, leniency how) {
  for (++at; at < json.size() && json[at] != '"';) {
    auto const unit = json[at] == '\\' ? code_unit(json, at) : std::nullopt;
    if (!unit) {
      at += json[at] == '\\' ? 2 : 1;
      continue;
    }
    auto const next = *unit >> 10 == 0x36 ? code_unit(json, at + 6) : std::nullopt;
    auto const pair = next && *next >> 10 == 0x37;
    if (how == leniency::all && *unit >> 11 == 0x1b && !pair) json.replace(at + 2, 4, "fffd");
    at += pair ? 12 : 6;
  }
  return std::min(at + 1, json.size());
}

/// A shorter number of about that size; "" where simdjson reads the number as it is, or it is none.
std::string shorter(std::string_view number) {
  auto const* const end = number.data() + number.size();
  auto const unsigned_part = number.substr(number.starts_with('-') ? 1 : 0);
  if (unsigned_part.size() > 1 && unsigned_part.starts_with('0')) return {};
  double size = 0;
  auto const [last, error] = std::from_chars(number.data(), end, size);
  if (last != end) return {};
  if (error == std::errc::result_out_of_range)
    return number.find("e-") == number.npos && number.find("E-") == number.npos
               ? std::string(number.starts_with('-') ? "-1e308" : "1e308")
               : std::string();
  std::int64_t small = 0;
  std::uint64_t large = 0;
  if (number.find_first_of(".eE") != number.npos ||
      std::from_chars(number.data(), end, small).ec == std::errc{} ||
      std::from_chars(number.data(), end, large).ec == std::errc{})
    return {};
  return fmt::format("{:.12e}", size);
}

/// Mends the number that begins there; returns where it ends.
std::size_t mend_number(std::string& json, std::size_t at) {
  auto const end = std::min(json.find_first_not_of("0123456789+-.eE", at), json.size());
  auto text = shorter(std::string_view(json).substr(at, end - at));
  if (text.empty() || text.size() > end - at) return end;
  text.resize(end - at, ' ');
  json.replace(at, end - at, text);
  return end;
}

/// A key of a JSON pointer, without its escapes (RFC 6901 §4).
std::string unescaped(std::string_view step) {
  std::string key;
  for (std::size_t i = 0; i < step.size(); ++i)
    key += step[i] != '~' ? step[i] : step[++i] == '1' ? '/' : '~';
  return key;
}

}  // namespace

std::string mended(std::string_view json, leniency how) {
  std::string text(json);
  if (how == leniency::all) std::fill_n(text.begin(), json.size() - without_mark(json).size(), ' ');
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"')
      at = mend_string(text, at, how);
    else if (text[at] == '-' || is_digit(text[at]))
      at = mend_number(text, at);
    else
      ++at;
  }
  return text;
}

std::string_view parse_leniently(simdjson::dom::parser& parser, std::string_view text, leniency how,
                                 simdjson::dom::element& read) {
  auto const parse = [&](std::string_view t) { return parser.parse(t.data(), t.size()).get(read); };
  auto error = parse(text);
  if (error == simdjson::SUCCESS) return {};
  if (auto const again = mended(text, how); again != text) error = parse(again);
  return error == simdjson::SUCCESS ? std::string_view() : simdjson::error_message(error);
}

std::string_view written_at(simdjson::dom::element from, std::string_view text,
                            std::string_view pointer) {
  while (!pointer.empty()) {
    auto const step = pointer.substr(0, pointer.find('/', 1));
    pointer.remove_prefix(step.size());
    simdjson::dom::element const next = from.at_pointer(step).value();
    std::size_t index = 0;
    if (simdjson::dom::object object; from.get(object) == simdjson::SUCCESS) {
      auto const key = unescaped(step.substr(1));
      for (auto const member : object) {
        if (member.key == key) break;
        ++index;
      }
      text = members_of(text)[index].value;
    } else {
      auto const digits = step.substr(1);
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
      text = elements_of(text)[index];
    }
    from = next;
  }
  return text;
}

simdjson::dom::object parse_object(simdjson::dom::parser& parser, std::string_view text) {
  auto const refuse = [](std::string_view why) {
    throw std::invalid_argument(fmt::format("not valid JSON: {}", why));
  };
  if (text.size() > parser.capacity())
    if (auto const error = parser.allocate(std::bit_ceil(text.size())))
      refuse(simdjson::error_message(error));
  simdjson::dom::element read;
  if (auto const wrong = parse_leniently(parser, text, leniency::numbers, read); !wrong.empty())
    refuse(wrong);
  simdjson::dom::object object;
  if (auto const error = read.get(object)) refuse(simdjson::error_message(error));
  return object;
}

std::vector<json_member> members_of(std::string_view object) {
  std::vector<json_member> members;
  auto at = skip_space(object, object.find('{') + 1);
  while (object[at] == '"') {
    auto const colon = skip_space(object, skip_string(object, at));
    auto const begin = skip_space(object, colon + 1);
    auto const end = skip_value(object, begin);
    members.push_back({object.substr(at, end - at), object.substr(begin, end - begin)});
    at = skip_space(object, end);
    if (object[at] == ',') at = skip_space(object, at + 1);
  }
  return members;
}

std::vector<std::string_view> elements_of(std::string_view array) {
  std::vector<std::string_view> elements;
  auto at = skip_space(array, array.find('[') + 1);
  while (array[at] != ']') {
    auto const end = skip_value(array, at);
    elements.push_back(array.substr(at, end - at));
    at = skip_space(array, end);
    if (array[at] == ',') at = skip_space(array, at + 1);
  }
  return elements;
}

std::string compact(std::string_view json) {
  std::string text(json.size(), '\0');
  std::size_t kept = 0;
  if (simdjson::minify(json.data(), json.size(), text.data(), kept) != simdjson::SUCCESS)
    return std::string(json);
  text.resize(kept);
  return text;
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, begin, i - begin);
    begin = i + 1;
    out += '\\';
    switch (c) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case '\n':
        out += 'n';
        break;
      case '\r':
        out += 'r';
        break;
      case '\t':
        out += 't';
        break;
      default:
        out += "u00", out += hex[c >> 4], out += hex[c & 15];
    }
  }
  out.append(text, begin);
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string in_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text)) return std::string(text);
  std::string converted;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      converted += c;
    } else {
      converted += static_cast<char>(0xc0 | byte >> 6);
      converted += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return converted;
}

}  // namespace headway::app
