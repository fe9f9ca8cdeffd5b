/// A report for a browser.
#pragma once

#include <string>

#include "report/content.hpp"

namespace headway::app {

/// Returns one page with everything in it: no script, no request to anywhere.
std::string in_html(reported const&);

}  // namespace headway::app
