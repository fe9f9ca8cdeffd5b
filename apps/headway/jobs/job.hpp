/// A job: one request of the file of requests, and how its line is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.hpp"
#include "headway/time.hpp"
#include "jobs/fields.hpp"
#include "provider/quota_units.hpp"

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
  std::string origin{};              ///< of `url`
  std::vector<std::string> headers;  ///< "Name: value"
  std::optional<std::string> body;
  bool json_body = false;                          ///< the body was given as JSON
  std::optional<std::filesystem::path> body_file;  ///< to be opened as it is; below JOBS' folder
  std::int64_t cost = 1;                           ///< of --rate
  std::vector<quota_units> costs{};                ///< of named quotas
  bool computes = false;                           ///< and nothing else, says its profile
  std::string scope;
  std::optional<duration> timeout;
  std::string idempotency_key;  ///< "" if none; also where the line gives it as a header
  std::string meta;             ///< compact JSON to echo, "" if none
  std::string name{};           ///< of the body's file, "": by its line
  named_fields record{};        ///< of a template, if it is to be kept
};

/// Whether sending it twice does no more than sending it once: by its method (RFC 9110 §9.2.2), by
/// its key, or because it only computes.
bool idempotent(job const&) noexcept;

/// automatic: what a line is, its keys tell. vegeta: all are JSON targets of vegeta.
enum class line_format : std::uint8_t { automatic, vegeta };

struct line_options {
  std::string file = "JOBS";           ///< how errors name it
  std::string base_url{};              ///< put before a URL that is only a path; "" if none
  std::filesystem::path folder = ".";  ///< of JOBS: body_file is below it

  // What makes requests of lines that are none.
  std::string url{};                  ///< where they go, with {{field}}; "" if there are none
  std::optional<std::string> body{};  ///< with {{field}}
  std::string method{};               ///< "": POST, or GET without a body
  line_format format = line_format::automatic;

  // What results tell of the line; a field, or with {{field}}.
  std::string id{};                 ///< "": the line's own, else its number
  std::vector<std::string> meta{};  ///< fields; one that is "": all of them
  std::string out_name{};           ///< of the body's file
  bool keeps_record = false;

  /// Whether a request only computes.
  std::function<bool(job const&)> computes{};
  /// The option that writes the file at a path, "" if none does: no body_file may be one.
  std::function<std::string(std::filesystem::path const&)> written_by{};
};

/// The options that, for the same lines, make other requests, as one text; "" if none is set.
std::string fingerprint(line_options const&);

inline constexpr std::size_t line_bytes_max = std::size_t{64} << 20;

class labels;
class record_reader;
class request_template;

/// Reads lines, each on its own: JSON where it starts with `{`, else a URL. With a template (a
/// `body`, or a {{field}} in `url`) they are the records that fill it: JSON objects, or CSV with a
/// header line.
///
/// Errors: fatal(exit_usage) that names file:line, the key, its value and what is allowed. Values
/// of headers are never shown. Threads: distinct objects safe, shared objects unsafe.
class job_parser {
 public:
  /// Errors: fatal(exit_usage) where an option is not what it should be; names it.
  explicit job_parser(line_options);
  job_parser(job_parser&&) noexcept;
  job_parser& operator=(job_parser&&) noexcept;
  ~job_parser();

  /// The job of line number `line`, given without its line end; nullopt for a blank line, a
  /// comment, a header line, or where a record of CSV goes on in the next line. The lines of a
  /// template must come in their order.
  std::optional<job> parse(std::string_view text, std::int64_t line);

  /// The line where what was read last begins: an earlier one where a record of CSV goes on.
  std::int64_t begins() const noexcept { return first_line_; }
  /// The header line of a CSV has been read.
  bool has_header() const noexcept;

  /// There are no more lines. Errors: fatal(exit_usage) within a record.
  void finish() const;

  line_options const& options() const noexcept { return options_; }

 private:
  void check_template();
  void label(job&);
  void read_line(std::string_view text, job& j);
  job read_json(std::string_view text);
  std::optional<job> read_record(std::string_view text);

  line_options options_;
  std::unique_ptr<simdjson::dom::parser> json_;
  std::unique_ptr<request_template> template_;  // with records_; null: lines are requests
  std::unique_ptr<record_reader> records_;
  std::unique_ptr<labels> labels_;
  named_fields fields_;          // of what is being read, where labels need them
  std::int64_t first_line_ = 0;  // of what is being read
};

}  // namespace headway::app
