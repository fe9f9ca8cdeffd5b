#include "run/runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <unordered_set>
#include <utility>

#include "command.hpp"
#include "headway/driver/machine_pace.hpp"
#include "headway/headway.hpp"
#include "headway/http/classify.hpp"
#include "run/bodies.hpp"
#include "run/canary.hpp"
#include "run/clock.hpp"
#include "run/failed_lines.hpp"
#include "run/header_commands.hpp"
#include "run/headers.hpp"
#include "run/input_order.hpp"
#include "run/jobs_file.hpp"
#include "run/laws.hpp"
#include "run/poller.hpp"
#include "run/profile.hpp"
#include "run/quota_book.hpp"
#include "run/recorder.hpp"
#include "run/redirect.hpp"
#include "run/result.hpp"
#include "run/template.hpp"
#include "run/text.hpp"
#include "run/trace.hpp"

namespace headway::app {
namespace {

constexpr std::size_t requests_max = 4096;  // in memory at once
constexpr int refused_in_a_row_max = 8;     // that a quota excuses
constexpr std::size_t request_bytes_max = std::size_t{64} << 20;
constexpr std::size_t recorder_bytes_max = std::size_t{64} << 20;
constexpr std::size_t scopes_max = 1000;
constexpr std::size_t stopped_max = 10'000;  // accounts that nothing more goes to
constexpr int together_max = 16;             // scopes whose pace is the machine's
constexpr int descriptors_of_ours = 48;      // files, timers, names that are looked up
constexpr int renewals_max = 5;              // of a refused credential, that fail

/// SIGINT and SIGTERM as a descriptor; made before any thread is, so that all of them inherit the
/// mask.
class signals {
 public:
  signals() {
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~signals() { close(fd_); }
  signals(signals const&) = delete;
  signals& operator=(signals const&) = delete;

  int fd() const noexcept { return fd_; }
  /// The signal that has come, or 0.
  int take() noexcept {
    signalfd_siginfo info{};
    return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  int fd_;
};

/// As many descriptors as we may have; returns how many connections that leaves room for.
int connections_max() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur, 64, 65536)) - descriptors_of_ours;
}

/// The bytes of a request's body_file; nullopt where it can no longer be read.
std::optional<std::string> read_file(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content(std::istreambuf_iterator<char>(in), {});
  if (!in) return std::nullopt;
  return content;
}

/// One limit of a server, as far as we know: an origin, a credential, and what the job says.
struct scope {
  std::string account;  // origin, credential and what the job says: they are stopped together
  std::string name;     // without the credential
  std::shared_ptr<machine_pace> machine;  // null: it paces alone
  traced_governor governor;
  quota_book book;
  held_back held{};             // what the book holds the next request back for
  reason shown = reason::none;  // why something waits, since it was last looked at
  std::vector<std::uint32_t>
      by_ticket;  // index into the runner's requests, by the ticket's low half
  profile const* speaks = nullptr;
  int refused_in_a_row = 0;
  time_point wake = time_point::min();
  bool renewable = false;  // it has headers of --header-cmd
  bool parked = false;
  bool stopped = false;  // nothing more goes there

  int in_flight() const noexcept { return governor.in_flight(); }
  std::size_t waiting() const noexcept { return governor.waiting(); }
  time_point held_until() const noexcept { return governor.held_until(); }
};

/// A request that has been read and has not ended.
struct request {
  job what;
  scope* where = nullptr;
  ticket id{};
  std::vector<std::string> headers;
  std::string content;  // of body_file
  time_point read{};
  std::optional<time_point> first_sent{};
  time_point sent{};
  int attempts = 0;
  request_size size{};
  quota_receipt receipt{};
  bool held = false;  // by the book, since its last attempt
  int throttled = 0;
  std::string said;    // what the server called the last refusal
  std::string so_far;  // the answer to what has been done of it, where something was left
  std::vector<std::string> hops;  // URLs that have sent it on
  std::uint64_t values = 0;       // generation of --header-cmd's, in the last attempt
  bool denied = false;            // a good status, but the profile says that it failed
  bool renewed = false;           // it goes again with new ones
  bool out = false;               // its turn has come, and it has not been answered
  bool intended = false;          // the journal knows that it may have been sent
  std::uint64_t intent = 0;       // number of that change

  std::size_t bytes() const noexcept {
    return what.url.size() + (what.body ? what.body->size() : 0) + what.meta.size() + so_far.size();
  }
};

class runner {
 public:
  explicit runner(run_options const& options)
      : options_(options),
        connections_max_(connections_max()),
        scopes_(scopes_max, [this](std::string_view key) { return make_scope(key); }),
        chance_(seed()),
        began_(clock_now()),
        header_commands_(events_, options.header_commands, options.header_ttl),
        progress_(options.progress, began_),
        http_(events_, options.http,
              [this](std::uint64_t key, reply const& r) { on_reply(key, r); }) {}

  int run() {
    open_input();
    if (options_.dry_run) return plan();
    if (!obtain_values()) return 128 + signal_;
    if (!options_.cold) recall_what_was_learned();
    open_output();
    loop();
    return conclude();
  }

 private:
  static std::uint64_t seed() {
    std::random_device entropy;
    return std::uint64_t{entropy()} << 32 | entropy();
  }

  // ── before ──────────────────────────────────────────────────────────────────────────────────

  void open_input() {
    if (options_.concurrency_ceiling > connections_max_)
      throw fatal(
          exit_usage,
          fmt::format("--concurrency {}: the limit of {} open files (ulimit -Hn) leaves room "
                      "for {}; want from 1 to {}",
                      options_.concurrency_ceiling, connections_max_ + descriptors_of_ours,
                      connections_max_, connections_max_));
    auto const from_stdin = options_.jobs == "-";
    line_options lines{.base_url = options_.base_url,
                       .url = options_.url,
                       .method = options_.method,
                       .format = options_.format};
    if (options_.body) lines.body = expand_body(*options_.body);
    if (!options_.journal.empty())
      journal_ =
          std::make_unique<journal>(options_.journal, from_stdin ? "standard input" : options_.jobs,
                                    options_.level, fingerprint(lines));
    // The origin of a --url whose host has a {{field}} is not known yet.
    auto given = expand_headers(options_.headers);
    for (auto& line : header_commands_.stand_ins()) given.push_back(std::move(line));
    headers_ = bound_headers(std::move(given), options_.header_hosts,
                             origin(options_.url).empty() ? options_.base_url : options_.url);
    jobs_ =
        std::make_unique<jobs_file>(options_.jobs, std::move(lines), [this](std::string_view line) {
          if (journal_) journal_->check(line);
        });
    if (jobs_->is_stream()) {
      struct stat about {};
      stdin_polls_ = fstat(jobs_->fd(), &about) == 0 && !S_ISREG(about.st_mode);
      if (journal_) {
        reopen(journal_->lines());
        auto const before = journal_->ended(journal_->lines());
        lost_before_ = before.failed + before.unknown;
      }
      return;
    }
    survey_ = jobs_->survey([this](std::int64_t read, std::int64_t all) { checking(read, all); },
                            options_.only);
    progress_.clear();
    if (survey_.requests == 0)
      throw fatal(exit_usage,
                  fmt::format("{}: there is no request in it: one URL or JSON object a line",
                              options_.jobs));
    for (auto const& origin : survey_.origins) headers_.admit(origin);
    if (journal_) journal_->end_of_input();
    standing_.total = survey_.wanted;
    if (journal_) {
      reopen(survey_.last_wanted);
      auto const before = journal_->ended(survey_.last_wanted);
      lost_before_ = before.failed + before.unknown;
      standing_.before = before.success + lost_before_;
    }
  }

