/// Named lines: some lines of JOBS, for people.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headway::app {

/// Names lines up to a number of them, and counts the rest.
class named_lines {
 public:
  void add(std::int64_t line) {
    if (named_.size() < named_max)
      named_.push_back(line);
    else
      ++more_;
  }
  bool empty() const noexcept { return named_.empty(); }
  /// "line 3", or "lines 3, 5, 8 and 12 more".
  std::string words() const {
    return fmt::format("line{} {}{}", named_.size() > 1 ? "s" : "", fmt::join(named_, ", "),
                       more_ > 0 ? fmt::format(" and {} more", more_) : "");
  }

 private:
  static constexpr std::size_t named_max = 20;
  std::vector<std::int64_t> named_;
  std::int64_t more_ = 0;
};

}  // namespace headway::app
