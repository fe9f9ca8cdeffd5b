/// What people are told, in words.
#pragma once

#include <string>
#include <string_view>

#include "headway/time.hpp"

namespace headway::app {

/// Writes one line to standard error, with our name before it.
void say(std::string_view);

/// Returns a time in words: "1 h 2 min", "3 min 4 s", "12 s", "5.2 s".
std::string in_words(duration);
/// Returns the same, but "40 ms" below a second.
std::string short_in_words(duration);

/// Returns a rate as a person writes it: "1,710/s", "29.4/s", "30/min", "2/h".
std::string rate_in_words(double per_second);

}  // namespace headway::app
