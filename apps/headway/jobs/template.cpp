#include "jobs/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr auto no_field = static_cast<std::size_t>(-1);

void append_percent_encoded(std::string& out, std::string_view text) {
  for (char const c : text)
    if (is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
}

/// Whether the end of `text` is within a string literal, where its beginning is if `within`.
bool ends_in_string(std::string_view text, bool within) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '"')
      within = !within;
    else if (within && text[i] == '\\')
      ++i;
  return within;
}

}  // namespace

request_template::request_template(std::string_view url, std::optional<std::string_view> body)
    : url_(read(url, true)),
      body_(read(body.value_or(""), false)),
      has_body_(body.has_value()),
      has_json_body_(false) {
  auto const start = trimmed(body.value_or(""), " \t\r\n");
  has_json_body_ = start.starts_with('{') || start.starts_with('[');
}

text_template::text_template(std::string_view text) {
  for (;;) {
    auto const begin = text.find("{{");
    auto const before = text.substr(0, begin);
    if (begin == text.npos) {
      pieces_.push_back({std::string(before), {}});
      return;
    }
    text.remove_prefix(begin);
    auto const end = text.find("}}");
    auto const name = end == text.npos ? std::string_view() : trimmed(text.substr(2, end - 2));
    if (name.empty() || name.find_first_of("{}\n") != name.npos)
      throw std::invalid_argument(
          fmt::format("{} is not a {{{{field}}}}", in_quotes(text.substr(0, 24))));
    pieces_.push_back({std::string(before), std::string(name)});
    text.remove_prefix(end + 2);
  }
}

request_template::pieces request_template::read(std::string_view text, bool is_url) {
  pieces found;
  bool in_string = false;
  text_template const split(text);
  for (auto const& [before, field] : split.pieces()) {
    in_string = ends_in_string(before, in_string);
    auto const where = is_url ? place::url : in_string ? place::string : place::value;
    found.push_back({before, field.empty() ? no_field : index_of(field), where});
  }
  return found;
}

std::size_t request_template::index_of(std::string_view name) {
  auto const at = std::find(fields_.begin(), fields_.end(), name);
  auto const index = static_cast<std::size_t>(at - fields_.begin());
  if (at == fields_.end()) fields_.emplace_back(name);
  return index;
}

std::string request_template::filled(pieces const& all, std::span<field_value const> values) {
  std::string out;
  for (auto const& [before, field, where] : all) {
    out += before;
    if (field == no_field) break;
    auto const& value = values[field];
    if (where == place::url) {
      append_percent_encoded(out, value.text);
    } else if (where == place::value && value.is_json) {
      out += value.text;
    } else {
      auto const opening = out.size();
      append_quoted(out, value.text);
      if (where == place::value) continue;
      out.erase(opening, 1);
      out.pop_back();
    }
  }
  return out;
}

std::string request_template::url(std::span<field_value const> values) const {
  return filled(url_, values);
}

std::string request_template::body(std::span<field_value const> values) const {
  return filled(body_, values);
}

std::string expand_body(std::string const& option) {
  if (!option.starts_with('@')) return option;
  auto const path = option.substr(1);
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path))
    throw fatal(exit_usage, fmt::format("--body {}: cannot read it", option));
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace headway::app
