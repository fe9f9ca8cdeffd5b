#include "jobs/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "jobs/job.hpp"

namespace headway::app {

bool csv_record::add(std::string_view line) {
  bytes_ += line.size() + 1;
  if (bytes_ > line_bytes_max)
    throw std::invalid_argument(
        fmt::format("the record has more than {} bytes; is a quote not closed?", line_bytes_max));
  std::size_t at = 0;
  if (quoted_)
    fields_.back() += '\n';
  else
    fields_.emplace_back();
  for (;;) {
    if (!quoted_ && at < line.size() && line[at] == '"') {
      quoted_ = true;
      ++at;
    }
    if (quoted_) {
      auto const quote = line.find('"', at);
      fields_.back().append(line.substr(at, quote - at));
      if (quote == line.npos) return false;
      at = quote + 1;
      if (at < line.size() && line[at] == '"') {
        fields_.back() += '"';
        ++at;
        continue;
      }
      quoted_ = false;
      if (at < line.size() && line[at] != mark_)
        throw std::invalid_argument(
            fmt::format("field {} goes on after its closing quote; a quote in it is written as "
                        "\"\"",
                        fields_.size()));
    } else {
      auto const end = std::min(line.find(mark_, at), line.size());
      auto const field = line.substr(at, end - at);
      if (field.find('"') != field.npos)
        throw std::invalid_argument(fmt::format(
            "field {} has a quote but does not begin with one; want it all in quotes, and the "
            "quote written as \"\"",
            fields_.size()));
      fields_.back() = field;
      at = end;
    }
    if (at == line.size()) return true;
    ++at;  // the mark
    fields_.emplace_back();
  }
}

std::vector<std::string> csv_record::take() {
  bytes_ = 0;
  return std::exchange(fields_, {});
}

void append_csv(std::string& out, std::span<std::string const> fields) {
  auto const alone = fields.size() == 1;
  bool first = true;
  for (auto const& field : fields) {
    if (!std::exchange(first, false)) out += ',';
    if (field.find_first_of("\",\r\n") == field.npos && !(alone && trimmed(field).empty())) {
      out += field;
      continue;
    }
    out += '"';
    for (char const c : field) {
      if (c == '"') out += '"';
      out += c;
    }
    out += '"';
  }
  out += '\n';
}

}  // namespace headway::app
