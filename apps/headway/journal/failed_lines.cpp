#include "journal/failed_lines.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "os/replacement.hpp"

namespace headway::app {
namespace fs = std::filesystem;

void check_folder(std::string_view option, std::string const& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw fatal(exit_usage, fmt::format("{} {} is a folder; want a file", option, in_quotes(path)));
  auto const folder = fs::weakly_canonical(fs::absolute(path), error).parent_path();
  if (!fs::is_directory(folder, error))
    throw fatal(exit_usage, fmt::format("{} {}: there is no folder {}", option, in_quotes(path),
                                        printable(folder.string())));
}

void check_replaceable(std::string_view option, std::string const& path) {
  check_folder(option, path);
  std::error_code error;
  auto const there = fs::weakly_canonical(fs::absolute(path), error);
  if (fs::exists(there, error) && !fs::is_regular_file(there, error))
    throw fatal(exit_usage, fmt::format("{} {} is not a regular file", option, in_quotes(path)));
}

void write_failed_lines(steady_file& jobs, std::vector<bool> const& wanted, std::string const& path,
                        durability level) {
  replacement out(path);
  std::string kept;
  std::size_t line = 1;
  for (std::size_t i = 0; line < wanted.size(); ++i) {
    auto rest = jobs.block(i);
    if (rest.empty()) break;
    while (!rest.empty()) {
      auto const end = rest.find('\n');
      auto const part = rest.substr(0, end == rest.npos ? end : end + 1);
      if (line < wanted.size() && wanted[line]) kept += part;
      if (end != rest.npos) ++line;
      rest.remove_prefix(part.size());
    }
    out.append(kept);
    kept.clear();
  }
  if (level == durability::power) out.sync();
  out.put();
  if (level == durability::power) out.sync_name();
}

}  // namespace headway::app
