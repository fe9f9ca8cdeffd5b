/// JSON text as it stands, which keeps what a parsed value has lost: 1.10 is not 1.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simdjson::dom {
class object;
class parser;
}  // namespace simdjson::dom

namespace headway::app {

/// The object that is all of `text`, which lives until `parser` is used again.
/// Errors: std::invalid_argument.
simdjson::dom::object parse_object(simdjson::dom::parser& parser, std::string_view text);

struct json_member {
  std::string_view whole;  ///< key, colon and value
  std::string_view value;
};

/// The members of an object, in their order. Requires: valid JSON.
std::vector<json_member> members_of(std::string_view object);

/// The elements of an array, in their order. Requires: valid JSON.
std::vector<std::string_view> elements_of(std::string_view array);

/// Without white space between tokens. Requires: valid JSON.
std::string compact(std::string_view json);

/// Appends `text` as a JSON string, in quotes. Requires: valid UTF-8.
void append_quoted(std::string& out, std::string_view text);
/// Returns `text` as a JSON string, in quotes. Requires: valid UTF-8.
std::string json_string(std::string_view text);

/// Returns `text`; what is not UTF-8 is read as ISO 8859-1, as HTTP fields once were (RFC 9110
/// §5.5).
std::string in_utf8(std::string_view text);

}  // namespace headway::app
