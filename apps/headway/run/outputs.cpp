#include "run/outputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "journal/bodies.hpp"
#include "journal/failed_lines.hpp"
#include "journal/input_order.hpp"
#include "run/table.hpp"

namespace headway::app {
namespace {

bool to_stdout(run_options const& options) {
  return options.out == "-";
}

file open_results(run_options const& options, journal* log) {
  if (!options.out_dir.empty()) make_body_folder(options.out_dir);
  if (to_stdout(options) && log == nullptr)
    return options.keep_order ? nameless_file() : file(dup(STDOUT_FILENO), "standard output");
  auto results =
      file::results(to_stdout(options) ? options.journal + ".results.jsonl" : options.out);
  if (log != nullptr) log->start(results);
  return results;
}

/// Writes what earlier runs have done to standard output. Returns 0, or an errno that tells why it
/// could not.
int print_again(file const& results) {
  std::array<char, 65536> block;
  for (off_t at = 0;;) {
    auto const n = pread(results.fd(), block.data(), block.size(), at);
    if (n < 0)
      throw fatal(exit_io, fmt::format("cannot read {}: {}", results.path(), std::strerror(errno)));
    if (n == 0) return 0;
    auto const size = static_cast<std::size_t>(n);
    if (write_all(STDOUT_FILENO, {block.data(), size}) < size) return errno;
    at += n;
  }
}

}  // namespace

outputs::outputs(run_options const& options, journal* log, std::int64_t own_bodies)
    : outputs(options, log, own_bodies, open_results(options, log)) {}

outputs::outputs(run_options const& options, journal* log, std::int64_t own_bodies, file results)
    : options_(options), journal_(log), own_bodies_(own_bodies) {
  if (options.keep_order) {
    if (!results.regular())
      throw fatal(exit_usage,
                  fmt::format("--keep-order wants --out in a regular file, or -; {} is neither",
                              results.path()));
    unordered_.emplace(dup(results.fd()), results.path());
  }
  if (!options.table.empty()) tabled_.emplace(dup(results.fd()), results.path());
  auto const echoed = to_stdout(options) && log != nullptr && !options.keep_order;
  if (echoed) print_failure_ = print_again(results);
  recorder_.emplace(log, std::move(results), echoed && print_failure_ == 0 ? STDOUT_FILENO : -1);
}

outputs::outputs(run_options const& options, std::unique_ptr<ledger> to) : options_(options) {
  recorder_.emplace(std::move(to), -1);
}

void outputs::record(result r) {
  if (!options_.out_headers) r.headers = {};
  if (r.how == final_outcome::success) r.select = options_.select;
  if (options_.raw) {
    std::string body(r.how == final_outcome::success ? r.body : std::string_view());
    if (!body.empty() && !body.ends_with('\n')) body += '\n';
    recorder_->finish(r.line, r.how, std::move(body));
    return;
  }
  if (options_.out_dir.empty() || r.body.empty()) {
    recorder_->finish(r.line, r.how, writer_.line_of(r));
    return;
  }
  auto path = body_path(options_.out_dir, r.line, r.type, r.name);
  r.body_file = path;
  auto const text = writer_.line_of(r);
  recorder_->finish(r.line, r.how, text,
                    {{std::move(path), std::string(r.body), r.line > own_bodies_}});
}

void outputs::conclude(bool hurried) {
  recorder_->drain();
  if (!unordered_ || hurried) return;
  if (!to_stdout(options_))
    put_in_order(*unordered_, options_.level);
  else if (!write_in_order(*unordered_, STDOUT_FILENO))
    print_failure_ = errno;
}

void outputs::write_table(jobs_file& jobs) {
  if (tabled_) app::write_table(jobs, *tabled_, options_);
}

void outputs::write_failed(steady_file& jobs, record_lines const& records) {
  if (!options_.failed.empty())
    write_failed_lines(jobs, records.whole(journal_->lost()), options_.failed, options_.level);
}

}  // namespace headway::app
