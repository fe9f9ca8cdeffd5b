/// A job: one request of the file of requests, and how its line is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/time.hpp"
#include "run/url.hpp"

namespace simdjson::dom {
class parser;
}

namespace headway::app {

/// One request as its line gives it. What goes out on the wire besides is in request_headers() of
/// headers.hpp.
struct job {
  std::int64_t line = 0;  ///< 1-based line number in JOBS
  std::string id;         ///< as given, else the line number
  std::string method = "GET";
  std::string url;                   ///< absolute, http or https
  std::vector<std::string> headers;  ///< "Name: value"
  std::optional<std::string> body;
  bool json_body = false;                          ///< the body was given as JSON
  std::optional<std::filesystem::path> body_file;  ///< to be opened as it is; below JOBS' folder
  std::int64_t cost = 1;
  std::string scope;
  std::optional<duration> timeout;
  std::string idempotency_key;  ///< "" if none; also where the line gives it as a header
  std::string meta;             ///< compact JSON to echo, "" if none
};

/// Whether sending it twice does no more than sending it once: by its method (RFC 9110 §9.2.2) or
/// by its key.
bool idempotent(job const&) noexcept;

struct line_options {
  std::string file = "JOBS";           ///< how errors name it
  std::string base_url{};              ///< put before a URL that is only a path; "" if none
  std::filesystem::path folder = ".";  ///< of JOBS: body_file is below it
};

inline constexpr std::size_t line_bytes_max = std::size_t{64} << 20;

/// Reads lines, each on its own: JSON where it starts with `{`, else a URL.
///
/// Errors: fatal(exit_usage) that names file:line, the key, its value and what is allowed. Values
/// of headers are never shown. Threads: distinct objects safe, shared objects unsafe.
class job_parser {
 public:
  /// Errors: fatal(exit_usage) where the base URL is not one.
  explicit job_parser(line_options);
  job_parser(job_parser&&) noexcept;
  job_parser& operator=(job_parser&&) noexcept;
  ~job_parser();

  /// The job of line number `line`, given without its line end; nullopt for a blank line or a
  /// comment.
  std::optional<job> parse(std::string_view text, std::int64_t line);

  line_options const& options() const noexcept { return options_; }

 private:
  job read_json(std::string_view text);

  line_options options_;
  std::unique_ptr<simdjson::dom::parser> json_;
};

}  // namespace headway::app
