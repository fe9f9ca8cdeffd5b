#include "os/file_identity.hpp"

#include <sys/stat.h>

#include <system_error>

namespace headway::app {

namespace fs = std::filesystem;

namespace {

constexpr int links_max = 40;  // as the kernel follows

file_identity identity_of(struct stat const& about) {
  return {.device = about.st_dev,
          .inode = about.st_ino,
          .shareable = !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)};
}

file_identity follow(fs::path const& path, int links) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) return identity_of(about);
  std::error_code error;
  if (auto const to = fs::read_symlink(path, error); !error && links > 0)  // it would be made there
    return follow(path.parent_path() / to, links - 1);
  auto const folder = path.parent_path();
  if (folder == path) return {};
  auto found = follow(folder, links);
  if (path.has_filename()) found.rest += "/" + path.filename().string();
  return found;
}

}  // namespace

fs::path followed(fs::path path) {
  std::error_code error;
  for (int links = links_max; links > 0; --links) {
    auto const to = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / to;
  }
  return path;
}

file_identity file_identity::of(fs::path const& path) {
  return follow(fs::absolute(path), links_max);
}

file_identity file_identity::of_descriptor(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? identity_of(about) : file_identity{.shareable = true};
}

}  // namespace headway::app