  /// Waits for the first values of --header-cmd. False if a signal came instead.
  bool obtain_values() {
    events_.watch(signals_.fd(), EPOLLIN);
    while (!header_commands_.empty() && header_commands_.generation() == 0) {
      header_commands_.flush(clock_now());
      if (header_commands_.failures() > 0) throw fatal(exit_usage, header_commands_.problem());
      for (auto const& e : events_.wait(header_commands_.wakeup()))
        if (!header_commands_.ready(e) && e.fd == signals_.fd()) signal_ = signals_.take();
      if (signal_ != 0) return false;
    }
    values_ = header_commands_.generation();
    return true;
  }

  void reopen(std::int64_t last_line) {
    for (auto const how : options_.again) reopened_ += journal_->reopen(how, last_line);
  }

  void checking(std::int64_t read, std::int64_t all) {
    if (isatty(STDERR_FILENO) == 0 || options_.progress != progress_style::automatic ||
        all < (64 << 20))
      return;
    std::fputs(fmt::format("\r\033[Kchecking {}: {} %", options_.jobs, 100 * read / all).c_str(),
               stderr);
    if (read == all) std::fputs("\r\033[K", stderr);
  }

  int plan() const {
    auto const origins = fmt::format("{}", fmt::join(survey_.origins, ", "));
    fmt::print("{}: {} requests in {} lines to {}{}\n", options_.jobs,
               jobs_->is_stream() ? std::string("?") : std::to_string(survey_.requests),
               survey_.lines, origins, survey_.origins.size() > 1 ? ", …" : "");
    fmt::print("results: {}\njournal: {}\n", options_.out,
               options_.journal.empty() ? "none" : options_.journal);
    if (reopened_ > 0) fmt::print("to be done again: {}\n", reopened_);
    if (options_.only > 0) fmt::print("only: the first {}\n", options_.only);
    if (standing_.before > 0) fmt::print("already done: {}\n", standing_.before);
    fmt::print("law: {}, {}\n", options_.law.name, options_.law.what);
    if (!survey_.all_idempotent)
      fmt::print(
          "some requests are not idempotent: none of them is sent again once it may have been "
          "carried out{}\n",
          options_.retry_unsafe ? ", except that --retry-unsafe allows it" : "");
    return exit_ok;
  }

  void open_output() {
    if (!options_.out_dir.empty()) make_body_folder(options_.out_dir);
    auto const to_stdout = options_.out == "-";
    auto results =
        to_stdout && !journal_
            ? options_.keep_order ? nameless_file() : file(dup(STDOUT_FILENO), "standard output")
            : file::results(to_stdout ? options_.journal + ".results.jsonl" : options_.out);
    if (journal_) journal_->start(results);
    if (options_.keep_order) {
      if (!results.regular())
        throw fatal(exit_usage, fmt::format("--keep-order wants --out in a regular file, or -; {} "
                                            "is neither",
                                            results.path()));
      unordered_.emplace(dup(results.fd()), results.path());
    }
    auto const echoed = to_stdout && journal_ && !options_.keep_order;
    if (echoed) say_again(results);
    recorder_ =
        std::make_unique<recorder>(journal_.get(), std::move(results), echoed ? STDOUT_FILENO : -1);
    events_.watch(recorder_->event_fd(), EPOLLIN);
    if (!options_.trace.empty()) {
      trace_ = std::make_unique<trace>(options_.trace);
      trace_->head({.law = options_.law, .settings = settings(), .began = began_});
    }
  }

  void keep_order() const {
    if (options_.out == "-" && !write_in_order(*unordered_, STDOUT_FILENO))
      throw fatal(exit_io, "standard output is closed");
    if (options_.out != "-") put_in_order(*unordered_, options_.level);
  }

  /// What earlier runs have done, for whoever reads standard output.
  static void say_again(file const& results) {
    std::array<char, 65536> block;
    for (off_t at = 0;;) {
      auto const n = pread(results.fd(), block.data(), block.size(), at);
      if (n <= 0) return;
      if (write_all(STDOUT_FILENO, {block.data(), static_cast<std::size_t>(n)}) <
          static_cast<std::size_t>(n))
        return;
      at += n;
    }
  }

  governor_settings settings() const {
    return {.attempts_max = options_.attempts_max,
            .queue_max = requests_max,
            .hint_max = options_.wait_max,
            .throttled = options_.law.throttled,
            .rate_ceiling = options_.rate_ceiling,
            .in_flight_max =
                options_.concurrency_ceiling > 0 ? options_.concurrency_ceiling : connections_max_,
            .budget = options_.budget};
  }

  profile const& profile_of(std::string_view origin) const {
    return options_.speaks ? *options_.speaks : profile::of_host(host_of(origin));
  }

  scope make_scope(std::string_view key) {
    auto const number = scopes_made_++;
    auto const end = key.find('\n');
    auto const within = key.rfind('\n');
    auto const given = key.rfind('\n', within - 1);
    std::string name(key.substr(0, end));
    for (auto const part : {key.substr(given + 1, within - given - 1), key.substr(within + 1)})
      if (!part.empty()) name.append(" ").append(part);
    name = printable(name);
    auto const known = memory_.recall(name);
    auto machine = join_machine(key, known);
    traced_governor governor(trace_.get(), number, name, options_.law, settings(), known, machine);
    auto const* const speaks = &profile_of(key.substr(0, end));
    auto const quotas = memory_.recall_quotas(name);
    quota_book book(options_.quotas, speaks->costs_of_a_byte());
    book.remember(clock_now(), quotas.what, quotas.age);
    return {.account = std::string(key.substr(0, within)),
            .name = std::move(name),
            .machine = std::move(machine),
            .governor = std::move(governor),
            .book = std::move(book),
            .by_ticket = {},
            .speaks = speaks};
  }

