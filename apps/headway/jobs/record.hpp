/// A record: what a line of JOBS, or several of CSV, puts into a template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/csv.hpp"
#include "jobs/template.hpp"

namespace simdjson::dom {
class parser;
}

namespace headway::app {

struct record {
  std::vector<field_value> values;  ///< of the fields that were asked for, in their order
  std::optional<field_value> id;    ///< the field `id`
  named_fields all{};               ///< as they stand, if they were asked for
};

/// Reads records: JSON objects, one a line, where the first line that is not blank starts with `{`,
/// else CSV with a header line, whose fields have a comma, a semicolon or a tab between them. Where
/// nothing but `line` is asked for, and no column is called so, a record is a line as it is. Blank
/// lines are skipped, `#` lines only between JSON objects.
///
/// Errors: std::invalid_argument; shows names of fields, no values. Threads: shared objects unsafe.
class record_reader {
 public:
  /// `all`: its records have all their fields.
  explicit record_reader(std::vector<std::string> fields, bool all = false)
      : fields_(std::move(fields)), keeps_all_(all) {}

  /// Takes in the next line; nullopt where there is no record in it, or not all of it.
  std::optional<record> read(std::string_view line, simdjson::dom::parser&);

  /// A record of CSV has begun, and goes on in the next line.
  bool open() const noexcept { return csv_.open(); }

  /// It is CSV, and the header line has been read.
  bool has_header() const noexcept { return !columns_.empty(); }

 private:
  enum class format : std::uint8_t { unknown, json, csv, plain };

  void begin(std::string_view text);
  record read_json(std::string_view text, simdjson::dom::parser&) const;
  void read_header(std::vector<std::string> columns);

  std::vector<std::string> fields_;
  bool keeps_all_;
  format format_ = format::unknown;
  csv_record csv_;
  std::vector<std::string> columns_{};  // none: the header line is to come
  std::vector<std::size_t> column_of_;  // of each field
  std::optional<std::size_t> id_column_;
};

}  // namespace headway::app
