/// JSON text as it stands, which keeps what a parsed value has lost: 1.10 is not 1.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simdjson::dom {
class element;
class object;
class parser;
}  // namespace simdjson::dom

namespace headway::app {

/// What of JSON others read and simdjson refuses.
enum class leniency : std::uint8_t {
  numbers,  ///< those beyond 64 bits, and beyond what a double holds
  all,      ///< these, a byte order mark and lone surrogates (RFC 8259 §8)
};

/// Returns `json` with what is refused put so that it is read, byte for byte as long: such a number
/// is one of about its size, a byte order mark is blank, a lone surrogate U+FFFD. Any text. O(n).
std::string mended(std::string_view json, leniency);

/// Parses `text`, mended where it must be. Returns "" and `read`, which lives until `parser` is
/// used again, else what is wrong. A number that was mended is not exact: see written_at().
std::string_view parse_leniently(simdjson::dom::parser& parser, std::string_view text, leniency,
                                 simdjson::dom::element& read);

/// The object that is all of `text`, which lives until `parser` is used again. A number that others
/// read and simdjson refuses is not exact in it: members_of() has its digits.
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

/// What `pointer` (RFC 6901) reaches, as it was written. Requires: `from` is what parse_leniently()
/// read of `text`, and it is there.
std::string_view written_at(simdjson::dom::element from, std::string_view text,
                            std::string_view pointer);

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
