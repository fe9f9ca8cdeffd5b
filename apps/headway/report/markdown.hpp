/// A report for a pull request.
#pragma once

#include <string>

#include "report/content.hpp"

namespace headway::app {

std::string in_markdown(reported const&);

}  // namespace headway::app
