#include "run/table.hpp"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.hpp"
#include "base/url.hpp"
#include "jobs/csv.hpp"
#include "journal/input_order.hpp"
#include "os/replacement.hpp"

namespace headway::app {
namespace {

using cells = std::vector<std::string>;

constexpr std::size_t columns_max = 10'000;
constexpr std::size_t pending_max = 256 * 1024;
constexpr std::string_view endings[] = {"outcome", "status", "attempts", "reason"};

/// The members of an object, as cells: text as text, null as nothing, else JSON.
class json_cells {
 public:
  /// Not an object: it has none.
  explicit json_cells(std::string_view text) {
    simdjson::dom::object object;
    if (parser_.parse(simdjson::padded_string(text)).get(object) != simdjson::SUCCESS) return;
    auto const members = members_of(text);
    for (auto const [name, value] : object) {
      auto const raw = members[all_.size()].value;
      std::string_view string;
      auto const is_text = value.get(string) == simdjson::SUCCESS;
      all_.push_back({std::string(name), value.is_null() ? ""
                                         : is_text       ? std::string(string)
                                                         : compact(raw)});
    }
  }

  std::string operator[](std::string_view name) const {
    auto const at = std::ranges::find(all_, name, &std::pair<std::string, std::string>::first);
    return at == all_.end() ? "" : at->second;
  }

 private:
  simdjson::dom::parser parser_;
  std::vector<std::pair<std::string, std::string>> all_;
};

/// The columns of the input: those of a CSV, or all keys of its records in the order in which they
/// come; none where lines are requests.
class input_columns {
 public:
  explicit input_columns(jobs_file& jobs) {
    jobs.rewind(true);
    while (auto const j = jobs.next()) {
      has_meta_ = has_meta_ || !j->meta.empty();
      for (std::size_t i = 0; i < j->record.size(); ++i) {
        auto const& name = j->record[i].name;
        if (i < names_.size() && names_[i] == name) continue;  // as they mostly are
        if (names_.size() < columns_max && std::ranges::find(names_, name) == names_.end())
          names_.push_back(name);
      }
    }
    of_records_ = !names_.empty();
    if (of_records_) return;
    names_ = {"id", "url"};
    if (has_meta_) names_.emplace_back("meta");
  }

  cells const& names() const noexcept { return names_; }

  cells of(job const& j) const {
    if (!of_records_) {
      cells row = {j.id, std::string(without_query(j.url))};
      if (has_meta_) row.push_back(j.meta);
      return row;
    }
    cells row(names_.size());
    for (std::size_t i = 0; i < j.record.size(); ++i) {
      auto const& [name, value] = j.record[i];
      auto const at =
          i < names_.size() && names_[i] == name
              ? i
              : static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
      if (at < row.size() && !(value.is_json && value.text == "null")) row[at] = value.text;
    }
    return row;
  }

 private:
  cells names_;
  bool of_records_ = false, has_meta_ = false;
};

/// The part of a result that is an answer, one cell for each selection.
void add_answer(cells& row, std::vector<selection> const& select, json_cells const& result,
                bool in_files) {
  auto const body = result[in_files ? "body_file" : "body"];
  auto const success = result["outcome"] == "success";
  if (select.empty() || select.front().name.empty()) {
    row.push_back(!success ? "" : body.empty() && !in_files ? result["body_base64"] : body);
    return;
  }
  json_cells const parts(success ? body : "");
  for (auto const& part : select) row.push_back(parts[part.name]);
}

}  // namespace

void write_table(jobs_file& jobs, file const& results, run_options const& o) {
  input_columns const columns(jobs);
  auto const in_files = !o.out_dir.empty();
  cells header = columns.names(), ours;
  if (o.select.empty() || o.select.front().name.empty())
    ours.emplace_back(in_files ? "body_file" : "body");
  else
    for (auto const& part : o.select) ours.push_back(part.name);
  ours.insert(ours.end(), std::begin(endings), std::end(endings));
  for (auto& name : ours) {
    while (std::ranges::find(header, name) != header.end()) name.insert(0, "result_");
    header.push_back(name);
  }

  replacement out(o.table);
  std::string pending;
  append_csv(pending, header);
  jobs.rewind(true);
  each_last_result(results, [&](std::int64_t line, std::string_view text) {
    auto j = jobs.next();
    while (j && j->line < line) j = jobs.next();
    if (!j) return;
    json_cells const result(text);
    auto row = columns.of(*j);
    add_answer(row, o.select, result, in_files);
    for (auto const name : endings) row.push_back(result[name]);
    append_csv(pending, row);
    if (pending.size() < pending_max) return;
    out.append(pending);
    pending.clear();
  });
  out.append(pending);
  if (o.level == durability::power) out.sync();
  out.put();
  if (o.level == durability::power) out.sync_name();
}

}  // namespace headway::app
