#include "simulate/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/fatal.hpp"

namespace headway::app {

std::vector<std::vector<setting>> combinations(std::vector<std::string> const& sweeps) {
  std::vector<std::vector<setting>> all{{}};
  for (std::string_view const sweep : sweeps) {
    auto const key = sweep.substr(0, sweep.find('='));
    auto values = sweep.substr(std::min(key.size() + 1, sweep.size()));
    auto const mark = values.find(';') == values.npos ? ',' : ';';
    if (values.ends_with(';')) values.remove_suffix(1);
    if (key.empty() || values.empty())
      throw fatal(exit_usage, fmt::format("--sweep '{}' is not KEY=VALUE,VALUE,…, nor KEY=VALUE; "
                                          "with a value that has commas",
                                          sweep));
    std::vector<std::vector<setting>> more;
    for (std::size_t at = 0; at <= values.size();) {
      auto const end = std::min(values.find(mark, at), values.size());
      for (auto combination : all) {
        combination.push_back({std::string(key), std::string(values.substr(at, end - at))});
        more.push_back(std::move(combination));
      }
      at = end + 1;
    }
    all = std::move(more);
  }
  return all;
}

}  // namespace headway::app
