#include "journal/failed_lines.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "os/replacement.hpp"

namespace headway::app {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t block_bytes = 256 * 1024;

}  // namespace

void check_failed_lines(std::string const& path, std::vector<std::string> const& ours) {
  std::error_code error;
  auto const there = fs::weakly_canonical(fs::absolute(path), error);
  auto const beside = fs::path(there.string() + ".new");  // where it is written
  for (auto const& file : ours) {
    if (file.empty()) continue;
    auto const other = fs::weakly_canonical(fs::absolute(file), error);
    if (other == there || other == beside)
      throw fatal(exit_usage, "--failed " + in_quotes(path) + " would overwrite " + file);
  }
  if (auto const folder = there.parent_path(); !fs::is_directory(folder, error))
    throw fatal(exit_usage, "--failed " + in_quotes(path) + ": there is no folder " +
                                printable(folder.string()));
  if (fs::exists(there, error) && !fs::is_regular_file(there, error))
    throw fatal(exit_usage, "--failed " + in_quotes(path) + " is not a regular file");
}

void write_failed_lines(file const& jobs, std::vector<bool> const& wanted, std::string const& path,
                        durability level) {
  replacement out(path);
  std::string block(block_bytes, '\0');
  std::string kept;
  std::size_t line = 1;
  for (off_t at = 0; line < wanted.size();) {
    auto const n = ::pread(jobs.fd(), block.data(), block.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw fatal(exit_io, fmt::format("cannot read {}: {}", jobs.path(), std::strerror(errno)));
    if (n == 0) break;
    at += n;
    for (std::string_view rest(block.data(), static_cast<std::size_t>(n)); !rest.empty();) {
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
