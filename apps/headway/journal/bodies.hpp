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
};

/// Makes the folder `path`, durably, if it is not there, for its owner only. Errors: fatal,
/// exit_usage where it is no folder or its name is not UTF-8, exit_io where it cannot be made.
void make_body_folder(std::string const& path);

/// The file in `folder` for the body of a line's answer: 00000042.json, .txt or .bin by its
/// Content-Type.
std::string body_path(std::string_view folder, std::int64_t line, std::string_view type);

/// Writes `bodies`, all to one folder: each is there whole or not at all. `sync`: they survive a
/// power cut once this returns. Errors: fatal(exit_io).
void write_bodies(std::span<kept_body const> bodies, bool sync);

}  // namespace headway::app
