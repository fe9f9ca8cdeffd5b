/// The bodies of answers, as files in a folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headway::app {

/// A body and the file that it goes to.
struct kept_body {
  std::string path;
  std::string bytes;
  bool first = false;    ///< of its line: a file that is there already is not ours
  bool spooled = false;  ///< the bytes are in `path`.new already
};

/// Makes the folder `path`, durably, if it is not there, for its owner only. Errors: fatal,
/// exit_usage where it is no folder or its name is not UTF-8, exit_io where it cannot be made.
void make_body_folder(std::string const& path);

/// The file in `folder` for the body of a line's answer: `name`, or, if that is "", 00000042.json,
/// .txt or .bin by its Content-Type.
std::string body_path(std::string_view folder, std::int64_t line, std::string_view type,
                      std::string_view name = {});

/// Which files for bodies are in a folder already, and are not of this run. Threads: one.
class body_files {
 public:
  /// Those of lines up to `own` are of this run. Looks once whether there is anything at all.
  body_files(std::string folder, std::int64_t own);

  bool own(std::int64_t line) const noexcept { return line <= own_; }
  /// The file that is in the way of the line's body, "" if none is.
  std::string in_the_way(std::int64_t line, std::string_view name) const;

 private:
  std::string folder_;
  std::int64_t own_;
  bool empty_;
};

/// Writes `bodies`, all to one folder: each is there whole or not at all. `sync`: they survive a
/// power cut once this returns. Errors: fatal(exit_io), also where a `first` one's file is there.
void write_bodies(std::span<kept_body const> bodies, bool sync);

}  // namespace headway::app
