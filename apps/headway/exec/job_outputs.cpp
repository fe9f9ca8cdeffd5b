#include "exec/job_outputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t waiting_bytes_max = std::size_t{64} << 20, waiting_max = 10'000;

}  // namespace

std::string large_outputs_of(exec_options const& o) {
  return o.out.empty() || o.out == "-" ? "" : o.out + ".outputs";
}

job_outputs::job_outputs(exec_options const& options, journal* log)
    : options_(options), large_(large_outputs_of(options)) {
  if (folder_) {
    auto const key = "outputs " + options.out_dir;
    own_folder_ = log != nullptr && !log->noted(key).empty();
    std::error_code none;
    if (!own_folder_ && std::filesystem::exists(options.out_dir, none) &&
        !std::filesystem::is_empty(options.out_dir, none))
      throw fatal(exit_usage,
                  fmt::format("--out-dir {}: there is something in it that is not of this "
                              "journal; choose another, or move it away",
                              in_quotes(options.out_dir)));
    make_body_folder(options.out_dir);
    if (log != nullptr) log->put({key, "1"});
  }
  std::optional<file> results;
  if (options.out == "-") {
    results.emplace(dup(STDOUT_FILENO), "standard output");
  } else if (!options.out.empty()) {
    results = file::results(options.out);
  } else if (log != nullptr || folder_) {
    results = file::open("/dev/null", O_WRONLY);
  }
  if (results) {
    if (log != nullptr) log->start(*results);
    recorder_.emplace(log, std::move(*results), -1);
  }
  if (!options.attempts_dir.empty()) attempts_.emplace(options.attempts_dir);
  if (!options.job_log.empty()) {
    auto const goes_on = log != nullptr && log->lines() > 0;
    job_log_ = file::open(options.job_log, O_WRONLY | O_CREAT | O_APPEND | (goes_on ? 0 : O_TRUNC));
    if (!job_log_->regular() || job_log_->size() == 0) job_log_->append(job_log_head);
  }
  if (!folder_ && options.out != "-" && !options.no_print) printer_.emplace(options.keep_order);
}

std::string job_outputs::path_of(task const& t, std::string_view kind) const {
  auto const& folder = folder_ ? options_.out_dir : large_;
  return fmt::format("{}{}{:08}.{}", folder, folder.ends_with('/') ? "" : "/", t.what.number, kind);
}

/// Where its output gathers when it is much; "": in a file without a name.
std::string job_outputs::spool_path(task const& t, std::string_view kind) const {
  return folder_ || !large_.empty() ? path_of(t, kind) + ".new" : "";
}

void job_outputs::begin(task& t) {
  t.output.begin(spool_path(t, "out"));
  t.error.begin(spool_path(t, "err"));
  if (attempts_) attempts_->begin(t);
}

void job_outputs::attempted(task& t, job_result const& r, std::string_view verdict) {
  if (attempts_) attempts_->end(t, r, verdict);
}

void job_outputs::append(spool& to, std::string_view bytes) const {
  auto const size = static_cast<std::size_t>(to.size()) + bytes.size();
  if (!to.in_file() && size > spool::memory_max && !folder_ && !large_.empty())
    make_body_folder(large_);
  to.append(bytes);
}

void job_outputs::record(task& t, job_result r, std::string const& command) {
  auto output = t.output.take(), error = t.error.take();
  r.output = &output;
  r.error = &error;
  acknowledgement done{.change = 0, .order = t.order, .what = {}, .log_line = {}};
  if (job_log_) done.log_line = log_line_of(r, command);
  if (recorder_) {
    std::vector<kept_body> bodies;
    auto const out_path = keep(bodies, t, output, "out"),
               error_path = keep(bodies, t, error, "err");
    r.output_file = out_path;
    r.error_file = error_path;
    done.change = recorder_->finish(t.what.line, r.how, line_of(r), std::move(bodies));
  }
  if (printer_) {
    if (options_.tag) done.what.tag = t.what.words();
    done.what.output = std::move(output);
    done.what.error = std::move(error);
  }
  acks_.push_back(std::move(done));
}

/// The file that has an output, "" where it is in the result.
std::string job_outputs::keep(std::vector<kept_body>& bodies, task const& t, spooled const& s,
                              std::string_view kind) const {
  if (!folder_ && (!s.in || large_.empty())) return "";
  auto path = path_of(t, kind);
  bodies.push_back({.path = path,
                    .bytes = s.text,
                    .first = folder_ && !own_folder_,
                    .spooled = s.in != nullptr});
  return path;
}

void job_outputs::drop(task& t) {
  t.output.drop();
  t.error.drop();
  if (t.order > 0 && printer_) printer_->skip(t.order);
}

void job_outputs::acknowledge() {
  while (!acks_.empty() && acks_.front().change <= committed()) {
    auto done = std::move(acks_.front());
    acks_.pop_front();
    if (printer_) printer_->print(done.order, std::move(done.what));
    if (!job_log_ || job_log_failure_ || done.log_line.empty()) continue;
    try {
      job_log_->append(done.log_line);
    } catch (fatal const&) {
      job_log_failure_ = std::current_exception();
    }
  }
}

bool job_outputs::full() const noexcept {
  return (recorder_ && recorder_->pending_bytes() >= waiting_bytes_max) ||
         (printer_ &&
          (printer_->pending_bytes() >= waiting_bytes_max || printer_->pending() >= waiting_max));
}

std::exception_ptr job_outputs::failure() const {
  if (job_log_failure_) return job_log_failure_;
  auto const error = print_failure();
  return error == 0 ? nullptr : std::make_exception_ptr(unprinted(error));
}

void job_outputs::conclude() {
  if (!printer_) return;
  print_failure_ = printer_->end();
  printer_.reset();
}

}  // namespace headway::app
