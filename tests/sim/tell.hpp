/// A seed text's figure beside ours.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace headway::sim {

[[gnu::format(printf, 1, 2)]] inline std::string text(char const* format, ...) {
  char line[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

/// Prints a figure as a row of docs/measured/figures.md, and fails if it does not stand there.
inline void tell(std::string_view figure, std::string_view theirs, std::string_view ours) {
  auto const& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string const suite = test.test_suite_name();
  auto const row = "| " + suite.substr(suite.find('_') + 1) + " | " + std::string(figure) + " | " +
                   std::string(theirs) + " | " + std::string(ours) + " | `" + test.name() + "` |";
  std::printf("%s\n", row.c_str());
  static auto const page = [] {
    std::ifstream file(HEADWAY_FIGURES);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }();
  EXPECT_TRUE(page.find(row) != std::string::npos)
      << "docs/measured/figures.md does not say so; docs/figures.md has the command that writes it";
}

struct range {
  double median, min, max;
};
inline range range_of(std::vector<double> v) {
  std::ranges::sort(v);
  return {v[v.size() / 2], v.front(), v.back()};
}

}  // namespace headway::sim
