/// Labels: what a job takes of its line for people, beside the request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job.hpp"
#include "jobs/record.hpp"
#include "jobs/template.hpp"

namespace headway::app {

/// The id, the meta and the name of the body's file, of the fields of a line. Where these have no
/// such name, `line` is its number, `url` where it goes and `id` its id.
///
/// Errors: std::invalid_argument. Threads: const members safe.
class labels {
 public:
  /// Errors: fatal(exit_usage) where an option is not what it should be; names it.
  explicit labels(line_options const&);

  /// No fields of a line are needed.
  bool empty() const noexcept { return !id_ && !whole_ && meta_.empty() && !name_; }

  /// The id, where one is to be made; `what` a field of the line is called.
  std::optional<field_value> id_of(named_fields const&, std::int64_t line,
                                   std::string_view what) const;
  /// Sets meta and name of a job that is complete but for them.
  void put_on(job&, named_fields const&, std::string_view what) const;

 private:
  std::optional<text_template> id_, name_;
  bool whole_ = false;             // all fields are the meta
  std::vector<std::string> meta_;  // these are
};

}  // namespace headway::app
