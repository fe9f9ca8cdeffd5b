/// The laws that --law names, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/law/shipped.hpp"

namespace headway::app {

std::vector<std::string> names_of_laws();
/// "seek, reno, …"
std::string law_names();

/// Errors: fatal(exit_usage) that lists the names.
shipped_law const& law_named(std::string_view name);

/// What a law has found out, in words: "a limit of about 48.5/s"; "" where there is nothing to
/// tell. `quotas_bind`: that no limit was met says nothing, since quotas are known.
std::string findings(any_law const&, bool quotas_bind);

}  // namespace headway::app
