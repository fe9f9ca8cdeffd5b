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

/// A line of costs by bytes: units = per_byte × bytes + constant. Zero where nothing is known.
struct cost_line {
  double per_byte = 0;
  double constant = 0;
  friend bool operator==(cost_line const&, cost_line const&) = default;
};

/// What a run knows of a quota, worth keeping for the next one.
struct known_quota {
  std::string name;
  double limit = 0;       ///< of one that refills all the time, else 0
  double per_second = 0;  ///< … so fast
  cost_line whole{};      ///< what requests cost
  cost_line sized{};      ///< the part that their size makes up
  friend bool operator==(known_quota const&, known_quota const&) = default;
};

}  // namespace headway::app
