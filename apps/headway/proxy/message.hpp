/// HTTP/1.1 messages as they come: a head, then a body of any framing.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/http/advice.hpp"

namespace headway::app::proxy {

namespace beast = boost::beast;
using boost::system::error_code;

/// Start line and fields of a message. Names views into its own text.
struct head {
  std::string text;
  std::vector<http::field> fields;
  std::string_view method, target;  ///< of a request
  int status = 0;                   ///< of an answer …
  std::string_view reason;          ///< … with its words
  int version = 11;

  head() = default;
  head(head const&) = delete;
  head& operator=(head const&) = delete;

  /// Returns the first value of a field, or nullopt. `name`: in any case.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  /// Returns how many fields have this name.
  std::size_t count(std::string_view name) const noexcept;
};

/// Returns whether a comma-separated list has this token.
bool lists_token(std::string_view list, std::string_view token) noexcept;

inline constexpr std::size_t head_bytes_max = 64 * 1024;  ///< bytes; of all trailers, too

/// Reads one message. Bytes of the body gather in `body`, from which the owner takes them.
template <bool IsRequest>
class message_reader final : public beast::http::basic_parser<IsRequest> {
  using base = beast::http::basic_parser<IsRequest>;

 public:
  message_reader();

  head start;
  std::string body;

  /// Takes bytes; returns how many belong to this message. The bytes of a head stop at its end: the
  /// owner looks at it before it feeds the body. `e` is set where it is malformed.
  std::size_t feed(std::string_view bytes, error_code& e);
  /// The peer has closed its side. `e` is set where that cuts the message short.
  void end(error_code& e);
  bool has_head() const noexcept { return has_head_; }
  /// Whether a byte of it has come.
  bool begun() const noexcept { return has_head_ || !start.text.empty(); }
  bool too_long() const noexcept { return too_long_; }

 private:
  using view = beast::string_view;
  void on_request_impl(beast::http::verb, view method, view target, int version,
                       error_code&) override;
  void on_response_impl(int status, view reason, int version, error_code&) override;
  void on_field_impl(beast::http::field, view name, view value, error_code&) override;
  void on_header_impl(error_code&) override { has_fields_ = true; }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(view bytes, error_code&) override;
  void on_chunk_header_impl(std::uint64_t, view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, view bytes, error_code&) override;
  void on_finish_impl(error_code&) override {}
  void refuse_long(error_code&);

  bool has_head_ = false;
  bool has_fields_ = false;   // what comes now is a trailer, and dropped
  std::size_t trailers_ = 0;  // bytes of them
  bool too_long_ = false;
};

using request_reader = message_reader<true>;
using answer_reader = message_reader<false>;

}  // namespace headway::app::proxy
