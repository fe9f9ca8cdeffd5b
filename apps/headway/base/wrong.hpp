/// What is wrong with a text.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace headway::app {

/// Throws std::invalid_argument, formatted.
template <class... Args>
[[noreturn]] void wrong(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace headway::app
