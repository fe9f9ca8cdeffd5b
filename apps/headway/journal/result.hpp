/// A result: the line that a request leaves behind.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/outcomes.hpp"
#include "headway/http/advice.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// A part of a success's JSON body that is kept: its name in the result, "" where it is all of it.
struct selection {
  std::string name;
  std::string pointer;  // RFC 6901
  friend bool operator==(selection const&, selection const&) = default;
};

struct result {
  std::string_view id{};
  std::int64_t line = 0;
  std::string_view url{};  ///< "": not told
  final_outcome how = final_outcome::success;
  int status = 0;  ///< 0: no answer
  int attempts = 0;
  int throttled = 0;          ///< of the attempts
  duration waited{};          ///< from when it was read to its last attempt
  duration latency{};         ///< of its last attempt
  std::string_view reason{};  ///< why it failed, "" if it did not
  std::string_view body{};
  std::string_view type{};                 ///< the body's Content-Type
  std::span<http::field const> headers{};  ///< of the answer, as far as they are wanted
  std::string_view meta{};                 ///< compact JSON, "" if none
  std::span<selection const> select{};     ///< parts of the body; none: all of it
  std::string_view name{};                 ///< of the body's file, "": by its line
  std::string_view body_file{};            ///< where the body is; "": in the result

  struct number {
    std::string_view name;
    std::int64_t value;
  };
  /// Returns the numbers that every result has, in their order.
  auto numbers() const noexcept {
    using std::chrono::milliseconds;
    return std::array{number{"attempts", attempts}, number{"throttled", throttled},
                      number{"waited_ms", std::chrono::round<milliseconds>(waited).count()},
                      number{"latency_ms", std::chrono::round<milliseconds>(latency).count()}};
  }
};

/// Writes results as JSON. The buffers are reused; threads: one.
class result_writer {
 public:
  result_writer();
  ~result_writer();
  result_writer(result_writer const&) = delete;
  result_writer& operator=(result_writer const&) = delete;

  /// One JSON object without line feed; valid until the next call. The body is there as JSON where
  /// the server says so and it is, else as a string where it is UTF-8, else as `body_base64`. A
  /// selected part is JSON as the server wrote it, without blanks, and a string where parsers
  /// refuse it; null where there is none; several are an object by their names. Of a body that
  /// cannot be read nothing is selected: it is there as a whole, and `reason` says why, as it does
  /// of an empty one. Of `headers` each name is there once, in lower case, with a list of its
  /// values.
  std::string_view line_of(result const&);

  /// Returns a line that tells of how many bodies nothing could be selected, "" of none.
  std::string unread() const;

 private:
  struct parser;

  void append_number(std::string_view name, std::int64_t value);
  void append_headers(std::span<http::field const> fields);
  void append_body(result const&);
  std::string why_unselected(result const&);
  void append_parts(std::string_view body, std::span<selection const>);
  void append_part(std::string_view body, std::string_view pointer);
  bool append_compact(std::string_view json);
  void begin_small();

  std::string text_;
  std::string compact_;
  std::unique_ptr<parser> parser_;
  std::int64_t unread_ = 0, empty_ = 0;  // bodies of which nothing could be selected
  std::int64_t first_empty_ = 0;         // a line
  std::string first_unread_;
};

/// "/choices/0/message", "answer=/choices/0/message". Throws std::invalid_argument where it is no
/// JSON pointer, saying so.
selection parse_selection(std::string_view text);

/// Returns what was parsed, as one text; "" of none.
std::string words_of(std::span<selection const>);

}  // namespace headway::app
