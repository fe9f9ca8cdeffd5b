#include "exec/runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "exec/argv_template.hpp"
#include "exec/guard.hpp"
#include "exec/job_result.hpp"
#include "exec/leftovers.hpp"
#include "exec/printer.hpp"
#include "exec/spool.hpp"
#include "headway/headway.hpp"
#include "journal/failed_lines.hpp"
#include "journal/journal.hpp"
#include "journal/recorder.hpp"
#include "os/file_identity.hpp"
#include "os/poller.hpp"
#include "os/signals.hpp"
#include "pacing/lanes.hpp"
#include "pacing/laws.hpp"
#include "provider/profile.hpp"
#include "status/canary.hpp"
#include "status/halt.hpp"
#include "status/losses.hpp"
#include "watch/watched_run.hpp"

namespace headway::app {
namespace {

constexpr int ceiling_max = 64;  // of the default concurrency
constexpr std::size_t read_ahead = 1024, waiting_output_max = std::size_t{64} << 20,
                      waiting_outputs_max = 10'000, hints_max = 65536;
constexpr duration patience = 5s;  // between SIGTERM and SIGKILL
constexpr int attempts_if_passing = 4;

/// How many commands may run at once, and why no more.
struct room {
  int most = 1;
  std::string why{};
};

int processors() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Two processes and some descriptors a command.
room room_here(int wanted, bool local) {
  rlimit processes{}, files{};
  getrlimit(RLIMIT_NPROC, &processes);
  getrlimit(RLIMIT_NOFILE, &files);
  auto const limit = [](rlim_t n) { return static_cast<int>(std::clamp<rlim_t>(n, 1, 1'000'000)); };
  auto const by_files = std::max(1, (limit(files.rlim_cur) - 64) / 5);
  if (wanted > by_files)
    throw fatal(exit_usage, fmt::format("--concurrency {}: the limit of {} open files (ulimit -n) "
                                        "leaves room for {}; want from 1 to {}",
                                        wanted, limit(files.rlim_cur), by_files, by_files));
  if (wanted > 0) return {wanted, "--concurrency"};
  if (local) return {std::min(processors(), by_files), "processors"};
  struct sysinfo memory {};
  sysinfo(&memory);
  auto const megabytes =
      (memory.freeram + memory.bufferram) * memory.mem_unit / (std::size_t{64} << 20);
  room found{ceiling_max, "default"};
  auto const at_most = [&](int most, char const* why) {
    if (most < found.most) found = {std::max(1, most), why};
  };
  at_most(limit(processes.rlim_cur) / 4, "ulimit -u");
  at_most(static_cast<int>(std::max<std::size_t>(megabytes, 4)), "free memory");
  at_most(by_files, "ulimit -n");
  return found;
}

/// The path of a program as execvp(3) finds it; "" where there is none.
std::string found_program(std::string const& name) {
  auto const runs = [](std::string const& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos) return runs(name) ? name : "";
  auto const* const given = std::getenv("PATH");
  std::string_view const path = given == nullptr ? "/usr/local/bin:/usr/bin:/bin" : given;
  for (std::size_t at = 0; at <= path.size() && !name.empty();) {
    auto const end = std::min(path.find(':', at), path.size());
    auto const folder = path.substr(at, end - at);
    auto whole = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (runs(whole)) return whole;
    at = end + 1;
  }
  return "";
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A job that has been read and has not ended.
struct task {
  exec_item what{};
  lane* where = nullptr;  // null: there is none
  ticket id{};
  std::int64_t order = 0;  // of printing
  time_point read{}, sent{};
  std::optional<time_point> first_sent{};
  double began = 0;
  int attempts = 0, throttled = 0, refusals = 0, broken = 0;
  bool out = false, intended = false;
  std::uint64_t intent = 0;
  int guard = -1;
  int output_fd = -1, error_fd = -1, hints_fd = -1;
  spool output{}, error{};
  std::optional<time_point> kill_at{};
  std::string ended_by{};  // "timed out after 1 s" …
  bool cut_short = false;  // … or because all is to end, which is no result
  std::size_t argument_bytes = 0;
};

/// What was done of a job, and is acknowledged once its change is durable.
struct acknowledgement {
  std::uint64_t change = 0;
  std::int64_t order = 0;
  printed what{};
  std::string log_line{};
};

class runner {
 public:
  explicit runner(exec_options options)
      : options_(std::move(options)),
        command_(options_.command,
                 options_.shell ? argv_template::style::shell : argv_template::style::words),
        program_(resolve()),
        speaks_(options_.speaks ? *options_.speaks : command_profile::of_program(own_name())),
        safe_(options_.safe || speaks_.safe(words_for_profile())),
        room_(room_here(options_.concurrency, speaks_.local())),
        http_(profile::named("generic")),
        lanes_(pacing()) {
    for (auto const& pair : options_.environment) {
      auto const equals = pair.find('=');
      environment_.emplace_back(pair.substr(0, equals),
                                template_of("--env", pair.substr(equals + 1)));
    }
    if (!options_.stdin_field.empty())
      stdin_.emplace(template_of("--stdin-field", options_.stdin_field));
    if (!options_.scope.empty()) scope_.emplace(template_of("--scope", options_.scope));
  }

  int run() {
    collect_names();
    open_input();
    if (options_.dry_run) return show_plan();
    open_outputs();
    set_environment();
    if (!options_.cold) lanes_.recall();
    if (!options_.trace.empty()) lanes_.trace_to(options_.trace, began_);
    become_subreaper();
    events_.watch(signals_.fd(), EPOLLIN);
    if (recorder_) events_.watch(recorder_->event_fd(), EPOLLIN);
    visible_.open(options_.metrics);
    say_what_is_done();
    loop();
    return conclude();
  }

 private:
  static std::uint64_t seed() {
    std::random_device entropy;
    return std::uint64_t{entropy()} << 32 | entropy();
  }

  // ── before ──────────────────────────────────────────────────────────────────────────────────

  /// Nothing is started where the program is not there.
  std::string resolve() const {
    if (options_.command.empty() || options_.command.front().empty())
      throw fatal(exit_usage, "there is no command; want headway exec [OPTIONS] [JOBS] -- COMMAND");
    if (options_.shell) return "/bin/sh";
    if (!command_.fixed_program()) return "";
    auto const& name = options_.command.front();
    auto found = found_program(name);
    if (found.empty())
      throw fatal(exit_usage, fmt::format("{}: there is no such program{}", in_quotes(name),
                                          name.find('/') == name.npos ? " in PATH" : ""));
    return found;
  }

  /// The program that the profile is for; of a script its first word.
  std::string own_name() const {
    if (!command_.fixed_program()) return "";
    auto const& first = options_.command.front();
    return base_name(options_.shell ? first.substr(0, first.find_first_of(" \t\n;|&")) : first);
  }

  /// The words that the profile sees: those that are the same for each job.
  std::string words_for_profile() const {
    if (options_.shell) return "";
    auto words = own_name();
    for (std::size_t i = 1; i < options_.command.size(); ++i) words += ' ' + options_.command[i];
    return words;
  }

  static argv_template template_of(std::string_view, std::string const& text) {
    return argv_template({text}, argv_template::style::text);
  }

  pacing_settings pacing() const {
    pacing_settings s{.law = options_.law      ? *options_.law
                             : speaks_.local() ? law_named("fixed")
                                               : shipped_laws().front(),
                      .governor = {.attempts_max = options_.attempts_max > 0 ? options_.attempts_max
                                                                             : attempts_if_passing,
                                   .queue_max = read_ahead,
                                   .hint_max = options_.wait_max,
                                   .rate_ceiling = options_.rate_ceiling,
                                   .in_flight_max = room_.most},
                      .quotas = options_.quotas,
                      .speaks = http_,
                      .state = options_.state,
                      .alone = options_.alone || speaks_.local()};
    s.governor.throttled = s.law.throttled;
    s.governor.budget = {.balance_max = 1e18, .balance = 1e18};  // --attempts-max is the limit
    if (speaks_.local()) s.governor.first_alone = 0ns;
    return s;
  }

  /// Of all templates, so that the input is read for all of them.
  void collect_names() {
    auto const add = [this](argv_template const& t) {
      for (auto const& name : t.names())
        if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
    };
    add(command_);
    for (auto const& [name, value] : environment_) add(value);
    if (stdin_) add(*stdin_);
    if (scope_) add(*scope_);
  }

  /// The fields of a template, of those of the item.
  std::vector<std::string> named_for(argv_template const& t, exec_item const& item) const {
    std::vector<std::string> values;
    for (auto const& name : t.names())
      values.push_back(
          item.named[static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin())]);
    return values;
  }
  template <class F>
  auto with_values(argv_template const& t, exec_item const& item, int slot, F f) const {
    auto const named = named_for(t, item);
    return f({.columns = item.columns, .named = named, .number = item.number, .slot = slot});
  }
  std::string text_of(argv_template const& t, exec_item const& item, int slot) const {
    return with_values(t, item, slot, [&](job_values const& v) { return t.text(v); });
  }
  std::vector<std::string> arguments_of(exec_item const& item, int slot) const {
    return with_values(command_, item, slot,
                       [&](job_values const& v) { return command_.filled(v); });
  }

  void open_input() {
    check_files();
    auto settings = options_.input;
    settings.names = names_;
    if (!options_.journal.empty())
      log_ = std::make_unique<journal>(options_.journal,
                                       settings.path == "-"    ? "standard input"
                                       : settings.path.empty() ? ":::"
                                                               : settings.path,
                                       options_.level, shape(), options_.again, "the command");
    input_.emplace(std::move(settings), [this](std::string_view line, std::int64_t begins) {
      if (log_) log_->check(line, begins);
    });
    std::int64_t last = 0;
    if (input_->is_stream()) {
      struct stat about {};
      fstat(STDIN_FILENO, &about);
      polls_ = S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || isatty(STDIN_FILENO) == 1;
      if (log_) last = log_->lines();
    } else {
      standing_.total = input_->survey([&](exec_item const& item) {
        last = item.line;
        warn_of_option(item);
      });
      if (standing_.total == 0)
        throw fatal(exit_usage, input_->name() + ": there is no job in it: one value a line");
      if (log_) log_->end_of_input();
    }
    if (!log_) return;
    for (auto const how : options_.again) log_->reopen(how, last);
    auto const before = log_->ended(last);
    standing_.failed_before = before.failed;
    standing_.unknown_before = before.unknown;
    standing_.before = before.success + before.lost();
  }

  /// A value that the command would take for an option of its own.
  void warn_of_option(exec_item const& item) {
    if (warned_ || options_.shell ||
        std::ranges::find(options_.command, "--") != options_.command.end())
      return;
    auto const is_option = [](std::string const& v) { return v.starts_with('-') && v.size() > 1; };
    for (auto const* const values : {&item.columns, &item.named})
      if (auto const at = std::ranges::find_if(*values, is_option); at != values->end()) {
        warned_ = true;
        say(fmt::format(
            "{}:{}: {} begins with -, and the command may take it for an option; put -- "
            "before {{}}",
            input_->name(), item.line, in_quotes(*at)));
        return;
      }
  }

  /// The template, and what else makes jobs of lines.
  std::string shape() const {
    std::string text = options_.shell ? "shell" : "exec";
    auto const add = [&](std::string_view part) {
      text += fmt::format(" {} {}", part.size(), part);
    };
    for (auto const& word : options_.command) add(word);
    for (auto const& pair : options_.environment) add(pair);
    add(options_.stdin_field);
    add(options_.input.separator);
    add(options_.input.end == '\0' ? "0" : "");
    return text;
  }

  /// None that is written may be another one of them.
  void check_files() const {
    struct named {
      std::string option;
      file_identity identity;
      bool written;
    };
    std::vector<named> all;
    auto const add = [&](std::string const& option, std::string const& path, bool written) {
      if (path.empty() || path == "-") return;
      named one{option, file_identity::of(path), written};
      if (one.identity.shareable) return;
      for (auto const& other : all)
        if ((written || other.written) && other.identity == one.identity)
          throw fatal(exit_usage, fmt::format("{} {} would overwrite {}", option, in_quotes(path),
                                              other.written ? "what " + other.option + " writes"
                                                            : other.option));
      all.push_back(std::move(one));
    };
    add("JOBS", options_.input.path, false);
    add("--out", options_.out, true);
    for (auto const* const suffix : {"", "-wal", "-shm", "-mark", "-journal"})
      if (!options_.journal.empty()) add("--journal", options_.journal + suffix, true);
    add("--joblog", options_.job_log, true);
    add("--failed", options_.failed, true);
    add("--trace", options_.trace, true);
    if (options_.metrics.ends_with(".prom")) add("--metrics", options_.metrics, true);
    if (!options_.cold) add("--state", options_.state, true);
  }

  void open_outputs() {
    keeps_outputs_ = !options_.out_dir.empty();
    if (keeps_outputs_) {
      auto const key = "outputs " + options_.out_dir;
      own_outputs_ = log_ && !log_->noted(key).empty();
      std::error_code none;
      if (!own_outputs_ && std::filesystem::exists(options_.out_dir, none) &&
          !std::filesystem::is_empty(options_.out_dir, none))
        throw fatal(exit_usage,
                    fmt::format("--out-dir {}: there is something in it that is not of this "
                                "journal; choose another, or move it away",
                                in_quotes(options_.out_dir)));
      make_body_folder(options_.out_dir);
      if (log_) log_->put({key, "1"});
    }
    auto const results = options_.out.empty() || options_.out == "-" ? "" : options_.out;
    if (options_.out == "-") {
      results_.emplace(dup(STDOUT_FILENO), "standard output");
    } else if (!results.empty()) {
      results_ = file::results(results);
      large_dir_ = results + ".outputs";
    } else if (log_ || keeps_outputs_) {
      results_ = file::open("/dev/null", O_WRONLY);
    }
    if (results_) {
      if (log_) log_->start(*results_);
      recorder_.emplace(log_.get(), std::move(*results_), -1);
    }
    if (!options_.job_log.empty()) {
      auto const goes_on = log_ && log_->lines() > 0;
      job_log_ =
          file::open(options_.job_log, O_WRONLY | O_CREAT | O_APPEND | (goes_on ? 0 : O_TRUNC));
      if (!job_log_->regular() || job_log_->size() == 0) job_log_->append(job_log_head);
    }
    if (!keeps_outputs_ && options_.out != "-" && !options_.no_print)
      printer_.emplace(options_.keep_order);
  }

  /// Before the first guard, which hands it down.
  void set_environment() {
    for (auto const& [name, value] : speaks_.environment())
      if (std::getenv(name.c_str()) == nullptr) {
        ::setenv(name.c_str(), value.c_str(), 1);
        set_here_ += fmt::format("{}{}={}", set_here_.empty() ? "" : " ", name, value);
      }
    ::setenv("HEADWAY_FD", "3", 1);
    if (!log_) return;
    auto const mark = mark_of(options_.journal);
    if (log_->lines() > 0) {
      auto found = leftovers(mark);
      for (int i = 0; i < 25 && !found.empty(); ++i) {  // their guards are about to end them
        events_.wait(later(clock_now(), 20ms));
        found = leftovers(mark);
      }
      if (!found.empty())
        say(fmt::format(
            "{} process{} of an earlier run still live{}, the first is {}; they may still "
            "write",
            found.size(), found.size() == 1 ? "" : "es", found.size() == 1 ? "s" : "",
            found.front()));
    }
    ::setenv(mark_name, mark.c_str(), 1);
  }

  bool talks() const noexcept {
    return options_.progress != progress_style::none || options_.quiet;
  }

  void say_what_is_done() {
    if (!finds_descendants())
      say("what leaves its process group is not found on this system (/proc/…/children)");
    if (!talks()) return;
    auto text = speaks_.local() ? fmt::format("{} asks no server: {} at once, for as many {}",
                                              own_name(), room_.most, room_.why)
                                : fmt::format("profile {}, at most {} at once ({})", speaks_.name(),
                                              room_.most, room_.why);
    if (!set_here_.empty())
      text += fmt::format("; with {}, so that each throttle is seen", set_here_);
    if (log_ && !safe_) text += "; what a kill interrupts is not run again (--safe)";
    say(text);
  }

  int show_plan() {
    auto const total = standing_.total;
    std::string text;
    if (total >= 0) text += fmt::format("{} jobs, {} of them done\n", total, standing_.before);
    text += fmt::format("profile {}{}, {} to repeat, at most {} at once ({})\n", speaks_.name(),
                        speaks_.local() ? " (no server)" : "", safe_ ? "safe" : "not safe",
                        room_.most, room_.why);
    if (!input_->is_stream()) {
      std::int64_t shown = 0;
      for (bool more = true; more && shown < 10;) {
        more = input_->fill();
        while (auto const item = input_->ready()) {
          if (++shown > 10) break;
          text += shell_words(arguments_of(*item, 1)) + "\n";
        }
      }
      if (total > 10) text += fmt::format("… and {} more\n", total - 10);
    }
    std::fputs(text.c_str(), stdout);
    return exit_ok;
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────

  void loop() {
    while (true) {
      auto const now = clock_now();
      visible_.tick(now);
      check_halts(now);
      acknowledge();
      start_committed(now);
      if (!halt_.draining()) {
        admit(now);
        pump(now);
      }
      end_late(now);
      if (polls_)
        events_.watch(STDIN_FILENO,
                      !halt_.draining() && !full() && !closed_ && !readable_ ? EPOLLIN : 0U);
      show(now);
      if (ended()) return;
      for (auto const& e : events_.wait(wakeup(now))) dispatch(e);
    }
  }

  void check_halts(time_point now) {
    if (finishing_ && live_ == 0) halt_.leave_off();
    if (recorder_)
      if (auto const failed = recorder_->failure()) io_failed(failed);
    if (options_.time_max && now - began_ >= *options_.time_max && !halt_.draining())
      halt_.time_out();
    if (printer_ && printer_->closed()) halt_.drain();
    for (auto const& t : options_.stop_if)
      if (auto const words = t.crossed_by(standing_, 20))
        halt_.stop(fmt::format("{} ({})", t.text, *words));
    if (options_.halt && !halt_met_ && options_.halt->met(standing_)) {
      halt_met_ = true;
      if (options_.halt->what == halt_rule::kind::success)
        halt_.drain();
      else
        halt_.stop("--halt " + options_.halt->text);
      if (options_.halt->now) end_all(now, "ended by --halt");
    }
  }

  /// What runs comes to its end, but nothing more is started or kept.
  void io_failed(std::exception_ptr failed) {
    if (!io_failure_) io_failure_ = std::move(failed);
    halt_.drain();
  }

  void dispatch(poller::event const& e) {
    if (visible_.ready(clock_now(), e)) return;
    if (e.fd == signals_.fd()) {
      take_signal();
    } else if (recorder_ && e.fd == recorder_->event_fd()) {
      std::uint64_t unused = 0;
      [[maybe_unused]] auto const n = read(e.fd, &unused, sizeof unused);
    } else if (e.fd == STDIN_FILENO) {
      readable_ = true;
    } else if (static_cast<std::size_t>(e.fd) >= watched_.size()) {
      return;  // a connection of ctl, closed meanwhile
    } else if (auto const& w = watched_[static_cast<std::size_t>(e.fd)]; w.what == watch::guard) {
      hear(w.index);
    } else if (w.what == watch::task) {
      auto& t = tasks_[w.index];
      drain(t, e.fd);
    }
  }

  void take_signal() {
    auto const signal = signals_.take();
    if (signal == 0) return;
    halt_.interrupt(signal);
    progress_.clear();
    if (!halt_.hurried())
      say(fmt::format("stopping: {} running are finished first; once more ends them",
                      standing_.in_flight));
    else
      end_all(clock_now(), "ended by a second signal");
  }

  bool ended() const {
    if (standing_.in_flight > 0 || !intending_.empty()) return false;
    if (halt_.draining()) return true;
    if (live_ == 0) return closed_ && !put_back_;
    if (!(closed_ || full() || no_room_)) return false;
    return std::ranges::all_of(
        tasks_, [](task const& t) { return t.where == nullptr || t.where->parked(); });
  }

  time_point wakeup(time_point now) {
    auto at = std::min(progress_.wakeup(), visible_.wakeup());
    if (!halt_.draining()) {
      if (!closed_ && !finishing_ && !full() && !no_room_ && (!polls_ || readable_ || put_back_))
        return now;
      if (no_room_) at = std::min(at, lanes_.room_at());
      if (room_to_start()) at = std::min(at, lanes_.wakeup());
      if (options_.time_max) at = std::min(at, began_ + *options_.time_max);
      if (held_by_output()) at = std::min(at, later(now, 10ms));
    }
    if (printer_ && options_.keep_order) at = std::min(at, later(now, 100ms));
    for (auto const& g : guards_)
      if (g.runs >= 0)
        at = std::min(at, tasks_[static_cast<std::size_t>(g.runs)].kill_at.value_or(never));
    return at;
  }

  bool held_by_output() const noexcept {
    return (recorder_ && recorder_->pending_bytes() >= waiting_output_max) ||
           (printer_ && (printer_->pending_bytes() >= waiting_output_max ||
                         printer_->pending() >= waiting_outputs_max));
  }
  bool full() const noexcept { return live_ >= read_ahead || held_by_output(); }

  // ── jobs come in ────────────────────────────────────────────────────────────────────────────

  void admit(time_point now) {
    no_room_ = false;
    if (finishing_) return;
    for (int budget = 256; budget > 0 && !closed_ && !full(); --budget) {
      auto item = next_item();
      if (!item) {
        if (polls_ && !readable_) return;
        continue;
      }
      if (!accept(now, std::move(*item))) return;
    }
  }

  /// nullopt: there is none, or not yet; reads at most once.
  std::optional<exec_item> next_item() try {
    if (put_back_) return std::exchange(put_back_, std::nullopt);
    if (auto item = input_->ready()) {
      if (log_ && log_->done(item->line)) return std::nullopt;
      return item;
    }
    if (last_read_) {
      closed_ = true;
      return std::nullopt;
    }
    if (polls_ && !std::exchange(readable_, false)) return std::nullopt;
    last_read_ = !input_->fill();
    return std::nullopt;
  } catch (fatal const&) {
    halt_.fail(std::current_exception());
    closed_ = true;
    return std::nullopt;
  }

  bool perhaps_ran(exec_item const& item) const {
    return log_ && !safe_ && std::ranges::binary_search(log_->intents(), item.line);
  }

  bool accept(time_point now, exec_item&& item) {
    last_line_ = item.line;
    if (perhaps_ran(item)) {
      task t{.what = std::move(item), .order = ++orders_};
      record(t,
             {.how = final_outcome::unknown,
              .reason = "it was running when an earlier run was killed, and may have done its "
                        "work"},
             0);
      return true;
    }
    auto const scope = scope_ ? text_of(*scope_, item, 0) : scope_of_environment();
    lane_key const key{
        .origin = lane_name_, .credential = {}, .given = scope, .url = {}, .body = {}};
    if (lanes_.stopped(key)) return true;  // left for a later run
    auto* const l = lanes_.at(now, key);
    no_room_ = l == nullptr;
    if (no_room_) {
      put_back_ = std::move(item);
      return false;
    }
    auto const index = add();
    auto& t = tasks_[index];
    t.what = std::move(item);
    t.where = l;
    t.read = now;
    if (submit(index, now)) {
      t.order = ++orders_;
      return true;
    }
    put_back_ = std::move(t.what);
    forget(index);
    return false;
  }

  std::string scope_of_environment() const {
    std::string scope;
    for (auto const& name : speaks_.scope())
      if (auto const* const value = std::getenv(name.c_str()); value != nullptr && *value != '\0') {
        // What may be a key is told apart by its digest only.
        auto const secret = name.find("KEY") != name.npos || name.find("TOKEN") != name.npos;
        scope += fmt::format(
            "{}{}={}", scope.empty() ? "" : " ", name,
            secret ? fmt::format("{:016x}", std::hash<std::string>{}(value)) : std::string(value));
      }
    return scope;
  }

  std::uint32_t add() {
    ++live_;
    if (free_.empty()) {
      tasks_.emplace_back();
      return static_cast<std::uint32_t>(tasks_.size() - 1);
    }
    auto const index = free_.back();
    free_.pop_back();
    return index;
  }
  void forget(std::uint32_t index) {
    tasks_[index] = {};
    free_.push_back(index);
    --live_;
  }

  bool submit(std::uint32_t index, time_point now) {
    auto& t = tasks_[index];
    auto const answer =
        t.where->submit(now, {.failures = t.broken, .throttles = t.refusals}, index);
    auto const* const id = std::get_if<ticket>(&answer);
    if (id != nullptr) t.id = *id;
    return id != nullptr;
  }

  // ── jobs run ────────────────────────────────────────────────────────────────────────────────

  bool room_to_start() const noexcept {
    return standing_.in_flight + static_cast<std::int64_t>(intending_.size()) < guards_max_ &&
           !held_by_output();
  }

  void pump(time_point now) {
    for (auto& [key, l] : lanes_) {
      if (!l.due(now)) continue;
      l.open(now, room_to_start());
      while (room_to_start()) {
        auto const turn = l.next(now, chance_);
        if (!turn) break;
        if (turn->what == lane::turn::kind::send)
          begin(turn->number, now);
        else
          never_goes(turn->number, turn->why);
      }
      l.rest(now, room_to_start());
    }
  }

  void never_goes(std::uint32_t index, std::string_view why) {
    auto const reason = fmt::format("not started: quota: {}", why);
    end(index, {.how = final_outcome::failed, .reason = reason}, 0);
  }

  void begin(std::uint32_t index, time_point now) {
    auto& t = tasks_[index];
    t.sent = now;
    t.out = true;
    if (!t.first_sent) t.first_sent = now;
    if (!log_ || t.intended || safe_) {
      start(index);
      return;
    }
    t.intended = true;
    t.intent = recorder_->intend(t.what.line);
    intending_.push_back(index);
  }

  /// Starts what must not run twice, now that the journal knows of it.
  void start_committed(time_point) {
    auto const committed = recorder_ ? recorder_->committed() : 0;
    while (!intending_.empty()) {
      auto const index = intending_.front();
      auto& t = tasks_[index];
      auto const given_up = halt_.draining() || t.where->stopped();
      if (!given_up && t.intent > committed) return;
      intending_.pop_front();
      if (given_up) {
        withdraw(t);
        t.where->cancel(clock_now(), t.id);
        leave_open(index);
      } else {
        start(index);
      }
    }
  }

  /// The lowest guard that is idle; -1: there can be none.
  int idle_guard() {
    for (std::size_t i = 0; i < guards_.size(); ++i)
      if (guards_[i].runs < 0 && guards_[i].process) return static_cast<int>(i);
    auto slot = std::ranges::find_if(guards_, [](auto const& g) { return !g.process; });
    if (slot == guards_.end()) {
      guards_.emplace_back();
      slot = guards_.end() - 1;
    }
    try {
      slot->process = std::make_unique<guard>();
    } catch (std::system_error const& e) {
      if (standing_.in_flight == 0)
        throw fatal(exit_io, fmt::format("cannot start a process: {}", e.what()));
      guards_max_ = static_cast<int>(standing_.in_flight);
      return -1;
    }
    auto const index = static_cast<std::uint32_t>(slot - guards_.begin());
    watch_fd(slot->process->fd(), {watch::guard, index});
    return static_cast<int>(index);
  }

  void start(std::uint32_t index) {
    auto& t = tasks_[index];
    t.guard = idle_guard();
    if (t.guard < 0) {  // as if the machine had said: not so many
      settle(index, {.what = reaction::concurrency, .code = "there can be no further process"}, {});
      return;
    }
    auto const slot = t.guard + 1;
    command_start c{.program = program_,
                    .arguments = arguments_of(t.what, slot),
                    .detach_ok = options_.detach_ok};
    if (c.program.empty()) c.program = found_program(c.arguments.front());
    for (auto const& [name, value] : environment_)
      c.environment.push_back(name + "=" + text_of(value, t.what, slot));
    t.argument_bytes = 0;
    for (auto const& a : c.arguments) t.argument_bytes += a.size() + 1;
    if (c.program.empty()) {
      t.guard = -1;
      not_started(index, fmt::format("there is no program {}", in_quotes(c.arguments.front())));
      return;
    }
    std::array<std::array<int, 2>, 3> pipes;
    for (auto& p : pipes) p = {-1, -1};
    auto const close_all = [&] {
      for (auto const& p : pipes)
        for (int const fd : p)
          if (fd >= 0) ::close(fd);
    };
    if (::pipe2(pipes[0].data(), O_CLOEXEC) != 0 || ::pipe2(pipes[1].data(), O_CLOEXEC) != 0 ||
        ::pipe2(pipes[2].data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      close_all();
      t.guard = -1;
      settle(index, {.what = reaction::concurrency, .code = std::strerror(errno)}, {});
      return;
    }
    file const input(stdin_ ? text_in_memory(text_of(*stdin_, t.what, slot))
                            : ::open("/dev/null", O_RDONLY | O_CLOEXEC),
                     "standard input");
    c.input = input.fd();
    c.output = pipes[0][1];
    c.error = pipes[1][1];
    c.hints = pipes[2][1];
    auto& g = guards_[static_cast<std::size_t>(t.guard)];
    auto const started = g.process->start(c);
    for (auto& p : pipes) ::close(std::exchange(p[1], -1));
    g.runs = static_cast<int>(index);
    ++t.attempts;
    ++standing_.attempts;
    ++standing_.in_flight;
    standing_.in_flight_peak = std::max(standing_.in_flight_peak, standing_.in_flight);
    t.sent = clock_now();
    t.began = wall_seconds();
    t.ended_by.clear();
    if (options_.timeout) t.kill_at = later(t.sent, *options_.timeout);
    t.output_fd = pipes[0][0];
    t.error_fd = pipes[1][0];
    t.hints_fd = pipes[2][0];
    t.output.begin(spool_path(t, "out"));
    t.error.begin(spool_path(t, "err"));
    for (int const fd : {t.output_fd, t.error_fd}) {
      ::fcntl(fd, F_SETFL, O_NONBLOCK);
      watch_fd(fd, {watch::task, index});
    }
    if (!started) hear(static_cast<std::uint32_t>(t.guard));
  }

  static int text_in_memory(std::string const& text) {
    int const fd = memfd_create("input", MFD_CLOEXEC);
    if (fd >= 0 && (write_all(fd, text) < text.size() || lseek(fd, 0, SEEK_SET) != 0)) {
      ::close(fd);
      return -1;
    }
    return fd;
  }

  std::string output_path(task const& t, std::string_view kind) const {
    auto const& folder = keeps_outputs_ ? options_.out_dir : large_dir_;
    return fmt::format("{}{}{:08}.{}", folder, folder.ends_with('/') ? "" : "/", t.what.number,
                       kind);
  }
  /// Where its output gathers when it is much; "": in a file without a name.
  std::string spool_path(task const& t, std::string_view kind) const {
    return keeps_outputs_ || !large_dir_.empty() ? output_path(t, kind) + ".new" : "";
  }

  struct watch {
    enum kind : std::uint8_t { none, guard, task };
    kind what = none;
    std::uint32_t index = 0;
  };
  void watch_fd(int fd, watch w) {
    auto const at = static_cast<std::size_t>(fd);
    if (at >= watched_.size()) watched_.resize(at + 1);
    watched_[at] = w;
    events_.watch(fd, EPOLLIN);
  }
  void close_fd(int& fd) {
    if (fd < 0) return;
    events_.forget(fd);
    watched_[static_cast<std::size_t>(fd)] = {};
    ::close(std::exchange(fd, -1));
  }

  /// Reads what is there. False: there is an end, and it has not come.
  bool drain(task& t, int fd) {
    auto& to = fd == t.output_fd ? t.output : t.error;
    for (;;) {
      auto const n = ::read(fd, block_.data(), block_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n == 0) events_.watch(fd, 0);
      if (n <= 0) return n == 0;
      if (io_failure_) continue;  // it is not held up
      try {
        if (!to.in_file() && static_cast<std::size_t>(to.size() + n) > spool::memory_max &&
            !keeps_outputs_ && !large_dir_.empty())
          make_body_folder(large_dir_);
        to.append({block_.data(), static_cast<std::size_t>(n)});
      } catch (fatal const&) {
        io_failed(std::current_exception());
      }
      if (n < static_cast<ssize_t>(block_.size())) return false;
      if (standing_.in_flight > 1) return false;  // the others, too
    }
  }

  /// A guard has something to say.
  void hear(std::uint32_t index) {
    auto& g = guards_[index];
    if (!g.process) return;
    auto how = g.process->end();
    if (!how && !g.process->gone()) return;
    auto const running = std::exchange(g.runs, -1);
    if (!how) {  // killed: what it ran is ours now
      auto const fd = g.process->fd();
      events_.forget(fd);
      watched_[static_cast<std::size_t>(fd)] = {};
      g.process.reset();
      end_orphans();
    }
    if (running < 0) return;
    finished(static_cast<std::uint32_t>(running), how);
  }

  void end_orphans() {
    std::vector<pid_t> ours;
    for (auto const& g : guards_)
      if (g.process) ours.push_back(g.process->id());
    end_descendants(ours);
  }

  void finished(std::uint32_t index, std::optional<command_end> how) {
    auto& t = tasks_[index];
    --standing_.in_flight;
    t.out = false;
    t.guard = -1;
    t.kill_at.reset();
    job_result r{.took = clock_now() - t.sent};
    for (auto* const fd : {&t.output_fd, &t.error_fd}) {
      while (true) {  // all that wrote to it are gone
        auto const size = t.output.size() + t.error.size();
        auto const whole = drain(t, *fd);
        if (whole) break;
        if (size == t.output.size() + t.error.size() && !readable_now(*fd)) {
          r.cut = true;
          break;
        }
      }
      close_fd(*fd);
    }
    std::string hints(hints_max, '\0');
    auto const n = ::read(t.hints_fd, hints.data(), hints.size());
    hints.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    ::close(std::exchange(t.hints_fd, -1));
    if (!how) {
      t.ended_by = "its guard was killed";
      how = command_end{.status = SIGKILL};
      if (!safe_ && log_) {  // whether it did its work cannot be told
        visible_.counts().attempted(t.where->title(), outcome::ignore, r.took);
        t.where->cancel(clock_now(), t.id);
        r.reason = t.ended_by;
        r.how = final_outcome::unknown;
        end(index, r, 0);
        return;
      }
    }
    if (how->error == EAGAIN || how->error == ENOMEM) {
      settle(index, {.what = reaction::concurrency, .code = std::strerror(how->error)}, r);
      return;
    }
    if (how->error != 0) {
      not_started(index, how->error == E2BIG
                             ? fmt::format("its arguments are too long: {} bytes", t.argument_bytes)
                             : std::string(std::strerror(how->error)));
      return;
    }
    if (WIFSIGNALED(how->status)) r.signal = WTERMSIG(how->status);
    r.exit = WIFEXITED(how->status) ? WEXITSTATUS(how->status) : 0;
    if (io_failure_ ||
        (t.cut_short && how->status != 0)) {  // or its output is lost, so it has no result
      t.where->cancel(clock_now(), t.id);
      leave_open(index, true);
      return;
    }
    auto const output = t.output.tail(command_answer::looked_at),
               error = t.error.tail(command_answer::looked_at);
    auto told = speaks_.judge({.exit = r.signal != 0 ? 128 + r.signal : r.exit,
                               .output = output,
                               .error = error,
                               .hints = hints},
                              options_.throttle, wall_now());
    if (!t.ended_by.empty() && told.what != reaction::served)
      told = {.what = reaction::permanent, .code = t.ended_by};
    settle(index, std::move(told), r);
  }

  static bool readable_now(int fd) {
    int waiting = 0;
    return ::ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
  }

  void not_started(std::uint32_t index, std::string const& why) {
    auto& t = tasks_[index];
    visible_.counts().attempted(t.where->title(), outcome::ignore, clock_now() - t.sent);
    t.where->cancel(clock_now(), t.id);
    auto const reason = "not started: " + why;
    end(index, {.how = final_outcome::failed, .exit = 127, .reason = reason}, 127);
  }

  /// What a command's end means for its lane, and for itself.
  void settle(std::uint32_t index, judgement told, job_result r) {
    auto& t = tasks_[index];
    auto& l = *t.where;
    auto const now = clock_now();
    t.out = false;
    hints_ignored_ += told.ignored;
    auto const failed = told.what == reaction::transient || told.what == reaction::permanent;
    auto const asked = options_.attempts_max > 1;
    auto const said = failed ? told.code : std::string();
    // What ended for no known reason was served as far as its limit goes.
    if (failed && asked) told.what = reaction::transient;
    auto const status = told.what == reaction::permanent ? 400
                        : told.what == reaction::served  ? 200
                                                         : 0;
    auto const [taught, ruling, alone] =
        l.settle(now, t.id, told,
                 {.status = status, .may_repeat = asked || safe_, .error = told.code}, chance_());
    visible_.counts().attempted(l.title(), taught, r.took);
    lanes_.wake(now);
    if (taught == outcome::throttle) {
      ++t.throttled;
      ++t.refusals;
      ++standing_.throttled;
    } else if (failed) {
      ++t.broken;
      ++standing_.broken;
      standing_.last_error = l.title() + ": " + printable(said);
    }
    if (stops(told.what)) {
      auto const why = told.code;
      leave_open(index);
      stop(l, why);
      return;
    }
    if (ruling.what == verdict::retry || ruling.what == verdict::park) {
      if (halt_.draining() && taught != outcome::throttle && t.intended) {
        l.cancel(now, t.id);  // it ran, and failed: that is its result for now
      } else {
        if (taught == outcome::throttle) withdraw(t);
        if (l.stopped() || alone) leave_open(index);
        return;
      }
    }
    r.how = told.what == reaction::served ? final_outcome::success : final_outcome::failed;
    r.reason = r.how == final_outcome::success ? std::string_view() : said;
    end(index, r, r.how == final_outcome::success ? 0 : r.signal != 0 ? 128 + r.signal : r.exit);
  }

  void withdraw(task& t) {
    if (std::exchange(t.intended, false)) recorder_->clear(t.what.line);
  }

  /// Without a result: a later run takes it up again. `ran`: it may have done its work.
  void leave_open(std::uint32_t index, bool ran = false) {
    auto& t = tasks_[index];
    if (!ran) withdraw(t);
    t.output.drop();
    t.error.drop();
    if (t.order > 0 && printer_) printer_->skip(t.order);
    ++left_open_;
    forget(index);
  }

  void stop(lane const& l, std::string_view why) {
    if (l.stopped()) return;
    halt_.stop_in_part();
    lanes_.stop(l);
    progress_.clear();
    say(fmt::format("{}: stopped: {}", l.title(), in_quotes(why)));
    for (std::uint32_t i = 0; i < tasks_.size(); ++i)
      if (auto& t = tasks_[i]; t.where != nullptr && t.where->stopped() && !t.out) {
        t.where->cancel(clock_now(), t.id);
        leave_open(i);
      }
  }

  // ── jobs end ────────────────────────────────────────────────────────────────────────────────

  void end(std::uint32_t index, job_result r, int refused_by) {
    record(tasks_[index], r, refused_by);
    forget(index);
  }

  void record(task& t, job_result r, int refused_by) {
    auto output = t.output.take(), error = t.error.take();
    r.id = t.what.id;
    r.line = t.what.line;
    r.number = t.what.number;
    r.attempts = t.attempts;
    r.throttled = t.throttled;
    r.began = t.began;
    r.output = &output;
    r.error = &error;
    ++standing_.of(r.how);
    visible_.counts().ended(t.where == nullptr ? lane_name_ : t.where->title(), r.how);
    if (r.how != final_outcome::success) {
      ++failures_;
      auto const line = std::string_view(error.text).substr(0, 4096);
      lost_.add(
          {.how = r.how, .host = lane_name_, .line = r.line, .reason = r.reason, .said = line});
    }
    auto const log_line =
        job_log_ ? log_line_of(r, shell_words(arguments_of(t.what, 1))) : std::string();
    std::uint64_t change = 0;
    if (recorder_) {
      std::vector<kept_body> bodies;
      auto const out_path = keep(bodies, t, output, "out"),
                 error_path = keep(bodies, t, error, "err");
      r.output_file = out_path;
      r.error_file = error_path;
      change = recorder_->finish(t.what.line, r.how, line_of(r), std::move(bodies));
    }
    acknowledgement done{.change = change, .order = t.order, .what = {}, .log_line = log_line};
    if (printer_) {
      if (options_.tag) done.what.tag = t.what.words();
      done.what.output = std::move(output);
      done.what.error = std::move(error);
    }
    acks_.push_back(std::move(done));
    if (!recorder_) acknowledge();
    if (canary_.dies(refused_by) && options_.canary && !speaks_.local())
      halt_.stop(fmt::format(
          "the first {} jobs all failed alike, such as line {}: {}; put that right "
          "and run it again{}; --no-canary goes on regardless",
          canary::watched, t.what.line, printable(r.reason), log_ ? " with --again failed" : ""));
  }

  /// The file that has an output, "" where it is in the result.
  std::string keep(std::vector<kept_body>& bodies, task const& t, spooled const& s,
                   std::string_view kind) const {
    if (!keeps_outputs_ && (!s.in || large_dir_.empty())) return "";
    auto path = output_path(t, kind);
    bodies.push_back({.path = path,
                      .bytes = s.text,
                      .first = keeps_outputs_ && !own_outputs_,
                      .spooled = s.in != nullptr});
    return path;
  }

  void acknowledge() {
    auto const committed = recorder_ ? recorder_->committed() : 0;
    while (!acks_.empty() && acks_.front().change <= committed) {
      auto done = std::move(acks_.front());
      acks_.pop_front();
      if (printer_) printer_->print(done.order, std::move(done.what));
      if (!job_log_ || done.log_line.empty()) continue;
      try {
        job_log_->append(done.log_line);
      } catch (fatal const&) {
        io_failed(std::current_exception());
      }
    }
  }

  void end_all(time_point now, std::string const& why) {
    for (auto const& g : guards_)
      if (g.runs >= 0) {
        auto& t = tasks_[static_cast<std::size_t>(g.runs)];
        if (!t.ended_by.empty()) continue;
        t.cut_short = true;
        terminate(now, t, why);
      }
  }

  /// SIGTERM now, SIGKILL later.
  void terminate(time_point now, task& t, std::string const& why) {
    t.ended_by = why;
    guards_[static_cast<std::size_t>(t.guard)].process->signal(SIGTERM);
    t.kill_at = later(now, patience);
  }

  void end_late(time_point now) {
    for (auto const& g : guards_) {
      if (g.runs < 0) continue;
      auto& t = tasks_[static_cast<std::size_t>(g.runs)];
      if (!t.kill_at || *t.kill_at > now) continue;
      if (t.ended_by.empty()) {
        terminate(now, t, fmt::format("timed out after {}", in_words(*options_.timeout)));
      } else {
        guards_[static_cast<std::size_t>(t.guard)].process->signal(SIGKILL);
        t.kill_at.reset();
      }
    }
  }

  // ── what other processes ask and say ────────────────────────────────────────────────────────

  /// What a user tells it, as far as it is not for its lanes.
  void act(time_point, command const& c) {
    using enum command::verb;
    if (c.what == spend_max)
      throw std::invalid_argument("spend-max: commands do not say what they cost");
    if (c.what == stop) halt_.leave_off();
    if (c.what != finish) return;
    finishing_ = true;
    for (std::uint32_t i = 0; i < tasks_.size(); ++i)
      if (auto& t = tasks_[i]; t.where != nullptr && t.attempts == 0 && !t.out) {
        t.where->cancel(clock_now(), t.id);
        leave_open(i);
      }
  }

  std::string explain(std::int64_t line) const {
    auto const now = clock_now();
    for (auto const& t : tasks_) {
      if (t.where == nullptr || t.what.line != line) continue;
      if (t.out) return fmt::format("runs for {}, attempt {}", in_words(now - t.sent), t.attempts);
      auto const held = t.where->why(now);
      return fmt::format("waits in the queue of {} for {}, for attempt {}{}", t.where->title(),
                         in_words(now - t.read), t.attempts + 1,
                         held.why == reason::none ? std::string()
                                                  : fmt::format("; what holds the first there: {}",
                                                                to_string(held.why)));
    }
    return line <= last_line_ ? "ended: see the results"
                              : fmt::format("not read yet: line {} was the last", last_line_);
  }

  // ── what people see ─────────────────────────────────────────────────────────────────────────

  void show(time_point now) {
    visible_.look(now);
    if (now < progress_.wakeup()) return;
    standing_.waiting = lanes_.hindrances(now);
    if (held_by_output())
      standing_.waiting = {
          {hindrance::kind::turn, "",
           options_.keep_order ? "an earlier output (-k)" : "our output to be read", "", never}};
    progress_.update(now, standing_);
  }

  int conclude() {
    std::exception_ptr failed = io_failure_;
    if (recorder_ && !failed) {
      try {
        recorder_->drain();
      } catch (...) {
        failed = std::current_exception();
      }
      acknowledge();
    }
    if (printer_) printer_->flush();
    auto const closed = printer_ && printer_->closed();
    printer_.reset();
    guards_.clear();
    end_orphans();
    lanes_.conclude();
    progress_.clear();
    auto const& s = standing_;
    if (talks() && !closed) {
      auto text = summary(s, clock_now() - began_) + lost_.words() + visible_.changes() +
                  lanes_.where_time_went() + lanes_.findings() + next_step(s, log_ != nullptr);
      std::fputs(text.c_str(), stderr);
    }
    lanes_.keep();
    if (!halt_.hurried()) visible_.conclude(signals_.fd());
    if (hints_ignored_ > 0)
      say(fmt::format("{} values in outputs made no sense, and were ignored", hints_ignored_));
    if (failed) std::rethrow_exception(failed);
    if (!options_.failed.empty())
      write_failed_lines(*input_->file(), input_->records().whole(log_->lost()), options_.failed,
                         options_.level);
    auto const unfinished =
        halt_.draining() && (!closed_ || live_ > 0 || left_open_ > 0 || s.left() > 0);
    if (closed && unfinished) throw fatal(exit_pipe, "standard output is closed");
    if (auto const code = halt_.exit_code(unfinished, log_ != nullptr)) return *code;
    if (halt_met_) return exit_ok;  // --halt success
    if (live_ > 0) {
      auto const until = lanes_.parked_until();
      say(
          fmt::format("parked: it is asked to wait {}, which is more than --wait-max {}; run the "
                      "same command again then",
                      until == never ? std::string("for ever") : in_words(until - clock_now()),
                      in_words(options_.wait_max)));
      return exit_parked;
    }
    if (left_open_ > 0) {
      say(
          fmt::format("{} were refused alone for longer than --wait-max {}; run the same command "
                      "again later",
                      left_open_, in_words(options_.wait_max)));
      return exit_parked;
    }
    for (auto const& t : options_.fail_if)
      if (auto const words = t.crossed_by(standing_, 1)) {
        say(fmt::format("--fail-if {}: {}", t.text, *words));
        return exit_threshold;
      }
    auto const lost = failures_ + s.failed_before + s.unknown_before;
    if (options_.exit_failures) return static_cast<int>(std::min<std::int64_t>(lost, 101));
    return lost > 0 ? exit_failed : exit_ok;
  }

  exec_options const options_;
  time_point const began_ = clock_now();
  argv_template command_;
  std::string const program_;
  command_profile const speaks_;
  bool const safe_;
  room const room_;
  profile const http_;
  std::vector<std::pair<std::string, argv_template>> environment_{};
  std::optional<argv_template> stdin_{}, scope_{};
  std::vector<std::string> names_{};
  std::string const lane_name_ = options_.name.empty()
                                     ? "exec " + (own_name().empty() ? "commands" : own_name())
                                     : options_.name;
  std::string set_here_{};
  bool warned_ = false;

  rng chance_{seed()};
  signals signals_;
  poller events_;
  progress progress_{options_.progress, began_};
  standing standing_;

  std::unique_ptr<journal> log_{};
  std::optional<exec_input> input_{};
  bool polls_ = false, readable_ = false, last_read_ = false, closed_ = false, no_room_ = false;
  std::optional<exec_item> put_back_{};
  bool keeps_outputs_ = false, own_outputs_ = false;
  std::string large_dir_{};
  std::optional<file> results_{};
  std::optional<recorder> recorder_{};
  std::optional<file> job_log_{};
  std::optional<printer> printer_{};

  lanes lanes_;
  canary canary_;
  halt halt_;
  bool halt_met_ = false;
  std::exception_ptr io_failure_{};
  losses lost_;
  std::int64_t failures_ = 0, left_open_ = 0, hints_ignored_ = 0, orders_ = 0;

  std::deque<task> tasks_;
  std::vector<std::uint32_t> free_;
  std::size_t live_ = 0;
  std::deque<std::uint32_t> intending_;
  std::deque<acknowledgement> acks_;
  std::vector<watch> watched_;
  std::array<char, 65536> block_;

  struct guarded {
    std::unique_ptr<guard> process{};
    int runs = -1;  // a task
  };
  std::vector<guarded> guards_;
  int guards_max_ = room_.most;

  bool finishing_ = false;  // no other job begins
  std::int64_t last_line_ = 0;
  watched_run visible_{events_,
                       {.surface = "exec",
                        .jobs = lane_name_,
                        .paces = lanes_,
                        .stands = standing_,
                        .hints_ignored = hints_ignored_,
                        .explain = [this](std::int64_t line) { return explain(line); },
                        .act = [this](time_point now, command const& c) { act(now, c); }},
                       began_};
};

}  // namespace

int exec(exec_options options) {
  return runner(std::move(options)).run();
}

}  // namespace headway::app
