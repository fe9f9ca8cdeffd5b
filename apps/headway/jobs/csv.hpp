/// CSV as RFC 4180 has it, or with another mark than the comma.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::app {

/// One record, taken in line by line: a line feed within quotes belongs to its field.
///
/// Errors: std::invalid_argument. Threads: shared objects unsafe.
class csv_record {
 public:
  /// What is between fields; a comma unless told.
  void separate_by(char mark) noexcept { mark_ = mark; }

  /// Takes in the next line, without its end. False: the record goes on in the next one.
  bool add(std::string_view line);

  /// Of a complete record; leaves it empty.
  std::vector<std::string> take();

  /// It has begun, and goes on in the next line.
  bool open() const noexcept { return quoted_; }

 private:
  std::vector<std::string> fields_;
  char mark_ = ',';
  bool quoted_ = false;
  std::size_t bytes_ = 0;
};

/// Appends a record and its line feed: in quotes what has a quote, a comma or a line end in it, and
/// what alone would be a blank line.
void append_csv(std::string& out, std::span<std::string const> fields);

}  // namespace headway::app
