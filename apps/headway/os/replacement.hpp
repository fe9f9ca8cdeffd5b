/// A file that is there whole or not at all.
#pragma once

#include <fcntl.h>

#include <string>
#include <string_view>

#include "os/file.hpp"

namespace headway::app {

/// Written beside `path` as `path`.new, mode 0600, until put() puts it in its place; destroyed
/// earlier, it leaves what was there. A device or a pipe is written to as it is. Errors are
/// `fatal`, as those of file.
class replacement {
 public:
  /// `begins`: O_TRUNC, or O_APPEND, which takes up what is in `path`.new.
  explicit replacement(std::string path, int begins = O_TRUNC);
  ~replacement();
  replacement(replacement const&) = delete;
  replacement& operator=(replacement const&) = delete;

  void append(std::string_view bytes) { file_.append(bytes); }

  /// Every user may read it.
  void let_all_read();

  /// Makes the content durable.
  void sync() { file_.sync(); }

  /// Puts it in the place of `path`. The name is not yet durable: see file::sync_name().
  void put();

  /// The same, unless there is something: then false, and it stays.
  bool put_new();

  /// Makes the name durable, too.
  void sync_name() { file_.sync_name(); }

 private:
  std::string path_;
  bool in_place_;
  file file_;
  bool put_ = false;
};

}  // namespace headway::app