  /// Null where it cannot be shared. Said, once, if that is something to put right: not what the
  /// machine is like, such as one without a folder to write to.
  std::shared_ptr<machine_pace> join_machine(std::string_view key,
                                             std::optional<remembered> const& known) {
    std::erase_if(machines_, [](auto const& m) { return m.expired(); });
    auto const* const s = std::get_if<seek>(&options_.law.law.choice);
    if (options_.alone || s == nullptr || machines_.size() >= together_max) return nullptr;
    try {
      auto machine = std::make_shared<machine_pace>(
          machine_pace::default_folder(), fmt::format("run\n{}\n{}", key, s->leave),
          known ? with_memory(options_.law, *known).law : options_.law.law);
      machines_.push_back(machine);
      return machine;
    } catch (std::system_error const&) {
    } catch (std::runtime_error const& e) {
      if (!std::exchange(said_alone_, true))
        say(fmt::format("it paces alone (--alone): {}", e.what()));
    }
    return nullptr;
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────

  void loop() {
    while (true) {
      auto const now = clock_now();
      if (auto const failed = recorder_->failure()) std::rethrow_exception(failed);
      if (options_.time_max && now - began_ >= *options_.time_max && !draining_) {
        out_of_time_ = true;
        draining_ = true;
      }
      if (recorder_->echo_closed()) draining_ = true;
      for (auto const& t : options_.stop_if)
        if (crossed(t, 20)) stop(fmt::format("{} ({})", t.text, count_of(t).in_words()));
      send_committed();
      if (!draining_) {
        renew_values(now);
        admit(now);
        pump(now);
      }
      show(now);
      if (ended()) return;
      for (auto const& e : events_.wait(wakeup(now))) dispatch(e);
      http_.flush();
      if (hurried_) return;
    }
  }

  void renew_values(time_point now) {
    header_commands_.flush(now);
    auto const failures = header_commands_.failures();
    if (failures > std::exchange(renewals_failed_, failures)) {
      if (header_commands_.refused() && failures >= renewals_max)
        stop(fmt::format("{}, {} times, and the value before was refused (401)",
                         header_commands_.problem(), failures));
      else if (failures == 1)
        say(fmt::format("{}; it is tried again", header_commands_.problem()));
    }
    if (std::exchange(values_, header_commands_.generation()) == values_) return;
    for (auto& [key, s] : scopes_) s.wake = now;
  }

  /// Nothing more goes out, for good.
  void stop(std::string why) {
    if (stopped_.empty()) stopped_ = std::move(why);
    draining_ = true;
  }

  struct tally {
    std::int64_t count, all;
    std::string_view what, of;
    std::string in_words() const { return fmt::format("{} of {} {} {}", count, all, of, what); }
  };

  /// What `t` counts, of this run. An attempt that is still out is none yet.
  tally count_of(threshold const& t) const noexcept {
    auto const& s = standing_;
    switch (t.what) {
      case threshold::counted::failed:
        return {s.failed, s.ended(), "failed", "requests"};
      case threshold::counted::unknown:
        return {s.unknown, s.ended(), "are unknown", "requests"};
      case threshold::counted::throttled:
        return {s.throttled, s.attempts - flying_, "were throttled", "attempts"};
    }
    return {};
  }

  /// A share of fewer than `of_at_least` says nothing yet.
  bool crossed(threshold const& t, std::int64_t of_at_least) const noexcept {
    auto const [count, all, what, of] = count_of(t);
    return (!t.share || all >= of_at_least) && t.crossed(count, all);
  }

  void dispatch(poller::event const& e) {
    if (header_commands_.ready(e) || http_.ready(e)) return;
    if (e.fd == recorder_->event_fd()) {
      std::uint64_t unused = 0;
      [[maybe_unused]] auto const n = read(e.fd, &unused, sizeof unused);
    } else if (e.fd == signals_.fd()) {
      if (auto const signal = signals_.take(); signal != 0) {
        hurried_ = signal_ != 0;
        if (signal_ == 0) {
          progress_.clear();
          std::fputs(
              fmt::format(
                  "headway: stopping: {} in flight are finished first; once more stops at once\n",
                  flying_)
                  .c_str(),
              stderr);
        }
        signal_ = signal;
        draining_ = true;
      }
    } else if (e.fd == jobs_->fd()) {
      input_ready_ = true;
    }
  }

  bool ended() const {
    if (flying_ > 0 || !intending_.empty()) return false;
    if (draining_) return true;
    if (live_ == 0) return input_ended_;
    // What is left waits for servers that ask for more patience than we have.
    return std::all_of(requests_.begin(), requests_.end(),
                       [](auto const& r) { return !r->where || r->where->parked; }) &&
           (input_ended_ || full());
  }

  time_point wakeup(time_point now) {
    if (input_ready_ && !held_job_ && !full() && !input_ended_ && !draining_) return now;
    auto at = std::min(http_.wakeup(), progress_.wakeup());
    if (!draining_) {
      at = std::min(at, header_commands_.wakeup());
      for (auto& [key, s] : scopes_) at = std::min(at, s.wake);
    }
    if (options_.time_max && !draining_) at = std::min(at, began_ + *options_.time_max);
    return at;
  }

  bool full() const noexcept {
    return live_ >= requests_max || bytes_ >= request_bytes_max ||
           recorder_->pending_bytes() >= recorder_bytes_max;
  }

  // ── requests come in ────────────────────────────────────────────────────────────────────────

  void admit(time_point now) {
    auto const stream = jobs_->is_stream();
    for (int budget = 256; budget > 0 && !input_ended_ && !full(); --budget) {
      auto next = std::exchange(held_job_, std::nullopt);
      try {
        if (!next && options_.only > 0 && taken_ == options_.only) {
          input_ended_ = true;
          break;
        }
        if (!next) {
          next = stream ? jobs_->ready() : jobs_->next();
          if (next) ++taken_;
        }
        if (next && stream) headers_.admit(origin(next->url));
      } catch (fatal const&) {  // standard input is checked as it is read: finish what flies, then
                                // say it
        if (!stream) throw;
        input_error_ = std::current_exception();
        input_ended_ = draining_ = true;
        break;
      }
      if (next) {
        if (!accept(now, std::move(*next))) break;
      } else if (!stream) {
        input_ended_ = true;
      } else if (stdin_closed_) {
        input_ended_ = true;
      } else if (input_ready_ || !stdin_polls_) {
        input_ready_ = false;
        stdin_closed_ = !jobs_->fill();
      } else {
        break;
      }
    }
    if (stream && stdin_polls_)
      events_.watch(jobs_->fd(), input_ended_ || full() || input_ready_ ? 0U : EPOLLIN);
    if (!stream) input_ready_ = !input_ended_;
    if (stream && !stdin_polls_) input_ready_ = !input_ended_;
  }

  /// False when its scope has no room: it is held until there is some.
  bool accept(time_point now, job&& j) {
    if (journal_ && journal_->done(j.line)) return true;
    if (journal_ && !options_.retry_unsafe && !idempotent(j) &&
        std::ranges::binary_search(journal_->intents(), j.line)) {
      record({.id = j.id,
              .line = j.line,
              .how = final_outcome::unknown,
              .reason =
                  "it was in flight when an earlier run was stopped, and may have been carried out",
              .meta = j.meta});
      return true;
    }
    auto headers = request_headers(j, headers_.of(origin(j.url)));
    auto const account = account_of(j, headers);
    if (stopped_accounts_.contains(account)) return true;  // left for a later run
    auto* const s = scope_of(now, account, j, headers);
    if (s == nullptr) {
      held_job_ = std::move(j);
      return false;
    }
    request_terms const terms{.cost = j.cost};
    auto const submitted = s->governor.submit(now, terms);
    if (auto const* no = std::get_if<refused>(&submitted)) {
      if (no->why == reason::queue) {
        held_job_ = std::move(j);
        return false;
      }
      record({.id = j.id,
              .line = j.line,
              .how = final_outcome::failed,
              .reason = fmt::format("not sent: {}: a cost of {} can never be admitted",
                                    to_string(no->why), j.cost),
              .meta = j.meta});
      return true;
    }
    auto const id = std::get<ticket>(submitted);
    auto const index = free_request();
    auto& r = *requests_[index];
    r.what = std::move(j);
    r.where = s;
    r.headers = std::move(headers);
    r.read = now;
    r.size = size_of(r);
    bytes_ += r.bytes();
    ++live_;
    queue(index, id, now);
    return true;
  }

  /// Null when there is no room for one more.
  /// Who pays and is throttled, as far as requests tell: where to, with what credential, and the
  /// scope that the job names.
  static std::string account_of(job const& j, std::span<std::string const> headers) {
    return fmt::format("{}\n{}\n{}", origin(j.url), credential_digest(headers), j.scope);
  }

  scope* scope_of(time_point now, std::string_view account, job const& j,
                  std::span<std::string const> headers) {
    auto const within = profile_of(origin(j.url))
                            .partition_of(std::string_view(j.url),
                                          j.body ? std::string_view(*j.body) : std::string_view());
    auto* const s = scopes_.at(now, fmt::format("{}\n{}", account, within));
    if (s != nullptr && std::ranges::any_of(headers, [this](auto const& line) {
          return header_commands_.stands_in(line);
        }))
      s->renewable = true;
    return s;
  }

  static request_size size_of(request const& r) {
    request_size size{.given = r.what.costs};
    if (r.what.body_file) {
      std::error_code missing;  // it is told when it is to go
      auto const bytes = std::filesystem::file_size(*r.what.body_file, missing);
      if (!missing) size.bytes = static_cast<double>(bytes);
    } else if (r.what.body) {
      size.bytes = static_cast<double>(r.what.body->size());
      size.reserved = r.where->speaks->reserved_by(*r.what.body);
    }
    return size;
  }

  void queue(std::uint32_t index, ticket id, time_point now) {
    auto& s = *requests_[index]->where;
    requests_[index]->id = id;
    auto const slot = static_cast<std::uint32_t>(id);
    if (slot >= s.by_ticket.size()) s.by_ticket.resize(slot + 1);
    s.by_ticket[slot] = index;
    s.wake = now;
  }

  std::uint32_t free_request() {
    if (free_.empty()) {
      requests_.push_back(std::make_unique<request>());
      return static_cast<std::uint32_t>(requests_.size() - 1);
    }
    auto const index = free_.back();
    free_.pop_back();
    return index;
  }

  // ── attempts go out ─────────────────────────────────────────────────────────────────────────

  void pump(time_point now) {
    for (auto& [key, s] : scopes_) {
      if (s.wake > now || s.parked) continue;
      if (s.renewable && header_commands_.refused()) {  // until there is a new value
        s.wake = never;
        continue;
      }
      s.held = {};
      look_at_machine(s, now);
      while (auto const turn = s.governor.next(now)) {
        if (!may_spend()) break;
        auto const index = s.by_ticket[static_cast<std::uint32_t>(*turn)];
        auto& r = *requests_[index];
        if (auto const why = s.book.never_fits(r.size)) {
          never_goes(index, now, *why);
          continue;
        }
        if (auto const until = s.book.ready_at(now, r.size).until; until > now) {
          s.held = {reason::quota, until};
          r.held = true;
          break;
        }
        auto const u = chance_();
        if (s.machine && !s.machine->claim(now, r.what.cost, u)) {  // another process was faster
          look_at_machine(s, now);
          continue;
        }
        s.governor.start(now, *turn, u);
        r.receipt = s.book.take(now, r.size);
        begin(index, now);
      }
      look_at_machine(s, now);  // perhaps it waits no more
      if (!may_spend()) {       // until an answer says what it has cost
        s.wake = never;
        continue;
      }
      if (s.held.why != reason::none) {  // an answer wakes it, too
        s.wake = s.held.until;
        if (s.held.until != never && s.held.until - now > options_.wait_max) {
          s.parked = true;
          parked_until_ = std::max(parked_until_, s.held.until);
        }
        continue;
      }
      s.wake = s.governor.wakeup(now);
      if (!s.machine || s.waiting() == 0) continue;
      s.wake = std::min(s.wake, s.machine->look_again(now));
      auto const held = s.machine->held_until();  // perhaps another was told
      if (held > later(now, options_.wait_max)) {
        s.parked = true;
        parked_until_ = std::max(parked_until_, held);
      }
    }
  }

  void look_at_machine(scope& s, time_point now) {
    if (s.machine) look_at(*s.machine, s.governor, now, s.held.why != reason::none || !may_spend());
  }

  void never_goes(std::uint32_t index, time_point now, std::string_view why) {
    auto& r = *requests_[index];
    r.where->governor.cancel(now, r.id);
    if (r.intended) recorder_->clear(r.what.line);
    record({.id = r.what.id,
            .line = r.what.line,
            .how = final_outcome::failed,
            .attempts = r.attempts,
            .throttled = r.throttled,
            .reason = fmt::format("not sent: quota: {}", why),
            .meta = r.what.meta});
    forget(index);
  }

  void begin(std::uint32_t index, time_point now) {
    auto& r = *requests_[index];
    r.sent = now;
    r.out = true;
    if (!r.first_sent) r.first_sent = now;
    if (now - *r.first_sent >= options_.request_deadline) {
      give_up_unsent(index, now, "it still waited to be sent again", reason::deadline);
      return;
    }
    if (r.what.body_file && r.attempts == 0) {
      auto content = read_file(*r.what.body_file);
      if (!content) {
        auto const error = fmt::format("cannot read {}", r.what.body_file->string());
        give_up_unsent(index, now, error, reason::none);
        return;
      }
      r.content = std::move(*content);
    }
    if (!journal_ || r.intended || idempotent(r.what)) {
      send(index);
      return;
    }
    r.intended = true;
    r.intent = recorder_->intend(r.what.line);
    intending_.push_back(index);
  }

  /// Its turn had come, but it does not go.
  void give_up_unsent(std::uint32_t index, time_point now, std::string_view error, reason why) {
    auto& r = *requests_[index];
    r.where->governor.cancel(now, r.id);
    r.where->book.forget(r.receipt);
    end(index, now, {.error = error}, outcome::ignore, {verdict::give_up, why, never});
  }

  /// Sends what must not be sent twice, now that the journal knows of it.
  void send_committed() {
    auto const committed = recorder_->committed();
    while (!intending_.empty()) {
      auto const index = intending_.front();
      auto& r = *requests_[index];
      auto const given_up = draining_ || r.where->stopped;
      if (!given_up && r.intent > committed) return;
      intending_.pop_front();
      if (given_up) {
        recorder_->clear(r.what.line);
        r.intended = false;
        abandon(index);
      } else {
        send(index);
      }
    }
  }

  void send(std::uint32_t index) {
    auto& r = *requests_[index];
    ++r.attempts;
    ++standing_.attempts;
    ++flying_;
    standing_.in_flight_peak = std::max(standing_.in_flight_peak, flying_);
    r.values = header_commands_.generation();
    auto const headers = header_commands_.filled(r.headers);
    attempt a{.url = r.what.url, .method = r.what.method, .headers = headers};
    if (r.what.body_file) {
      a.body = r.content;
    } else if (r.what.body) {
      a.body = *r.what.body;
    }
    auto const left = *r.first_sent + options_.request_deadline - r.sent;
    a.timeout = std::min(r.what.timeout.value_or(left), left);
    a.may_be_silent = r.what.timeout.has_value();
    a.repeatable = idempotent(r.what);
    http_.send(index, a);
  }

  // ── answers come back ───────────────────────────────────────────────────────────────────────

  void on_reply(std::uint64_t key, reply const& answer) {
    auto const index = static_cast<std::uint32_t>(key);
    auto& r = *requests_[index];
    auto& s = *r.where;
    auto const now = clock_now();
    --flying_;
    r.out = false;

    auto told = judge(r, answer);
    auto whole = answer;
    std::string joined;
    if (!r.so_far.empty() && answer.status / 100 == 2 && answer.error.empty()) {
      whole.body = joined = s.speaks->joined(r.so_far, answer.body);
      if (told.what == reaction::served && !told.remainder)
        told = in_all(r, whole, std::move(told));
    }
    r.denied = told.what == reaction::permanent && answer.status / 100 == 2;
    attempt_result taught = lesson_of(told, answer, s);
    auto const refused = taught.what == outcome::throttle;
    if (told.what == reaction::served) spend(r, told);
    if (!spent_.empty())  // all wait for any answer: may_spend()
      for (auto& [name, other] : scopes_) other.wake = std::min(other.wake, now);
    auto const blamed = s.book.settle(
        now, r.receipt, r.size,
        {.quotas = told.quotas, .costs = told.costs, .refused = refused, .hold = told.hold});
    // A server that goes on refusing whatever the book does is the law's, whatever it says.
    s.refused_in_a_row = refused ? s.refused_in_a_row + 1 : 0;
    auto const ours = blamed && s.refused_in_a_row <= refused_in_a_row_max;
    taught.held_elsewhere =
        ours || (!refused && (std::exchange(r.held, false) || s.held.why != reason::none));
    if (ours && told.hold <= options_.wait_max) taught.advice = {};  // the book waits for it
    taught.may_retry =
        !answer.futile && told.what != reaction::permanent &&
        (answer.state == send_state::not_sent || idempotent(r.what) || options_.retry_unsafe);
    r.said = without_secrets(told.code, r.headers);
    if (told.remainder) {
      bytes_ -= r.bytes();
      r.what.body = *told.remainder;
      r.what.body_file.reset();
      r.so_far = whole.body;
      bytes_ += r.bytes();
      r.size = size_of(r);
    }
    if (taught.what == outcome::throttle) {
      ++r.throttled;
      ++standing_.throttled;
    } else if (taught.what == outcome::failure) {
      ++standing_.broken;
    }

    auto const u = chance_();
    auto const ruling = s.governor.finish(now, r.id, taught, u);
    s.wake = now;

    if (answer.status == 401 && s.renewable && !std::exchange(r.renewed, true)) {
      header_commands_.refuse(r.values);
      queue_again(index, now);
      return;
    }
    if (stops(told.what)) {
      auto why = fmt::format("status {}: {}", answer.status, r.said);
      leave_open(index);
      stop(s, std::move(why));
      return;
    }
    if (told.what == reaction::served && told.remainder)  // its place in the queue is free
      if (auto const rest = s.governor.submit(now, {.cost = r.what.cost});
          auto const* id = std::get_if<ticket>(&rest)) {
        queue(index, *id, now);
        return;
      }
    if (told.what == reaction::permanent && is_redirect(answer.status) && answer.error.empty() &&
        !options_.ok.contains(answer.status) && follow(index, now, answer))
      return;
    auto const again = ruling.what == verdict::retry || ruling.what == verdict::park;
    if (!again) {
      end(index, now, whole, taught.what, ruling);
      return;
    }
    // Not carried out: a throttle says so, and what never left us cannot have been.
    if (r.intended && r.so_far.empty() &&
        (taught.what == outcome::throttle || answer.state == send_state::not_sent)) {
      recorder_->clear(r.what.line);
      r.intended = false;
    }
    if (ruling.what == verdict::park) {
      s.parked = true;
      parked_until_ = std::max(parked_until_, ruling.until);
    } else if (std::max(now, ruling.until) - *r.first_sent > options_.request_deadline) {
      s.governor.cancel(now, r.id);
      end(index, now, answer, taught.what, {verdict::give_up, reason::deadline, never});
    }
  }

  /// It was not carried out: it goes again like any other, through the queue of its scope.
  void queue_again(std::uint32_t index, time_point now) {
    auto& r = *requests_[index];
    if (r.so_far.empty() && std::exchange(r.intended, false)) recorder_->clear(r.what.line);
    auto const again = r.where->governor.submit(now, {.cost = r.what.cost});
    if (auto const* id = std::get_if<ticket>(&again); id != nullptr && !r.where->stopped)
      queue(index, *id, now);
    else
      leave_open(index);
  }

  /// Sends it where a redirect says, without what the next origin must not see. False where it ends
  /// here: r.said is why.
  bool follow(std::uint32_t index, time_point now, reply const& answer) {
    auto& r = *requests_[index];
    auto hop = next_hop(r.what.method, r.what.url, answer.status, answer.fields);
    auto const most = static_cast<std::size_t>(options_.redirects_max);
    r.said = most == 0         ? "redirects are not followed"
             : hop.url.empty() ? fmt::format("the redirect is not followed: {}", hop.why)
             : hop.url == r.what.url || std::ranges::count(r.hops, hop.url) > 0
                 ? "the redirect leads back to where it was"
             : r.hops.size() == most ? fmt::format("more than {} redirects (--redirects-max)", most)
             : !hop.same_origin && !options_.http.sigv4.empty()
                 ? "the redirect leads to another origin, which --aws-sigv4 does not sign for"
                 : "";
    if (!r.said.empty()) return false;
    bytes_ -= r.bytes();
    r.hops.push_back(std::exchange(r.what.url, std::move(hop.url)));
    if (!hop.same_origin) r.what.headers = without_credentials(r.what.headers);
    bytes_ += r.bytes();
    r.headers = request_headers(r.what, headers_.of(origin(r.what.url)));
    auto const account = account_of(r.what, r.headers);
    if (stopped_accounts_.contains(account)) {
      leave_open(index);
      return true;
    }
    auto* const s = scope_of(now, account, r.what, r.headers);
    if (s == nullptr) {
      r.said = "the redirect leads to one scope more than there is room for";
      return false;
    }
    r.where = s;
    r.size = size_of(r);
    queue_again(index, now);
    return true;
  }

  /// Stops before one more would pass --spend-max.
  void spend(request const& r, judgement const& told) {
    for (std::size_t i = 0; i < options_.spend_max.size(); ++i) {
      auto const& most = options_.spend_max[i];
      auto& s = spent_[i];
      std::optional<double> cost;
      for (auto const& given : r.size.given)
        if (given.quota == most.quota) cost = given.units;
      for (auto const& c : told.costs)
        if (c.quota == most.quota) cost = c.units;
      if (!cost) {
        stop(fmt::format("no answer says what it costs in {}, so --spend-max cannot be kept",
                         most.quota));
        continue;
      }
      s.units += *cost;
      ++s.answers;
      if (s.units + s.units / s.answers > most.units)
        stop(fmt::format("--spend-max {}={:.0f}: {:.0f} spent", most.quota, most.units, s.units));
    }
  }

  /// Whether one more can go, if it and what flies cost what the others have cost.
  bool may_spend() const noexcept {
    auto const out = static_cast<double>(flying_) + static_cast<double>(intending_.size());
    for (std::size_t i = 0; i < spent_.size(); ++i) {
      auto const& s = spent_[i];
      if (out == 0) continue;
      if (s.answers == 0 || s.units + (out + 1) * s.units / s.answers > options_.spend_max[i].units)
        return false;
    }
    return true;
  }

  judgement judge(request const& r, reply const& answer) {
    if (answer.state != send_state::answered) return {.what = reaction::transient};
    std::string_view sent;
    if (r.what.body_file)
      sent = r.content;
    else if (r.what.body)
      sent = *r.what.body;
    auto told = r.where->speaks->judge({.status = answer.status,
                                        .fields = answer.fields,
                                        .type = answer.type,
                                        .body = answer.body},
                                       sent, wall_now());
    hints_ignored_ += told.ignored;
    // A body that broke off proves nothing, whatever its status was.
    if (told.what == reaction::served && !answer.error.empty() && !answer.too_large)
      told.what = reaction::transient;
    return told;
  }

  /// What the answers to all of its parts say together: a part may have failed earlier.
  static judgement in_all(request const& r, reply const& whole, judgement last) {
    auto together = r.where->speaks->judge(
        {.status = whole.status, .type = whole.type, .body = whole.body}, {}, wall_now());
    if (together.what == reaction::permanent) {
      last.what = together.what;
      last.code = std::move(together.code);
    }
    return last;
  }

  /// What the governor learns from it.
  attempt_result lesson_of(judgement const& told, reply const& answer, scope const& s) const {
    attempt_result taught;
    switch (told.what) {
      case reaction::served:
        taught.what = outcome::success;
        break;
      case reaction::rate:
      case reaction::concurrency:
      case reaction::quota:
      case reaction::long_quota:
        taught.what = outcome::throttle;
        break;
      case reaction::transient:
        taught.what = outcome::failure;
        break;
      case reaction::permanent:
        taught.what = http::classify(answer.status);
        if (taught.what == outcome::throttle) taught.what = outcome::ignore;  // it can never fit
        break;
      case reaction::money:
      case reaction::refused:
        taught.what = outcome::ignore;
        break;
    }
    taught.short_of = told.what == reaction::rate          ? resource::rate
                      : told.what == reaction::concurrency ? resource::concurrency
                      : throttles(told.what)               ? resource::quota
                                                           : resource::unknown;
    if (taught.what != outcome::success) taught.advice.retry_after = told.hold;
    http::quota const* least = nullptr;
    for (auto const& q : told.quotas) {
      // What is not counted in requests matters once nothing of it is left.
      if (s.book.keeps(q)) continue;
      if (!q.remaining || !q.reset || (!q.of_requests() && *q.remaining >= 1)) continue;
      if (least == nullptr || *q.remaining < *least->remaining) least = &q;
    }
    if (least != nullptr) {
      taught.advice.remaining = static_cast<std::int64_t>(std::min(*least->remaining, 1e15));
      taught.advice.reset = *least->reset;
    }
    auto& hold = taught.advice.retry_after;
    if (told.what == reaction::quota && !hold && least != nullptr) hold = *least->reset;
    if (told.what == reaction::long_quota)
      hold = std::max(hold.value_or(0s), options_.wait_max + 1s);
    return taught;
  }

  /// Nothing more goes there; what waits is left for a later run.
  void stop(scope& s, std::string_view why) {
    if (s.stopped) return;
    stopped_accounts_.insert(s.account);
    for (auto& [key, other] : scopes_) other.stopped = other.stopped || other.account == s.account;
    progress_.clear();
    say(fmt::format("{}: stopped: {}", s.name, in_quotes(why)));
    for (std::uint32_t i = 0; i < requests_.size(); ++i)
      if (requests_[i]->where != nullptr && requests_[i]->where->stopped && !requests_[i]->out)
        abandon(i);
    if (stopped_accounts_.size() >= stopped_max)
      stop(fmt::format("{} scopes were refused", stopped_max));
  }

  /// Refused for a reason that is not its own: without a result, a later run takes it up again.
  void leave_open(std::uint32_t index) {
    auto& r = *requests_[index];
    if (r.intended && r.so_far.empty()) recorder_->clear(r.what.line);
    forget(index);
  }

  /// The request has come to its end: one result, once.
  void end(std::uint32_t index, time_point now, reply const& answer, outcome taught,
           decision const& last) {
    auto& r = *requests_[index];
    auto const served = taught == outcome::success && !r.denied &&
                        options_.ok.contains(answer.status) && answer.error.empty();
    auto const carried_out_perhaps = (answer.state == send_state::sent ||
                                      (answer.state == send_state::answered &&
                                       taught == outcome::failure && !answer.error.empty())) &&
                                     !idempotent(r.what);
    auto const how = served                ? final_outcome::success
                     : carried_out_perhaps ? final_outcome::unknown
                                           : final_outcome::failed;
    auto const reason = served ? std::string() : why_failed(r, answer, last);
    auto const body_file = options_.out_dir.empty() || answer.body.empty()
                               ? std::string()
                               : body_path(options_.out_dir, r.what.line, answer.type);
    auto const refused = !served && taught == outcome::success && answer.error.empty() &&
                         !answer.too_large;  // for good: it would be the next time, too
    record({.id = r.what.id,
            .line = r.what.line,
            .how = how,
            .status = answer.status,
            .attempts = r.attempts,
            .throttled = r.throttled,
            .waited = r.sent - r.read,
            .latency = now - r.sent,
            .reason = reason,
            .body = answer.body,
            .type = answer.type,
            .headers = options_.out_headers ? answer.fields : std::span<http::field const>(),
            .meta = r.what.meta,
            .select = served && options_.select ? std::optional<std::string_view>(*options_.select)
                                                : std::nullopt,
            .body_file = body_file},
           refused ? answer.status : 0, r.headers);
    forget(index);
  }

  std::string why_failed(request const& r, reply const& answer, decision const& last) const {
    std::string text;
    if (answer.too_large)
      text = fmt::format("the body is longer than {} MiB", options_.http.body_max >> 20);
    else if (!answer.error.empty())
      text = answer.error;
    else
      text = fmt::format("status {}{}{}", answer.status, r.said.empty() ? "" : ": ",
                         printable(r.said));
    if (answer.state == send_state::not_sent) text += " (not sent)";
    if (last.why == reason::deadline)
      text += fmt::format("; gave up after {}", in_words(options_.request_deadline));
    else if (last.why == reason::retry_budget)
      text += "; the retry budget is used up";
    return text;
  }

  /// `refused_by`: the status that refused it for good, 0 if it ended in any other way. `headers`:
  /// what was sent, and is not shown.
  void record(result const& r, int refused_by = 0, std::span<std::string const> headers = {}) {
    switch (r.how) {
      case final_outcome::success:
        ++standing_.success;
        break;
      case final_outcome::failed:
        ++standing_.failed;
        break;
      case final_outcome::unknown:
        ++standing_.unknown;
        break;
    }
    if (r.how != final_outcome::success && first_reason_.empty())
      first_reason_ = fmt::format("line {}: {}", r.line, in_quotes(r.reason));
    if (r.body_file.empty())
      recorder_->finish(r.line, r.how, writer_.line_of(r));
    else
      recorder_->finish(r.line, r.how, writer_.line_of(r),
                        {std::string(r.body_file), std::string(r.body)});
    if (canary_.dies(refused_by) && options_.canary) stop(why_the_canary_died(r, headers));
  }

  std::string why_the_canary_died(result const& r, std::span<std::string const> headers) const {
    auto const ascii = std::ranges::all_of(r.body, [](char c) { return (c & 0x80) == 0; });
    return fmt::format(
        "the first {} requests all failed with status {}, such as line {}, whose answer is {}; put "
        "that right and run it again{}; --no-canary goes on regardless",
        canary::watched, r.status, r.line,
        ascii ? in_quotes(without_secrets(r.body.substr(0, 4096), headers)) : "in the results",
        journal_ ? " with --again failed" : "");
  }

  void forget(std::uint32_t index) {
    auto& r = *requests_[index];
    bytes_ -= r.bytes();
    --live_;
    r = {};
    free_.push_back(index);
  }

  /// Drops it without a result; a later run takes it up again.
  void abandon(std::uint32_t index) {
    auto& r = *requests_[index];
    auto const now = clock_now();
    r.where->governor.cancel(now, r.id);
    r.where->book.forget(r.receipt);
    forget(index);
  }

  // ── what people see ─────────────────────────────────────────────────────────────────────────

  void show(time_point now) {
    auto const since = now - shown_;
    shown_ = now;
    standing_.waiting = {};
    for (auto& [key, s] : scopes_) {
      if (s.shown != reason::none) held_for_[static_cast<std::size_t>(s.shown)] += since;
      s.shown = reason::none;
      if (s.waiting() == 0) continue;
      auto const held = s.held.why != reason::none ? s.held : s.governor.why(now);
      s.shown = held.why;
      if (standing_.waiting.why == reason::none) standing_.waiting = held;
    }
    if (now < progress_.wakeup()) return;
    standing_.in_flight = flying_;
    progress_.update(now, standing_);
  }

  int conclude() {
    recorder_->drain();
    if (unordered_ && !hurried_) keep_order();
    for (auto& [key, s] : scopes_) s.governor.end();
    if (trace_) trace_->flush();
    progress_.clear();
    auto const now = clock_now();
    auto const& s = standing_;
    auto const spent = now - began_;
    auto const left = s.total - s.before - s.ended();
    auto text = fmt::format("{} succeeded, {} failed, {} unknown", s.success, s.failed, s.unknown);
    if (s.before > 0) text += fmt::format(", {} were done before", s.before);
    if (s.total >= 0 && left > 0) text += fmt::format(", {} left", left);
    text += fmt::format(" in {} ({:.1f}/s)\n", in_words(spent),
                        static_cast<double>(s.success) / to_seconds(spent));
    text += fmt::format(
        "{} attempts, {} throttled ({:.1f} %), {} broken, at most {} in flight\n", s.attempts,
        s.throttled,
        s.attempts > 0 ? 100.0 * static_cast<double>(s.throttled) / static_cast<double>(s.attempts)
                       : 0.0,
        s.broken, s.in_flight_peak);
    text += where_time_went();
    for (auto& [key, sc] : scopes_)
      for (auto const& found : {findings(sc.governor.law_state()), sc.book.findings()})
        if (!found.empty()) text += fmt::format("{}: {}\n", sc.name, found);
    for (auto& [key, sc] : scopes_)
      if (auto const others = sc.machine ? sc.machine->company() : 0; others > 0)
        text += fmt::format("{}: one pace with {} other run{} here\n", sc.name, others,
                            others > 1 ? "s" : "");
    keep_what_was_learned();
    if (!first_reason_.empty()) text += fmt::format("first failure: {}\n", first_reason_);
    if (options_.progress != progress_style::none) std::fputs(text.c_str(), stderr);

    if (hints_ignored_ > 0)
      say(fmt::format("{} values in the servers' answers made no sense, and were ignored",
                      hints_ignored_));
    auto const unfinished = draining_ && (!input_ended_ || live_ > 0 || left > 0 || held_job_);
    if (!options_.failed.empty())
      write_failed_lines(jobs_->input(), journal_->lost(), options_.failed, options_.level);
    if (recorder_->echo_closed() && unfinished) throw fatal(exit_io, "standard output is closed");
    if (!stopped_.empty()) {
      say(fmt::format("stopped: {}", stopped_));
      return exit_stopped;
    }
    if (!stopped_accounts_.empty()) return exit_stopped;
    if (input_error_) std::rethrow_exception(input_error_);
    if (signal_ != 0 && unfinished) {
      say(journal_ ? "interrupted: run the same command again to go on" : "interrupted");
      return 128 + signal_;
    }
    if (out_of_time_ && unfinished) {
      say("out of time (--time-max): run the same command again to go on");
      return exit_parked;
    }
    if (live_ > 0) {
      say(fmt::format(
          "parked: the server asks to wait {}, which is more than --wait-max {}; run the same "
          "command again then",
          parked_until_ == never ? std::string("for ever") : in_words(parked_until_ - now),
          in_words(options_.wait_max)));
      return exit_parked;
    }
    for (auto const& t : options_.fail_if)
      if (crossed(t, 1)) {
        say(fmt::format("--fail-if {}: {}", t.text, count_of(t).in_words()));
        return exit_threshold;
      }
    return s.failed + s.unknown + lost_before_ > 0 ? exit_failed : exit_ok;
  }

  /// Only a file that was asked for can stop a run.
  void recall_what_was_learned() {
    try {
      memory_ = memory(options_.state.empty() ? memory::default_path() : options_.state);
    } catch (fatal const& e) {
      if (!options_.state.empty()) throw;
      say(fmt::format("nothing is remembered: {}", e.what()));
    }
  }

  /// A run that has done its work does not fail for this.
  void keep_what_was_learned() {
    for (auto& [key, sc] : scopes_) {
      if (auto quotas = sc.book.knows(); !quotas.empty())
        memory_.learn_quotas(sc.name, std::move(quotas));
      if (auto const* s = std::get_if<seek>(&sc.governor.law_state().choice);
          s != nullptr && s->ceiling > 0 && s->successes >= 3)
        memory_.learn(sc.name, s->knows());
    }
    try {
      memory_.keep();
    } catch (fatal const& e) {
      say(fmt::format("what was learned is not kept: {}", e.what()));
    }
  }

  void say(std::string_view what) const {
    std::fputs(fmt::format("headway: {}\n", what).c_str(), stderr);
  }

  /// The reasons for which requests were held back, as shares of the run.
  std::string where_time_went() const {
    std::vector<std::pair<duration, reason>> parts;
    duration all{0};
    for (std::size_t i = 1; i < held_for_.size(); ++i) {
      all += held_for_[i];
      if (held_for_[i] > 0ns) parts.emplace_back(held_for_[i], static_cast<reason>(i));
    }
    if (all < 100ms) return "";
    std::ranges::sort(parts, std::greater{});
    std::string text = "held back by:";
    for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
      text += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", to_string(parts[i].second),
                          100 * to_seconds(parts[i].first) / to_seconds(all));
    return text + "\n";
  }

