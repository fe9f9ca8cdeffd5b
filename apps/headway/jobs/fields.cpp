#include "jobs/fields.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <stdexcept>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t names_shown_max = 20;

}  // namespace

named_fields fields_of(simdjson::dom::object const& object, std::string_view text) {
  named_fields fields;
  auto const members = members_of(text);
  for (auto const [name, value] : object) {
    field_value field;
    if (value.is_string())
      field.text = std::string_view(value.get_string().value_unsafe());
    else
      field = {compact(members[fields.size()].value), true};
    fields.push_back({std::string(name), std::move(field)});
  }
  return fields;
}

void lacks(std::string_view field, std::string_view what, std::string_view by,
           std::vector<std::string> const& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), names_shown_max); ++i)
    list.append(i == 0 ? "" : ", ").append(in_quotes(names[i]));
  if (names.size() > names_shown_max) list += ", …";
  throw std::invalid_argument(fmt::format("there is no {} {}, which {} asks for; known: {}", what,
                                          in_quotes(field), by, list.empty() ? "none" : list));
}

field_value const* find_field(named_fields const& all, std::string_view name) noexcept {
  auto const at = std::ranges::find(all, name, &named_field::name);
  return at == all.end() ? nullptr : &at->value;
}

}  // namespace headway::app
