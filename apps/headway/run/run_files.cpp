#include "run/run_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "pacing/memory.hpp"

namespace headway::app {

namespace fs = std::filesystem;

namespace {

/// The name that --out-dir gives a body, or its like with .new.
bool names_a_body(std::string name) {
  if (name.ends_with(".new")) name.resize(name.size() - 4);
  auto const digits = std::min(name.find_first_not_of("0123456789"), name.size());
  auto const extension = std::string_view(name).substr(digits);
  return digits >= 8 && (extension == ".json" || extension == ".txt" || extension == ".bin");
}

}  // namespace

run_files::run_files(run_options const& o) {
  if (!o.out_dir.empty()) bodies_ = file_identity::of(o.out_dir);
  any_body_name_ = !o.out_name.empty();
  add("JOBS", o.jobs, false);
  for (auto const& header : o.headers)
    if (header.starts_with('@')) add("the file of --header", header.substr(1), false);
  if (o.body && o.body->starts_with('@')) add("the file of --body", o.body->substr(1), false);
  if (o.speaks && o.speaks->name().find_first_of("./") != std::string::npos)
    add("the file of --profile", o.speaks->name(), false);
  add("the file of --cacert", o.http.ca_file, false);

  add_written("--out-dir", o.out_dir);
  add_written("--out", o.out);
  std::error_code none;              // else it cannot be opened either
  if (o.keep_order && o.out != "-")  // where put_in_order() writes
    add_written("--keep-order", fs::weakly_canonical(o.out, none).string() + ".new");
  add_written("--out", o.table, {".new"});
  if (o.out == "-" && !o.journal.empty()) add_written("--out", o.journal + ".results.jsonl");
  add_written("--journal", o.journal, {"-wal", "-shm", "-mark", "-journal"});
  if (!o.cold)
    add_written("--state", o.state.empty() ? memory::default_path() : o.state, {".new", ".lock"});
  add_written("--trace", o.trace);
  if (o.metrics.ends_with(".prom")) add_written("--metrics", o.metrics, {".new"});
  add_written("--failed", o.failed, {".new"});
  check_standard_streams();
}

std::string run_files::written_by(fs::path const& path) const {
  auto const asked = entry("", path.string(), false);
  for (auto const& one : all_)
    if (one.written && one.identity == asked.identity) return one.option;
  return kept_body(asked) ? "--out-dir" : "";
}

run_files::named run_files::entry(std::string option, std::string const& path, bool written) {
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

void run_files::add(std::string option, std::string const& path, bool written) {
  if (path.empty()) return;
  auto one = entry(std::move(option), path, written);
  if (one.identity.shareable) return;
  for (auto const& other : all_)
    if ((written || other.written) && other.identity == one.identity)
      throw fatal(exit_usage,
                  fmt::format("{} {} would overwrite {}", one.option, in_quotes(path),
                              other.written ? "what " + other.option + " writes" : other.option));
  if (kept_body(one))
    throw fatal(exit_usage,
                fmt::format("{} {} {} of a file that --out-dir writes", one.option, in_quotes(path),
                            any_body_name_ ? "may have the name" : "has the name"));
  all_.push_back(std::move(one));
}

void run_files::add_written(std::string const& option, std::string const& path,
                            std::initializer_list<char const*> beside) {
  add(option, path, true);
  for (auto const* const suffix : beside)
    if (!path.empty()) add(option, path + suffix, true);
}

/// What is said may go to a file, but to none of the run.
void run_files::check_standard_streams() const {
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

bool run_files::kept_body(named const& one) const {
  return bodies_ && one.folder == *bodies_ &&
         (any_body_name_ || names_a_body(fs::path(one.path).filename().string()));
}

}  // namespace headway::app
