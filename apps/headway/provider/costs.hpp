/// What requests cost, as a profile reads it from their answers and from themselves.
#pragma once

#include <simdjson.h>

#include <string_view>
#include <vector>

#include "provider/rules.hpp"

namespace headway::app {

/// Returns what an answer says it has cost. `body`: as far as it is looked at; `json`: the same,
/// parsed.
std::vector<settled_cost> costs_in(simdjson::dom::element json, std::string_view body,
                                   std::vector<cost_rule> const&);
/// Returns whether costs_in() may find something.
bool may_tell_costs(std::string_view body, std::vector<cost_rule> const&);

/// Returns what the events of a stream say it has cost. Each tells all so far, in itself or in the
/// message or response that it is about: the last one holds.
std::vector<settled_cost> costs_in_stream(std::string_view body, std::vector<cost_rule> const&);

/// Returns what a request with this body allows its answer to cost, such as max_tokens. Never
/// throws.
std::vector<quota_units> reserved_by(std::string_view request_body, std::vector<cost_rule> const&);

}  // namespace headway::app
