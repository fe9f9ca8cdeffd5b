/// Templates: text with {{field}} where records differ, such as the URL and the body of requests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/fields.hpp"

namespace headway::app {

/// A template of plain text.
class text_template {
 public:
  /// Errors: std::invalid_argument where a {{ is not the beginning of a {{field}}.
  explicit text_template(std::string_view text);

  struct piece {
    std::string before;  // as it stands
    std::string field;   // "" of the last piece
  };
  /// The last one has no field.
  std::vector<piece> const& pieces() const noexcept { return pieces_; }

 private:
  std::vector<piece> pieces_;
};

/// In the body a field is put in as typed JSON, or, within a string literal of the template, as the
/// text of such a literal; in the URL percent-encoded but for what RFC 3986 §2.3 calls unreserved.
class request_template {
 public:
  /// Errors: std::invalid_argument where a {{ is not the beginning of a {{field}}.
  request_template(std::string_view url, std::optional<std::string_view> body);

  /// The names that it has, each once.
  std::vector<std::string> const& fields() const noexcept { return fields_; }

  bool has_body() const noexcept { return has_body_; }

  /// The body begins as a JSON object or array does.
  bool has_json_body() const noexcept { return has_json_body_; }

  // Requires: a value for each of fields(), in their order.
  std::string url(std::span<field_value const> values) const;
  std::string body(std::span<field_value const> values) const;

 private:
  enum class place : std::uint8_t { url, value, string };
  struct piece {
    std::string before;  // as it stands
    std::size_t field;   // index in fields_, which the last piece lacks
    place where;
  };
  using pieces = std::vector<piece>;

  pieces read(std::string_view text, bool is_url);
  std::size_t index_of(std::string_view name);
  static std::string filled(pieces const&, std::span<field_value const> values);

  std::vector<std::string> fields_;
  pieces url_, body_;
  bool has_body_;
  bool has_json_body_;
};

/// What --body stands for: itself, or the content of FILE for `@FILE`.
/// Errors: fatal(exit_usage) where that cannot be read.
std::string expand_body(std::string const& option);

}  // namespace headway::app
