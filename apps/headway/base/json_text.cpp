#include "base/json_text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <bit>
#include <stdexcept>

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

}  // namespace

simdjson::dom::object parse_object(simdjson::dom::parser& parser, std::string_view text) {
  auto const refuse = [](simdjson::error_code error) {
    throw std::invalid_argument(fmt::format("not valid JSON: {}", simdjson::error_message(error)));
  };
  if (text.size() > parser.capacity())
    if (auto const error = parser.allocate(std::bit_ceil(text.size()))) refuse(error);
  simdjson::dom::object object;
  if (auto const error = parser.parse(text.data(), text.size()).get(object)) refuse(error);
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
