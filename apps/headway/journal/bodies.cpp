#include "journal/bodies.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/replacement.hpp"

namespace headway::app {

void make_body_folder(std::string const& path) {
  if (!simdjson::validate_utf8(path))
    throw fatal(exit_usage, "--out-dir: the folder's name is not UTF-8");
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) {
    if (!S_ISDIR(about.st_mode))
      throw fatal(exit_usage, "--out-dir " + in_quotes(path) + " is not a folder");
  } else if (::mkdir(path.c_str(), 0700) != 0) {
    throw fatal(exit_io, fmt::format("cannot make the folder {}: {}", in_quotes(path),
                                     std::strerror(errno)));
  } else {
    auto const end = path.find_last_not_of('/') + 1;
    file::open(path.substr(0, end), O_RDONLY | O_DIRECTORY).sync_name();
  }
}

namespace {

constexpr std::string_view extensions[] = {"json", "txt", "bin"};

std::string path_in(std::string_view folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

}  // namespace

body_files::body_files(std::string folder, std::int64_t own)
    : folder_(std::move(folder)), own_(own) {
  std::error_code error;
  std::filesystem::directory_iterator const found(folder_, error);
  empty_ = error || found == std::filesystem::directory_iterator();
}

std::string body_files::in_the_way(std::int64_t line, std::string_view name) const {
  if (empty_ || own(line)) return {};
  struct stat about {};
  auto const there = [&](std::string const& path) { return ::lstat(path.c_str(), &about) == 0; };
  if (!name.empty()) {
    auto path = path_in(folder_, name);
    return there(path) ? path : "";
  }
  for (auto const extension : extensions)
    if (auto path = path_in(folder_, fmt::format("{:08}.{}", line, extension)); there(path))
      return path;
  return {};
}

std::string body_path(std::string_view folder, std::int64_t line, std::string_view type,
                      std::string_view name) {
  if (!name.empty()) return path_in(folder, name);
  auto const kind = lower(type);
  auto const at = kind.find("json") != kind.npos ? 0U : kind.starts_with("text/") ? 1U : 2U;
  return path_in(folder, fmt::format("{:08}.{}", line, extensions[at]));
}

void write_bodies(std::span<kept_body const> bodies, bool sync) {
  for (auto const& [path, bytes, first, spooled] : bodies) {
    replacement out(path, spooled ? O_APPEND : O_TRUNC);
    out.append(bytes);
    if (sync) out.sync();
    if (!first)
      out.put();
    else if (!out.put_new())
      throw fatal(
          exit_io,
          fmt::format("{} is there already, and not of this run: it is left as it is", path));
    if (sync && &bytes == &bodies.back().bytes) out.sync_name();
  }
}

}  // namespace headway::app
