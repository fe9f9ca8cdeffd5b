/// Values that a pointer reaches in JSON: RFC 6901, and `*` for any element or member.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway::app {

/// Adds to `found` all values that `pointer` reaches, up to a bound.
void reach(simdjson::dom::element from, std::string_view pointer,
           std::vector<simdjson::dom::element>& found);

/// Returns the text of a value; a container that is not empty counts as its JSON; nullopt of null
/// and of an empty container.
std::optional<std::string> text_of(simdjson::dom::element);

/// Returns whether it is worth parsing `json` for what `pointer` names.
bool may_have(std::string_view json, std::string_view pointer);

/// Returns the sum of the numbers that the pointers reach; nullopt where there is none.
std::optional<double> sum_of(simdjson::dom::element json, std::vector<std::string> const& pointers);

}  // namespace headway::app
