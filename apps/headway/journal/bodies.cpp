#include "journal/bodies.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

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

std::string body_path(std::string_view folder, std::int64_t line, std::string_view type) {
  auto const kind = lower(type);
  auto const extension = kind.find("json") != kind.npos ? "json"
                         : kind.starts_with("text/")    ? "txt"
                                                        : "bin";
  return fmt::format("{}{}{:08}.{}", folder, folder.ends_with('/') ? "" : "/", line, extension);
}

void write_bodies(std::span<kept_body const> bodies, bool sync) {
  for (auto const& [path, bytes] : bodies) {
    replacement out(path);
    out.append(bytes);
    if (sync) out.sync();
    out.put();
    if (sync && &bytes == &bodies.back().bytes) out.sync_name();
  }
}

}  // namespace headway::app
