#include "pacing/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"

namespace headway::app {

void require_state(std::string const& path) {
  if (path.empty()) return;
  auto const folder = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw fatal(exit_usage, fmt::format("--state {}: there is no folder {}", in_quotes(path),
                                        printable(folder.string())));
  if (access(folder.c_str(), W_OK) != 0 ||
      (access(path.c_str(), F_OK) == 0 && access(path.c_str(), R_OK) != 0))
    throw fatal(exit_usage, fmt::format("--state {}: cannot be kept there: {}", in_quotes(path),
                                        std::strerror(errno)));
}

int parse_concurrency(std::string_view text) {
  int many = 0;
  auto const* const last = text.data() + text.size();
  auto const [end, wrong] = std::from_chars(text.data(), last, many);
  if (wrong != std::errc{} || end != last || many < 1 || many > 60'000)
    throw std::invalid_argument("want a whole number from 1 to 60000");
  return many;
}

double parse_leave(std::string_view text) {
  auto const share = parse_share(text);
  if (share > 0.95) throw std::invalid_argument("want 0% to 95%");
  return share;
}

}  // namespace headway::app
