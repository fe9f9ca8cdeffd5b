#include "run/intake.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "provider/profile.hpp"
#include "run/run_files.hpp"

namespace headway::app {
namespace {

void checking(run_options const& options, std::int64_t read, std::int64_t all) {
  if (isatty(STDERR_FILENO) == 0 || options.progress != progress_style::automatic ||
      all < (64 << 20))
    return;
  std::fputs(fmt::format("\r\033[Kchecking {}: {} %", options.jobs, 100 * read / all).c_str(),
             stderr);
  if (read == all) std::fputs("\r\033[K", stderr);
}

std::unique_ptr<journal> open_journal(run_options const& options, line_options const& lines) {
  if (options.journal.empty()) return nullptr;
  return std::make_unique<journal>(options.journal,
                                   options.jobs == "-" ? "standard input" : options.jobs,
                                   options.level, fingerprint(lines), options.again);
}

/// `folder` as the journal knows it, wherever both are.
std::string beside(std::string const& journal, std::string const& folder) {
  namespace fs = std::filesystem;
  auto const of = [](fs::path const& path) { return fs::weakly_canonical(fs::absolute(path)); };
  return of(folder).lexically_relative(of(journal).parent_path()).string();
}

bound_headers bind(run_options const& options, std::vector<std::string> others) {
  auto all = expand_headers(options.headers);
  std::ranges::move(others, std::back_inserter(all));
  // The origin of a --url whose host has a {{field}} is not known yet. A field's name may have
  // what no URL has.
  auto url = options.url;
  std::ranges::replace_if(
      url, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return {std::move(all), options.header_hosts,
          destination_of(url).origin.empty() ? options.base_url : url};
}

}  // namespace

line_options lines_of(run_options const& options) {
  line_options lines{.base_url = options.base_url,
                     .url = options.url,
                     .method = options.method,
                     .format = options.format,
                     .id = options.id,
                     .meta = options.meta,
                     .out_name = options.out_name,
                     .computes =
                         [speaks = options.speaks](job const& j) {
                           auto const& p = speaks ? *speaks : profile::of_host(host_of(j.origin));
                           return p.computes(j.method, j.url);
                         },
                     .written_by = [files = files_of(options)](
                                       auto const& path) { return files.written_by(path); }};
  lines.body = body_of(options);
  return lines;
}

intake::intake(run_options const& options, std::vector<std::string> headers,
               std::function<void(job const&)> const& on_job)
    : intake(options, lines_of(options), std::move(headers), on_job) {}

intake::intake(run_options const& options, line_options lines, std::vector<std::string> headers,
               std::function<void(job const&)> const& on_job)
    : log_(open_journal(options, lines)),
      only_(options.only),
      out_name_(options.out_name),
      jobs_(options.jobs, std::move(lines), [this](std::string_view line, std::int64_t begins) {
        if (log_) log_->check(line, begins);
      }) {
  bound = bind(options, std::move(headers));
  if (!options.out_dir.empty()) {
    if (log_) {
      bodies_key_ =
          fmt::format("bodies {} {}", beside(options.journal, options.out_dir), out_name_);
      auto const noted = log_->noted(bodies_key_);
      std::from_chars(noted.data(), noted.data() + noted.size(), own_bodies_);
    }
    bodies_.emplace(options.out_dir, own_bodies_);
    if (!out_name_.empty()) body_names_.emplace();
  }
  std::int64_t last = 0;
  if (is_stream()) {
    struct stat about {};
    fstat(jobs_.fd(), &about);
    polls_ = S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || isatty(jobs_.fd()) == 1;
    if (log_) last = log_->lines();
  } else {
    survey_ = jobs_.survey(
        [&](std::int64_t read, std::int64_t all) { checking(options, read, all); }, options.only,
        [&](job const& j) {
          claim_body_file(j);
          if (on_job) on_job(j);
        });
    note_own_bodies(survey_.lines);
    if (survey_.requests == 0)
      throw fatal(exit_usage,
                  fmt::format("{}: there is no request in it: one URL or JSON object a line",
                              options.jobs));
    for (auto const& origin : survey_.origins) bound.admit(origin);
    if (auto const unmet = bound.unmet(); !unmet.empty()) say(trimmed(unmet, "\n"));
    if (log_) log_->end_of_input();
    last = survey_.last_wanted;
  }
  if (!log_) return;
  for (auto const how : options.again) reopened_ += log_->reopen(how, last);
  before_ = log_->ended(last);
}

void intake::claim_body_file(job const& j) {
  if (!bodies_) return;
  if (body_names_)
    if (auto const earlier = body_names_->claim(j.name, j.line))
      throw fatal(exit_usage, fmt::format("{}:{}: --out-name makes {} of it, as of line {}",
                                          jobs_.name(), j.line, in_quotes(j.name), *earlier));
  if (auto const other = bodies_->in_the_way(j.line, j.name); !other.empty())
    throw fatal(
        exit_usage,
        fmt::format("{}:{}: its body would go to {}, which is there already, and not of this "
                    "run; choose another --out-dir or --out-name, or move it away",
                    jobs_.name(), j.line, in_quotes(other)));
}

void intake::note_own_bodies(std::int64_t lines) {
  if (log_ && bodies_ && !bodies_->own(lines)) log_->put({bodies_key_, std::to_string(lines)});
}

bool intake::in_doubt(job const& j) const noexcept {
  return log_ && std::ranges::binary_search(log_->intents(), j.line);
}

std::optional<job> intake::take() {
  auto next = read();
  if (next && log_ && log_->done(next->line)) return std::nullopt;
  return next;
}

std::optional<job> intake::read() {
  if (only_ > 0 && taken_ == only_) {
    at_end = true;
    return std::nullopt;
  }
  auto next = is_stream() ? jobs_.ready() : jobs_.next();
  if (next) {
    ++taken_;
    if (is_stream()) {
      bound.admit(next->origin);
      claim_body_file(*next);
      note_own_bodies(next->line);
    }
  } else if (!is_stream() || closed_) {
    at_end = true;
  } else if (readable_ || !polls_) {
    readable_ = false;
    closed_ = !jobs_.fill();
  } else {
    more_may_come = false;
  }
  return next;
}

void intake::tell(standing& s, time_point) {
  s.failed_before = before_.failed;
  s.unknown_before = before_.unknown;
  if (is_stream()) return;
  s.total = survey_.wanted;
  s.before = before_.success + before_.lost();
}

void intake::watch(poller& events, bool wanted) const {
  if (polls_) events.watch(jobs_.fd(), wanted && !ended() && !readable_ ? EPOLLIN : 0U);
}

bool intake::ready(poller::event const& e) noexcept {
  if (e.fd != jobs_.fd()) return false;
  more_may_come = readable_ = true;
  return true;
}

std::int64_t intake::left() const {
  auto left = survey_.requests;
  if (log_ == nullptr) return left;
  for (auto const how : {final_outcome::success, final_outcome::failed, final_outcome::unknown})
    left -= log_->count(how);
  return left;
}

void intake::note_selection(std::vector<selection> const& select) {
  if (log_ == nullptr) return;
  auto const before = log_->noted("select"), now = words_of(select);
  auto const shown = [](std::string const& words) {
    return words.empty() ? std::string("not given") : printable(words);
  };
  if (auto const kept = log_->count(final_outcome::success); before != now && kept > 0)
    say(fmt::format("--select was {}, and is {} now: {} earlier results stay as they are",
                    shown(before), shown(now), kept));
  log_->put({"select", now});
}

}  // namespace headway::app
