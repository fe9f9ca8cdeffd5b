#include "jobs/record.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <stdexcept>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace headway::app {

std::optional<record> record_reader::read(std::string_view line, simdjson::dom::parser& parser) {
  auto const text = trimmed(line);
  if (text.empty() && !csv_.open()) return std::nullopt;
  if (format_ == format::unknown) begin(text);
  if (format_ == format::json) {
    if (text.starts_with('#')) return std::nullopt;
    return read_json(text, parser);
  }
  if (format_ == format::plain) {
    record r;
    r.values.push_back({std::string(text)});
    if (keeps_all_) r.all.push_back({"line", r.values.front()});
    return r;
  }
  if (!csv_.add(line)) return std::nullopt;
  auto cells = csv_.take();
  if (columns_.empty()) {
    read_header(std::move(cells));
    return std::nullopt;
  }
  if (cells.size() != columns_.size())
    throw std::invalid_argument(fmt::format("the record has {} fields; want {} as in the header",
                                            cells.size(), columns_.size()));
  record r;
  for (auto const column : column_of_) r.values.push_back({cells[column]});
  if (id_column_) r.id = field_value{cells[*id_column_]};
  if (keeps_all_)
    for (std::size_t i = 0; i < cells.size(); ++i)
      r.all.push_back({columns_[i], {std::move(cells[i])}});
  return r;
}

/// By the first line that is not blank.
void record_reader::begin(std::string_view text) {
  if (text.starts_with('{')) {
    format_ = format::json;
    return;
  }
  format_ = format::csv;
  auto most = std::count(text.begin(), text.end(), ',');
  for (char const mark : {';', '\t'})
    if (auto const n = std::count(text.begin(), text.end(), mark); n > most) {
      most = n;
      csv_.separate_by(mark);
    }
  if (fields_.size() != 1 || fields_.front() != "line") return;
  auto header = csv_;
  auto const whole = header.add(text) ? header.take() : std::vector<std::string>{};
  if (std::ranges::find(whole, "line") == whole.end()) format_ = format::plain;
}

void record_reader::read_header(std::vector<std::string> columns) {
  for (auto column = columns.begin(); column != columns.end(); ++column)
    if (!column->empty() && std::find(columns.begin(), column, *column) != column)
      throw std::invalid_argument(fmt::format("column {} is given twice", in_quotes(*column)));
  auto const index_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) -
                                    columns.begin());
  };
  for (auto const& field : fields_) {
    column_of_.push_back(index_of(field));
    if (column_of_.back() == columns.size()) lacks(field, "column", "the template", columns);
  }
  if (auto const id = index_of("id"); id < columns.size()) id_column_ = id;
  columns_ = std::move(columns);
}

record record_reader::read_json(std::string_view text, simdjson::dom::parser& parser) const {
  auto all = fields_of(parse_object(parser, text), text);
  std::vector<std::optional<field_value>> found(fields_.size());
  record r;
  for (auto const& [name, field] : all) {
    auto const at =
        static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), name) - fields_.begin());
    auto const is_id = name == "id";
    if ((is_id && r.id) || (at < found.size() && found[at]))
      throw std::invalid_argument(fmt::format("key {} is given twice", in_quotes(name)));
    if (at < found.size()) found[at] = field;
    if (is_id) r.id = field;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      std::vector<std::string> names;
      for (auto const& [name, field] : all) names.push_back(name);
      lacks(fields_[i], "key", "the template", names);
    }
    r.values.push_back(std::move(*found[i]));
  }
  if (keeps_all_) r.all = std::move(all);
  return r;
}

}  // namespace headway::app
