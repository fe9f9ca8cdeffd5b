#include "jobs/jobs_part.hpp"

#include <utility>

namespace headway::app {
namespace {

std::optional<std::string_view> next_line(line_cutter& lines) {
  auto line = lines.next();
  if (line && line->ends_with('\r')) line->remove_suffix(1);
  return line;
}

}  // namespace

jobs_part::jobs_part(line_options options, std::string_view preface, std::int64_t first,
                     std::string_view lines)
    : parser_(std::move(options)), before_(first - 1) {
  lines_.feed(lines);
  lines_.finish();
  if (first == 1) return;  // it has them itself
  line_cutter known;
  known.feed(preface);
  known.finish();
  while (auto const line = next_line(known)) parser_.parse(*line, known.count());
}

std::optional<job> jobs_part::next() {
  while (auto const line = next_line(lines_))
    if (auto j = parser_.parse(*line, before_ + lines_.count())) return j;
  parser_.finish();
  return std::nullopt;
}

}  // namespace headway::app
