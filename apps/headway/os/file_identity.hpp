/// A file's identity: which file a path leads to.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace headway::app {

/// Returns the path that `path` leads to through symbolic links, whether anything is there or not.
std::filesystem::path followed(std::filesystem::path path);

/// Which file a path leads to, through whatever links: a device and an inode. Of one that is not
/// there, those of the folder that is, and the rest of the path.
struct file_identity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string rest{};
  bool shareable = false;  ///< a pipe, a terminal, a device: it may be given twice

  static file_identity of(std::filesystem::path const&);
  static file_identity of_descriptor(int fd);
  friend bool operator==(file_identity const&, file_identity const&) = default;
};

}  // namespace headway::app
