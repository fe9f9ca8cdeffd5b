/// A price: a cost that is a weighted sum of others, such as money.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "provider/quota_units.hpp"

namespace headway::app {

struct price {
  std::string name;                                   ///< of the sum: a currency
  std::vector<std::pair<std::string, double>> parts;  ///< what one of each costs
};

/// "0.15/M", "2/k", "0.01": what one costs. Throws std::invalid_argument, whose text says what is
/// wrong and what is allowed.
double parse_price_of_one(std::string_view text);

/// "input=0.15/M,output=0.60/M", in "usd" unless it begins with another name and a colon. Throws as
/// parse_price_of_one does.
price parse_price(std::string_view text);

/// Adds the sum over what is there of its parts, if any is.
void add_price(std::vector<settled_cost>& told, price const&);

}  // namespace headway::app
