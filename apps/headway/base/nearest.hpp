/// The nearest of known words to one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway::app {

/// Returns the known word that was probably meant: a few letters wrong, left out or exchanged, or a
/// beginning that is the only one's; "" where none is near.
std::string nearest(std::string_view word, std::vector<std::string> const& known);

/// Returns `; did you mean "X"?`, "" where none is near.
std::string did_you_mean(std::string_view word, std::vector<std::string> const& known);

}  // namespace headway::app
