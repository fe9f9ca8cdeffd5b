/// So much of a named quota.
#pragma once

#include <optional>
#include <string>

namespace headway::app {

struct quota_units {
  std::string quota;
  double units = 0;
  friend bool operator==(quota_units const&, quota_units const&) = default;
};

/// What a request has cost, by its answer.
struct settled_cost {
  std::string quota;
  double units = 0;
  std::optional<double> of_size{};  ///< the part that its size made up
};

}  // namespace headway::app
