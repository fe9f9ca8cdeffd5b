#include "jobs/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t name_bytes_max = 251;  // of a file, which is first written as .new

/// A field alone, or a template.
text_template read(std::string_view option, std::string const& text, bool is_field) {
  try {
    return text_template(is_field ? "{{" + text + "}}" : text);
  } catch (std::invalid_argument const& wrong) {
    throw fatal(exit_usage, fmt::format("{}: {}", option, wrong.what()));
  }
}

field_value value_of(named_fields const& fields, std::string_view name, std::string_view by,
                     std::string_view what, job const& j) {
  if (auto const* const found = find_field(fields, name)) return *found;
  if (name == "line") return {std::to_string(j.line), true};
  if (name == "url" && !j.url.empty()) return {j.url};
  if (name == "id" && !j.id.empty()) return {j.id};
  std::vector<std::string> names;
  for (auto const& f : fields) names.push_back(f.name);
  lacks(name, what, by, names);
}

std::string json_of(field_value const& value) {
  return value.is_json ? value.text : json_string(in_utf8(value.text));
}

void add_member(std::string& object, std::string_view name, field_value const& value) {
  object += object.empty() ? '{' : ',';
  append_quoted(object, in_utf8(name));
  object.append(":").append(json_of(value));
}

/// One name in a folder, different for each text: what a path would act on is %2F and the like.
std::string in_file_name(std::string_view text) {
  std::string name;
  for (char const c : in_utf8(text))
    if (c == '/' || c == '%' || is_control(c))
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      name += c;
  return name;
}

}  // namespace

labels::labels(line_options const& o) {
  if (!o.id.empty()) id_ = read("--id", o.id, o.id.find("{{") == o.id.npos);
  if (!o.out_name.empty()) {
    name_ = read("--out-name", o.out_name, false);
    for (auto const& piece : name_->pieces())
      if (piece.before.find('/') != piece.before.npos)
        throw fatal(exit_usage, "--out-name is a name in the folder of --out-dir; want no / in it");
  }
  for (auto const& field : o.meta)
    if (field.empty())
      whole_ = true;
    else if (std::ranges::find(meta_, field) == meta_.end())
      meta_.push_back(field);
}

std::optional<field_value> labels::id_of(named_fields const& fields, std::int64_t line,
                                         std::string_view what) const {
  if (!id_) return std::nullopt;
  job numbered;
  numbered.line = line;
  field_value id;
  for (auto const& [before, field] : id_->pieces()) {
    id.text += before;
    if (field.empty()) break;
    auto const value = value_of(fields, field, "--id", what, numbered);
    id.text += in_utf8(value.text);
    id.is_json = value.is_json && id_->pieces().size() == 2 && id.text == value.text;
  }
  return id;
}

void labels::put_on(job& j, named_fields const& fields, std::string_view what) const {
  std::string meta;
  if (whole_)
    for (auto const& f : fields)
      if (f.name != "headers" && f.name != "header") add_member(meta, f.name, f.value);
  for (auto const& name : meta_)
    if (!whole_ || find_field(fields, name) == nullptr)
      add_member(meta, name, value_of(fields, name, "--meta", what, j));
  if (whole_ || !meta_.empty()) j.meta = meta.empty() ? "{}" : meta + '}';
  if (!name_) return;
  for (auto const& [before, field] : name_->pieces()) {
    j.name += before;
    if (field.empty()) break;
    j.name += in_file_name(value_of(fields, field, "--out-name", what, j).text);
  }
  if (j.name.empty() || j.name == "." || j.name == ".." || j.name.ends_with(".new") ||
      j.name.size() > name_bytes_max)
    throw std::invalid_argument(
        fmt::format("--out-name makes {} of it; want a file's name of 1 to {} bytes, not . or .. "
                    "and without .new at its end",
                    in_quotes(j.name), name_bytes_max));
}

}  // namespace headway::app
