/// Partial success: what an answer left undone of a request, and the answers of its parts as one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headway::app {

struct remainder {
  std::string body;  ///< the request's, with only what was left undone
  double share = 1;  ///< of the request
};

/// A JSON object with `rest` as its member `into`, as DynamoDB's RequestItems. nullopt where it is
/// not one or has no such member.
std::optional<remainder> with_member(std::string_view request, std::string_view into,
                                     std::string_view rest);

/// The later of two answers, with what the lists in the member `collect` of the earlier one hold
/// before its own, as DynamoDB's Responses. The later one as it is where they do not fit together.
std::string with_lists(std::string_view earlier, std::string_view later, std::string_view collect);

/// The operations of a bulk request, lines of JSON, whose items in the answer have one of these
/// statuses. nullopt where the answer's items are not the request's.
/// Source: Elasticsearch's and OpenSearch's bulk API.
std::optional<remainder> refused_operations(std::string_view request, std::string_view answer,
                                            std::span<std::string const> statuses);

/// The later of two bulk answers, with the earlier one's items where it has none: an item of the
/// earlier one that has one of these statuses is replaced. The later one as it is where they do not
/// fit together.
std::string with_items(std::string_view earlier, std::string_view later,
                       std::span<std::string const> statuses);

}  // namespace headway::app
