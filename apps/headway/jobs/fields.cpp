#include "jobs/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t names_shown_max = 20;

}  // namespace

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
