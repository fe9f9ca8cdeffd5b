/// What a report says, whatever it is written as.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/figures.hpp"
#include "whatif/forecast.hpp"

namespace headway::app {

/// What is reported: the trace or the results at least.
struct reported {
  std::string title{};  ///< of the file
  std::optional<traced_figures> trace{};
  std::optional<forecast> laws{};  ///< of the trace
  std::optional<result_figures> results{};
};

struct report_section {
  using row = std::vector<std::string>;
  std::string title{};
  std::vector<row> rows{};           ///< the first has the heads; none: there is no table
  std::vector<std::string> notes{};  ///< sentences
};

struct report_content {
  std::string title{};
  std::vector<std::string> summary{};  ///< sentences
  std::vector<report_section> sections{};
};

report_content content_of(reported const&);

}  // namespace headway::app
