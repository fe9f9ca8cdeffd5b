/// The input of `exec`: the values of each job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/jobs_file.hpp"
#include "jobs/line_cutter.hpp"
#include "jobs/record.hpp"
#include "os/steady_file.hpp"

namespace headway::app {

struct exec_item {
  std::int64_t line = 0;    ///< where its record begins, from 1; of `:::` its number
  std::int64_t number = 0;  ///< of the job, from 1
  std::vector<std::string> columns{};
  std::vector<std::string> named{};
  std::string id{};  ///< of its record, else its line

  /// Its values as one text, as --tag shows them.
  std::string words() const;
};

struct input_settings {
  std::string path{};                               ///< of a file, or "-"; "": `sources`
  std::vector<std::vector<std::string>> sources{};  ///< as of `:::` …
  std::vector<bool> linked{};                       ///< … and whether to the one before, `:::+`
  char end = '\n';                                  ///< of a line
  std::string separator{};                          ///< of columns; "": a line is one
  bool keep_empty = false;
  std::vector<std::string> names{};  ///< of fields: lines are CSV with a header, or JSON
};

/// Hands jobs out in their order. A file is read twice, survey() and then next(), which refuses
/// what has changed since; standard input once. Errors: fatal(exit_usage) with file:line. Threads:
/// one.
class exec_input {
 public:
  /// `on_line` is told each line once, as of jobs_file.
  exec_input(input_settings, line_hook on_line);
  ~exec_input();

  bool is_stream() const noexcept { return settings_.path == "-"; }
  /// As errors name it.
  std::string const& name() const noexcept { return name_; }
  /// Null unless it is a file.
  steady_file* file() noexcept { return file_ ? &*file_ : nullptr; }
  record_lines const& records() const noexcept { return records_; }
  int fd() const noexcept;

  /// Looks through all of it, all checks included; `on_item` is told all, and may throw. Returns
  /// the number of jobs. Requires: not a stream.
  std::int64_t survey(std::function<void(exec_item const&)> const& on_item);

  /// The next job of what has been read; nullopt: call fill().
  std::optional<exec_item> ready();
  /// Reads once. False at the end, which may make a last job ready.
  bool fill();

 private:
  std::optional<exec_item> of_sources();
  std::optional<exec_item> of_line(std::string_view line);
  void rewind();

  input_settings const settings_;
  line_hook on_line_;
  std::string name_;
  std::optional<steady_file> file_{};
  std::size_t block_ = 0;
  std::string chunk_{};
  line_cutter lines_;
  struct json;
  std::unique_ptr<json> json_;
  record_reader reader_;
  bool crlf_ = false;        // ends each line, as the first
  std::int64_t begins_ = 0;  // of a record that goes on
  std::string so_far_{};
  record_lines records_{};
  bool surveyed_ = false;
  std::int64_t number_ = 0;
  std::vector<std::vector<std::vector<std::string>>> groups_{};  // of rows, of sources
};

}  // namespace headway::app
