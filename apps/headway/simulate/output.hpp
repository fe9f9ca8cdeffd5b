/// A comparison of laws as people and programs read it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenario/comparison.hpp"

namespace headway::app {

/// For a terminal. Columns that mean nothing here are left out.
std::string as_table(comparison const& c, bool digest);

/// {"scenarios": [{…, "laws": [{"law": …, "median": {…}, "p90": {…}, "runs": [{…}, …]}]}]}
std::string as_json(std::vector<comparison> const& all);

/// A header, and a line for each scenario, law and seed.
std::string as_csv(std::vector<comparison> const& all);

/// What is checked in and compared to the byte: a line for each law, and on it each figure by seed.
std::string as_golden(comparison const& c);

/// Golden results with the first `seeds` of each figure only. A law that was left out is as in
/// `is`: on fewer seeds it may run.
std::string first_seeds(std::string_view was, std::string_view is, std::size_t seeds);

/// The lines that differ, those of `was` after "- " and of `is` after "+ ".
std::string difference(std::string_view was, std::string_view is);

}  // namespace headway::app