  run_options const options_;
  int const connections_max_;
  signals signals_;
  poller events_;
  memory memory_;
  std::unique_ptr<trace> trace_;  // outlives the scopes, which write their end to it
  std::vector<std::weak_ptr<machine_pace>> machines_;
  bool said_alone_ = false;
  keyed<scope> scopes_;
  int scopes_made_ = 0;
  rng chance_;
  time_point const began_;

  std::unique_ptr<journal> journal_;
  std::unique_ptr<jobs_file> jobs_;
  std::unique_ptr<recorder> recorder_;
  std::optional<file> unordered_;  // the results, to be put in order
  header_commands header_commands_;
  std::uint64_t values_ = 0;  // their generation, as the scopes know it
  int renewals_failed_ = 0;
  bound_headers headers_;
  jobs_survey survey_;
  result_writer writer_;
  progress progress_;
  transport http_;

  std::vector<std::unique_ptr<request>> requests_;
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> intending_;  // started, and waiting for the journal
  std::optional<job> held_job_;          // read, and its scope has no room
  std::int64_t taken_ = 0;               // requests of JOBS, whatever became of them
  std::size_t live_ = 0;
  std::size_t bytes_ = 0;
  std::int64_t flying_ = 0;

  bool stdin_polls_ = false;
  bool stdin_closed_ = false;
  bool input_ready_ = true;
  bool input_ended_ = false;
  bool draining_ = false;  // nothing new goes out
  bool hurried_ = false;   // … and what flies is not waited for
  bool out_of_time_ = false;
  int signal_ = 0;
  std::exception_ptr input_error_;
  time_point parked_until_ = time_point::min();

  std::int64_t hints_ignored_ = 0;
  standing standing_;
  std::int64_t reopened_ = 0;  // that an earlier run had ended
  canary canary_;
  struct spending {
    double units = 0, answers = 0;
  };
  std::vector<spending> spent_ = std::vector<spending>(options_.spend_max.size());
  std::unordered_set<std::string> stopped_accounts_;  // a scope may be evicted, this is not
  std::string stopped_;                               // why nothing more goes out, a sentence
  std::int64_t lost_before_ = 0;                      // failed and unknown, in earlier runs
  std::string first_reason_;
  time_point shown_ = began_;
  std::array<duration, static_cast<std::size_t>(reason::attempts) + 1> held_for_{};
};

}  // namespace

int run(run_options const& options) {
  return runner(options).run();
}

}  // namespace headway::app
