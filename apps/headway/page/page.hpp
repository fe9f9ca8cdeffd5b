/// The report: one page with everything in it, for a browser without a network.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scenario/comparison.hpp"

namespace headway::app {

/// Errors: fatal where this build has no report (HEADWAY_WEB=OFF). Ask before the work begins.
void require_report();

/// HTML with plots and tables of `comparisons`; `command` is what was typed, "" for nothing.
/// Timelines are thinned to at most 600 points. Errors: those of require_report().
std::string report_page(std::span<comparison const> comparisons, std::string_view command = {});

}  // namespace headway::app
