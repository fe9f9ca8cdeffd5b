/// Pages for a browser, each one file with everything in it.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// A page of web/ as the build makes it, in two parts between which its data stand. A build with
/// HEADWAY_WEB=OFF has none: both parts are empty.
struct web_page {
  std::string_view head, tail;

  bool built() const noexcept { return !head.empty(); }
  /// Returns the page with `json` as its data. No text within ends the element that they are in.
  std::string around(std::string_view json) const;
};

}  // namespace headway::app
