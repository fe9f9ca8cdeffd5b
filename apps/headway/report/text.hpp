/// A run's figures as pages to read.
#pragma once

#include <optional>
#include <string>

#include "report/figures.hpp"

namespace headway::app {

/// What is reported: one of the two at least.
struct reported {
  std::string title{};  ///< of the file
  std::optional<traced_figures> trace{};
  std::optional<result_figures> results{};
};

/// Returns Markdown, for a pull request.
std::string in_markdown(reported const&);
/// Returns one HTML page with everything in it: no script, no request to anywhere.
std::string in_html(reported const&);

}  // namespace headway::app
