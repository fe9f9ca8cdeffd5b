/// What a profile's file says, read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "provider/judgement.hpp"
#include "provider/price.hpp"

namespace headway::app {

inline constexpr std::size_t body_looked_at = std::size_t{1} << 20;  // bytes; what rules see

struct status_range {
  int from = 0, to = 0;
};

/// Every condition that is given must hold.
struct rule {
  std::vector<status_range> status{};
  std::string header{};   ///< in lower case
  std::string pointer{};  ///< into a JSON body; `*` stands for any element of an array
  std::string xml{};      ///< the text of an element
  std::vector<std::string> in{};
  std::vector<std::string> contains{};
  reaction means = reaction::rate;
  std::optional<duration> hold{};
  std::string hold_pointer{};
  std::string remainder{};   ///< pointer: of the answer's, what goes again …
  std::string into{};        ///< … as this member of the request's body
  std::string limit{};       ///< pointer: how many of a quota there are …
  std::string limit_name{};  ///< … and to the name that says of what, and in which time
  std::string collect{};     ///< member of the answer that adds up from its parts
  bool bulk = false;  ///< items of the answer whose status is in `in`: those operations again

  bool partial() const noexcept { return bulk || !remainder.empty(); }
};

/// Where a provider says what a request costs. All that a list of pointers reaches is summed.
struct cost_rule {
  std::string quota{};
  std::vector<std::string> pointer{};  ///< into an answer: what it has cost
  std::vector<std::string> sized{};    ///< … of which the request's own size made up
  std::vector<std::string> reserve{};  ///< into a request: what it allows; the first that is there
  double per_byte = 0;
};

/// Where an answer's body says what remains of a quota that refills all the time.
struct quota_rule {
  std::string name{};
  std::string limit{};      ///< pointer to a number, as are …
  std::string remaining{};  ///< … what is left …
  std::string restore{};    ///< … and what comes back in a second
};

/// All of a file.
struct profile_rules {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<rule> list;
  std::vector<cost_rule> costs;
  std::vector<cost_rule> usage;  ///< what prices count; no quotas
  std::vector<price> prices;
  std::vector<std::string> computes;  ///< ends of paths: a POST there only computes
  std::vector<quota_rule> quotas;
  std::vector<std::string> paths;   ///< prefixes; `*` is any segment
  std::vector<std::string> fields;  ///< pointers into a request
};

}  // namespace headway::app
