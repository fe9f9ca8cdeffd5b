#include "exec/runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
#include <memory>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "exec/descendants.hpp"
#include "exec/exec_files.hpp"
#include "exec/guard.hpp"
#include "exec/job_outputs.hpp"
#include "exec/job_result.hpp"
#include "exec/leftovers.hpp"
#include "exec/program.hpp"
#include "exec/recipe.hpp"
#include "exec/room.hpp"
#include "exec/spool.hpp"
#include "exec/task.hpp"
#include "headway/headway.hpp"
#include "journal/failed_lines.hpp"
#include "journal/journal.hpp"
#include "journal/recorder.hpp"
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

constexpr std::size_t read_ahead = 1024, hints_max = 65536;
constexpr duration patience = 5s;   // between SIGTERM and SIGKILL
constexpr duration look_min = 2ms;  // from one look at what wants a processor to the next …
constexpr int look_share = 10;      // … which takes at most a tenth of the time
constexpr int attempts_if_passing = 4;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class runner {
 public:
  explicit runner(exec_options options)
      : options_(std::move(options)),
        speaks_(options_.speaks ? *options_.speaks
                                : command_profile::of_program(recipe_.own_name())),
        safe_(options_.safe || speaks_.safe(recipe_.words_for_profile())),
        room_(room::here(options_.concurrency, speaks_.local())),
        http_(profile::named("generic")),
        fleet_(fleet()),
        lanes_(pacing()) {}

  int run() {
    open_input();
    if (options_.dry_run) return show_plan();
    outputs_.emplace(options_, log_.get());
    set_environment();
    if (!options_.cold) lanes_.recall();
    if (!options_.trace.empty()) lanes_.trace_to(options_.trace, began_);
    become_subreaper();
    events_.watch(signals_.fd(), EPOLLIN);
    if (auto* const log = outputs_->log()) events_.watch(log->event_fd(), EPOLLIN);
    if (fleet_) events_.watch(fleet_->event_fd(), EPOLLIN);
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

  /// Null where no host shares the limit; so for programs that ask no server.
  std::shared_ptr<fleet_link> fleet() const {
    if (options_.fleet.from_arguments && speaks_.local())
      throw fatal(exit_usage,
                  fmt::format("--limit-at: {} asks no server; its limit is this machine",
                              in_quotes(recipe_.own_name())));
    if (options_.dry_run || speaks_.local()) return nullptr;
    return join_fleet(options_.fleet, options_.wait_max);
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
                      .alone = options_.alone || speaks_.local(),
                      .fleet = fleet_,
                      .in_flight_most = options_.concurrency > 0 ? 0 : room_.most};
    s.governor.throttled = s.law.throttled;
    s.governor.budget = {.balance_max = 1e18, .balance = 1e18};  // --attempts-max is the limit
    if (speaks_.local()) s.governor.first_alone = 0ns;
    return s;
  }

  void open_input() {
    check_files(options_);
    auto settings = options_.input;
    settings.names = recipe_.names();
    if (!options_.journal.empty())
      log_ =
          std::make_unique<journal>(options_.journal,
                                    settings.path == "-"    ? "standard input"
                                    : settings.path.empty() ? ":::"
                                                            : settings.path,
                                    options_.level, recipe_.shape(), options_.again, "the command");
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
                                              recipe_.own_name(), room_.most, room_.why)
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
          text += shell_words(recipe_.arguments(*item, 1)) + "\n";
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
    if (auto* const log = outputs_->log())
      if (auto const failed = log->failure()) io_failed(failed);
    if (options_.time_max && now - began_ >= *options_.time_max && !halt_.draining())
      halt_.time_out();
    if (outputs_->closed()) halt_.drain();
    if (auto why = options_.may.stops(standing_)) halt_.stop(std::move(*why));
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
    } else if (auto* const log = outputs_->log(); log != nullptr && e.fd == log->event_fd()) {
      std::uint64_t unused = 0;
      [[maybe_unused]] auto const n = read(e.fd, &unused, sizeof unused);
    } else if (fleet_ && e.fd == fleet_->event_fd()) {
      fleet_->heard();
      lanes_.wake(clock_now());
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
      if (outputs_->full()) at = std::min(at, later(now, 10ms));
      if (busy_) at = std::min(at, looks_at_);
    }
    if (outputs_->ordered()) at = std::min(at, later(now, 100ms));
    for (auto const& g : guards_)
      if (g.runs >= 0)
        at = std::min(at, tasks_[static_cast<std::size_t>(g.runs)].kill_at.value_or(never));
    return at;
  }

  bool full() const noexcept { return live_ >= read_ahead || outputs_->full(); }

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
    auto const given = recipe_.scope(item);
    auto const scope = given ? *given : scope_of_environment();
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
    return started() < guards_max_ && !outputs_->full() && !busy_;
  }
  /// Commands that run, or are about to.
  std::int64_t started() const noexcept {
    return standing_.in_flight + static_cast<std::int64_t>(intending_.size());
  }

  /// No more is started while twice as many processes as there are processors want one: commands
  /// that share one all come late to what they call, and at the same time.
  void look_at_processors(time_point now) {
    if (started() < hungry_max_ || started() >= guards_max_) return;
    if (now >= looks_at_) {
      std::vector<pid_t> running;
      for (auto const& g : guards_)
        if (g.process && g.runs >= 0) running.push_back(g.process->id());
      hungry_ = hungry_descendants(running, hungry_max_);
      looks_at_ = later(clock_now(), std::max(look_min, look_share * (clock_now() - now)));
    }
    busy_ = hungry_ >= hungry_max_;
  }

  /// Lanes that there was no room for ask anew.
  void look_for_room(time_point now) {
    auto const no_longer_busy = busy_ && (now >= looks_at_ || started() < hungry_max_);
    if (no_longer_busy) busy_ = false;
    if (no_longer_busy || (was_held_ && !outputs_->full())) lanes_.wake(now);
    was_held_ = outputs_->full();
  }

  void pump(time_point now) {
    look_for_room(now);
    for (auto& [key, l] : lanes_) {
      if (!l.due(now)) continue;
      look_at_processors(now);
      l.open(now, room_to_start());
      while (room_to_start()) {
        auto const turn = l.next(now, chance_);
        if (!turn) break;
        if (turn->what == lane::turn::kind::send) {
          begin(turn->number, now);
          ++hungry_;
          busy_ = started() >= hungry_max_ && hungry_ >= hungry_max_;
        } else
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
    t.intent = outputs_->log()->intend(t.what.line);
    intending_.push_back(index);
  }

  /// Starts what must not run twice, now that the journal knows of it.
  void start_committed(time_point) {
    auto const committed = outputs_->committed();
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
    command_start c{.program = recipe_.program(),
                    .arguments = recipe_.arguments(t.what, slot),
                    .environment = recipe_.environment(t.what, slot),
                    .detach_ok = options_.detach_ok};
    if (c.program.empty()) c.program = found_program(c.arguments.front());
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
    auto const text = recipe_.input(t.what, slot);
    file const input(text ? text_in_memory(*text) : ::open("/dev/null", O_RDONLY | O_CLOEXEC),
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
    outputs_->begin(t);
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
        outputs_->append(to, {block_.data(), static_cast<std::size_t>(n)});
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
    if (std::exchange(t.intended, false)) outputs_->log()->clear(t.what.line);
  }

  /// Without a result: a later run takes it up again. `ran`: it may have done its work.
  void leave_open(std::uint32_t index, bool ran = false) {
    auto& t = tasks_[index];
    if (!ran) withdraw(t);
    outputs_->drop(t);
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
    r.id = t.what.id;
    r.line = t.what.line;
    r.number = t.what.number;
    r.attempts = t.attempts;
    r.throttled = t.throttled;
    r.began = t.began;
    ++standing_.of(r.how);
    visible_.counts().ended(t.where == nullptr ? lane_name_ : t.where->title(), r.how);
    if (r.how != final_outcome::success) {
      ++failures_;
      lost_.add({.how = r.how,
                 .host = lane_name_,
                 .line = r.line,
                 .reason = r.reason,
                 .said = t.error.head(4096)});
    }
    auto const line = t.what.line;
    auto const why = std::string(r.reason);
    outputs_->record(t, r,
                     options_.job_log.empty() ? "" : shell_words(recipe_.arguments(t.what, 1)));
    if (outputs_->log() == nullptr) acknowledge();
    if (canary_.dies(refused_by) && options_.may.canary && !speaks_.local())
      halt_.stop(
          fmt::format("the first {} jobs all failed alike, such as line {}: {}; put that right "
                      "and run it again{}; --no-canary goes on regardless",
                      canary::watched, line, printable(why), log_ ? " with --again failed" : ""));
  }

  void acknowledge() {
    if (auto failed = outputs_->acknowledge()) io_failed(std::move(failed));
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
    if (auto const hosts = lanes_.hosts()) standing_.fleet = words_of(*hosts, now);
    if (outputs_->full())
      standing_.waiting = {
          {hindrance::kind::turn, "",
           options_.keep_order ? "an earlier output (-k)" : "our output to be read", "", never}};
    progress_.update(now, standing_);
  }

  int conclude() {
    std::exception_ptr failed = io_failure_;
    if (outputs_->log() != nullptr && !failed) {
      try {
        outputs_->log()->drain();
      } catch (...) {
        failed = std::current_exception();
      }
      acknowledge();
    }
    outputs_->conclude();
    auto const closed = outputs_->closed();
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
      if (lanes_.parked_as_broken(clock_now())) {
        say(
            fmt::format("parked: nothing but failures for longer than --wait-max {}; run the same "
                        "command again later",
                        in_words(options_.wait_max)));
        return exit_parked;
      }
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
    if (auto const why = options_.may.fails(s)) {
      say(*why);
      return exit_threshold;
    }
    auto const lost = failures_ + s.failed_before + s.unknown_before;
    if (options_.exit_failures) return static_cast<int>(std::min<std::int64_t>(lost, 101));
    return lost > 0 ? exit_failed : exit_ok;
  }

  exec_options const options_;
  time_point const began_ = clock_now();
  recipe const recipe_{options_};
  command_profile const speaks_;
  bool const safe_;
  room const room_;
  profile const http_;
  std::string const lane_name_ =
      options_.name.empty()
          ? "exec " + (recipe_.own_name().empty() ? "commands" : recipe_.own_name())
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
  std::optional<job_outputs> outputs_{};

  std::shared_ptr<fleet_link> fleet_;
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
  std::vector<watch> watched_;
  std::array<char, 65536> block_;

  struct guarded {
    std::unique_ptr<guard> process{};
    int runs = -1;  // a task
  };
  std::vector<guarded> guards_;
  int guards_max_ = room_.most;
  int const hungry_max_ = 2 * processors();
  int hungry_ = 0;  // processes that wanted a processor at the last look, and what began since
  time_point looks_at_ = time_point::min();
  bool busy_ = false, was_held_ = false;

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
