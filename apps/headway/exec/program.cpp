#include "exec/program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace headway::app {

std::string found_program(std::string const& name) {
  auto const runs = [](std::string const& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos) return runs(name) ? name : "";
  auto const* const given = std::getenv("PATH");
  std::string_view const path = given == nullptr ? "/usr/local/bin:/usr/bin:/bin" : given;
  for (std::size_t at = 0; at <= path.size() && !name.empty();) {
    auto const end = std::min(path.find(':', at), path.size());
    auto const folder = path.substr(at, end - at);
    auto whole = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (runs(whole)) return whole;
    at = end + 1;
  }
  return "";
}

std::string why_not_found(std::string const& name) {
  if (name.find('/') == name.npos) return "there is no such program in PATH";
  struct stat about {};
  if (::stat(name.c_str(), &about) != 0) return "there is no such program";
  return S_ISDIR(about.st_mode) ? "it is a folder" : "it is not executable";
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace headway::app
