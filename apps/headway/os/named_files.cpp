#include "os/named_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"

namespace headway::app {

namespace fs = std::filesystem;

void named_files::add(std::string option, std::string const& path, bool written) {
  if (path.empty()) return;
  auto one = entry(std::move(option), path, written);
  if (one.identity.shareable) return;
  for (auto const& other : all_)
    if ((written || other.written) && other.identity == one.identity)
      throw fatal(exit_usage,
                  fmt::format("{} {} would overwrite {}", one.option, in_quotes(path),
                              other.written ? "what " + other.option + " writes" : other.option));
  if (auto const* const folder = filled_with(one))
    throw fatal(exit_usage, fmt::format("{} {} may have the name of a file that {} writes",
                                        one.option, in_quotes(path), folder->option));
  all_.push_back(std::move(one));
}

void named_files::add_written(std::string const& option, std::string const& path,
                              std::initializer_list<char const*> beside) {
  add(option, path, true);
  for (auto const* const suffix : beside)
    if (!path.empty()) add(option, path + suffix, true);
}

void named_files::add_folder(std::string option, std::string const& path,
                             std::function<bool(std::string_view)> names) {
  if (path.empty()) return;
  folders_.push_back({std::move(option), file_identity::of(path), std::move(names)});
}

void named_files::check_standard_streams() const {
  for (int const fd : {STDOUT_FILENO, STDERR_FILENO}) {
    auto const identity = file_identity::of_descriptor(fd);
    if (identity.shareable) continue;
    for (auto const& one : all_) {
      if (one.path == "-" || !(one.identity == identity)) continue;
      if (fd == STDERR_FILENO) dup2(STDOUT_FILENO, STDERR_FILENO);  // which is not that file
      throw fatal(exit_usage,
                  fmt::format("standard {} would be written to {} {}; want another file",
                              fd == STDERR_FILENO ? "error" : "output",
                              one.written ? "what " + one.option + " writes," : one.option,
                              in_quotes(one.path)));
    }
  }
}

std::string named_files::written_by(fs::path const& path) const {
  auto const asked = entry("", path.string(), false);
  for (auto const& one : all_)
    if (one.written && one.identity == asked.identity) return one.option;
  auto const* const folder = filled_with(asked);
  return folder == nullptr ? "" : folder->option;
}

named_files::named named_files::entry(std::string option, std::string const& path, bool written) {
  auto const absolute = fs::absolute(path);
  auto const standard = path == "-" && (option == "JOBS" || option == "--out");
  return {.option = std::move(option),
          .path = path,
          .identity = !standard ? file_identity::of(absolute)
                      : written ? file_identity::of_descriptor(STDOUT_FILENO)
                                : file_identity::of_descriptor(STDIN_FILENO),
          .folder = file_identity::of(absolute.parent_path()),
          .written = written};
}

named_files::filled const* named_files::filled_with(named const& one) const {
  auto const name = fs::path(one.path).filename().string();
  auto const bare =
      std::string_view(name).substr(0, name.size() - (name.ends_with(".new") ? 4 : 0));
  for (auto const& folder : folders_)
    if (one.folder == folder.identity && folder.names(bare)) return &folder;
  return nullptr;
}

bool is_numbered(std::string_view name, std::initializer_list<std::string_view> ends) noexcept {
  auto const digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits >= 8 && std::ranges::find(ends, name.substr(digits)) != ends.end();
}

}  // namespace headway::app
