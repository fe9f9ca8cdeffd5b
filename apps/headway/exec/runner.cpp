#include "exec/runner.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "exec/crew.hpp"
#include "exec/descendants.hpp"
#include "exec/exec_files.hpp"
#include "exec/job_intake.hpp"
#include "exec/job_outputs.hpp"
#include "exec/job_result.hpp"
#include "exec/leftovers.hpp"
#include "exec/pacing.hpp"
#include "exec/plan.hpp"
#include "exec/processor_share.hpp"
#include "exec/program.hpp"
#include "exec/recipe.hpp"
#include "exec/room.hpp"
#include "exec/surroundings.hpp"
#include "exec/task.hpp"
#include "headway/driver/entropy.hpp"
#include "headway/headway.hpp"
#include "journal/failed_lines.hpp"
#include "journal/journal.hpp"
#include "journal/recorder.hpp"
#include "pacing/lanes.hpp"
#include "watch/course.hpp"

namespace headway::app {
namespace {

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
        fleet_(fleet_of(options_, speaks_, recipe_.own_name())),
        lanes_(pacing_of(options_, speaks_, room_, fleet_)) {}

  int run() {
    open_input();
    if (options_.dry_run) {
      show_plan({standing_.total, standing_.before}, speaks_, safe_, room_, recipe_,
                jobs_->input());
      return exit_ok;
    }
    outputs_.emplace(options_, log_);
    set_environment();
    if (!options_.cold) lanes_.recall();
    if (!options_.trace.empty()) lanes_.trace_to(options_.trace, course_.began());
    become_subreaper();
    if (auto* const log = outputs_->log()) events_.watch(log->event_fd(), EPOLLIN);
    course_.open(lanes_, {.surface = "exec",
                          .jobs = lane_name_,
                          .metrics = options_.metrics,
                          .fleet = fleet_.get(),
                          .explain = [this](std::int64_t line) { return explain(line); },
                          .act = [this](time_point now, command const& c) { act(now, c); }});
    say_what_is_done();
    try {
      loop();
      return conclude();
    } catch (fatal const&) {
      if (outputs_->closed()) throw unprinted(EPIPE);  // before any other
      throw;
    }
  }

 private:
  // ── before ──────────────────────────────────────────────────────────────────────────────────

  void open_input() {
    check_files(options_);
    jobs_.emplace(options_, recipe_);
    log_ = jobs_->log();
    standing_.total = jobs_->total();
    auto const& before = jobs_->before();
    standing_.failed_before = before.failed;
    standing_.unknown_before = before.unknown;
    standing_.before = before.success + before.lost();
  }

  /// Before the first guard, which hands it down.
  void set_environment() {
    set_here_ = set_surroundings(speaks_);
    scope_ = scope_of_surroundings(speaks_);
    if (log_) mark_commands(options_.journal, log_->lines() > 0);
  }

  void say_what_is_done() {
    if (!finds_descendants())
      say("what leaves its process group is not found on this system (/proc/…/children)");
    if (course_.talks())
      say(opening_words(speaks_, safe_, room_, recipe_, set_here_, log_ != nullptr));
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────

  void loop() {
    while (true) {
      auto const now = clock_now();
      course_.tick(now, tasks_.live());
      check_halts(now);
      outputs_->acknowledge();
      start_committed();
      if (!halt_.draining()) {
        admit(now);
        pump(now);
      }
      crew_.end_late(now, timed_out_);
      if (jobs_->polls()) {
        auto const wanted = !halt_.draining() && !full() && !jobs_->closed() && jobs_->waits();
        events_.watch(STDIN_FILENO, wanted ? EPOLLIN : 0U);
      }
      show(now);
      if (ended()) return;
      for (auto const& e : events_.wait(wakeup(now))) dispatch(e);
    }
  }

  void check_halts(time_point now) {
    if (auto* const log = outputs_->log())
      if (auto const failed = log->failure()) io_failed(failed);
    if (outputs_->failure()) halt_.drain();
    if (options_.halt && !halt_met_ && options_.halt->met(standing_)) {
      halt_met_ = true;
      if (options_.halt->what == halt_rule::kind::success)
        halt_.drain();
      else
        halt_.stop("--halt " + options_.halt->text);
      if (options_.halt->now) crew_.terminate_all(now, "ended by --halt");
    }
  }

  /// What runs comes to its end, but nothing more is started or kept.
  void io_failed(std::exception_ptr failed) {
    if (!io_failure_) io_failure_ = std::move(failed);
    halt_.drain();
  }

  void dispatch(poller::event const& e) {
    if (course_.ready(clock_now(), e)) return;
    if (course_.is_signal(e)) {
      take_signal();
    } else if (auto* const log = outputs_->log(); log != nullptr && e.fd == log->event_fd()) {
      std::uint64_t unused = 0;
      [[maybe_unused]] auto const n = read(e.fd, &unused, sizeof unused);
    } else if (e.fd == STDIN_FILENO) {
      jobs_->readable();
    } else {
      crew_.ready(e);  // else it is a connection of ctl, closed meanwhile
    }
  }

  void take_signal() {
    if (!course_.take_signal()) return;
    if (!halt_.hurried())
      course_.tell(fmt::format("stopping: {} running are finished first; once more ends them",
                               standing_.in_flight));
    else
      crew_.terminate_all(clock_now(), "ended by a second signal");
  }

  bool ended() const {
    if (standing_.in_flight > 0 || !intending_.empty()) return false;
    if (halt_.draining()) return true;
    if (tasks_.live() == 0) return jobs_->ended();
    if (!(jobs_->closed() || full() || no_room_)) return false;
    return std::ranges::all_of(
        tasks_, [](task const& t) { return t.where == nullptr || t.where->parked(); });
  }

  time_point wakeup(time_point now) {
    auto at = std::min(course_.wakeup(), crew_.wakeup());
    if (!halt_.draining()) {
      if (!jobs_->closed() && !course_.finishing() && !full() && !no_room_ &&
          (!jobs_->waits() || jobs_->has_one()))
        return now;
      if (no_room_) at = std::min(at, lanes_.room_at());
      if (room_to_start()) at = std::min(at, lanes_.wakeup());
      if (outputs_->full()) at = std::min(at, later(now, 10ms));
      if (processors_.taken()) at = std::min(at, processors_.looks_at());
    }
    if (outputs_->ordered()) at = std::min(at, later(now, 100ms));
    return at;
  }

  bool full() const noexcept { return tasks_.live() >= tasks_max || outputs_->full(); }

  // ── jobs come in ────────────────────────────────────────────────────────────────────────────

  void admit(time_point now) {
    no_room_ = false;
    if (course_.finishing()) return;
    for (int budget = 256; budget > 0 && !jobs_->closed() && !full(); --budget) {
      auto item = next_item();
      if (!item) {
        if (jobs_->waits()) return;
        continue;
      }
      if (!accept(now, std::move(*item))) return;
    }
  }

  std::optional<exec_item> next_item() try { return jobs_->next(); } catch (fatal const&) {
    halt_.fail(std::current_exception());
    jobs_->close();
    return std::nullopt;
  }

  bool accept(time_point now, exec_item&& item) {
    last_line_ = item.line;
    if (!safe_ && jobs_->was_running(item)) {
      task t{.what = std::move(item), .order = ++orders_};
      record(t,
             {.how = final_outcome::unknown,
              .reason = "it was running when an earlier run was killed, and may have done its "
                        "work"},
             0);
      return true;
    }
    auto const given = recipe_.scope(item);
    auto const& scope = given ? *given : scope_;
    lane_key const key{
        .origin = lane_name_, .credential = {}, .given = scope, .url = {}, .body = {}};
    if (lanes_.stopped(key)) return true;  // left for a later run
    auto* const l = lanes_.at(now, key);
    no_room_ = l == nullptr;
    if (no_room_) {
      jobs_->put_back(std::move(item));
      return false;
    }
    auto const index = tasks_.add();
    auto& t = tasks_[index];
    t.what = std::move(item);
    t.where = l;
    t.read = now;
    if (submit(index, now)) {
      t.order = ++orders_;
      return true;
    }
    jobs_->put_back(std::move(t.what));
    tasks_.forget(index);
    return false;
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
    return started() < crew_.most() && !outputs_->full() && !processors_.taken();
  }
  /// Commands that run, or are about to.
  std::int64_t started() const noexcept {
    return standing_.in_flight + static_cast<std::int64_t>(intending_.size());
  }

  /// Lanes that there was no room for ask anew.
  void look_for_room(time_point now) {
    if (processors_.eases(now, started()) || (was_held_ && !outputs_->full())) lanes_.wake(now);
    was_held_ = outputs_->full();
  }

  void pump(time_point now) {
    look_for_room(now);
    for (auto& [key, l] : lanes_) {
      if (!l.due(now)) continue;
      if (started() < crew_.most())
        processors_.look(now, started(), [this] { return crew_.busy(); });
      l.open(now, room_to_start());
      while (room_to_start()) {
        auto const turn = l.next(now, chance_);
        if (!turn) break;
        if (turn->what == lane::turn::kind::send) {
          begin(turn->number, now);
          processors_.begin(started());
        } else if (turn->what == lane::turn::kind::refused)
          leave_open(turn->number, true);
        else
          end(turn->number,
              {.how = final_outcome::failed,
               .reason = fmt::format("not started: quota: {}", turn->why)},
              0);
      }
      l.rest(now, room_to_start());
    }
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
  void start_committed() {
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

  void start(std::uint32_t index) {
    auto& t = tasks_[index];
    auto const place = crew_.place(standing_.in_flight);
    if (!place) {  // as if the machine had said: not so many
      settle(index, {.what = reaction::concurrency, .code = "there can be no further process"}, {});
      return;
    }
    auto const slot = static_cast<int>(*place) + 1;
    command_start c{.program = recipe_.program(),
                    .arguments = recipe_.arguments(t.what, slot),
                    .environment = recipe_.environment(t.what, slot),
                    .detach_ok = options_.detach_ok};
    if (c.program.empty()) c.program = found_program(c.arguments.front());
    t.argument_bytes = 0;
    for (auto const& a : c.arguments) t.argument_bytes += a.size() + 1;
    if (c.program.empty()) {
      not_started(index, fmt::format("there is no program {}", in_quotes(c.arguments.front())));
      return;
    }
    if (!crew_.start(*place, index, std::move(c), recipe_.input(t.what, slot))) {
      settle(index, {.what = reaction::concurrency, .code = std::strerror(errno)}, {});
      return;
    }
    ++t.attempts;
    course_.begin();
    t.sent = clock_now();
    t.began = wall_seconds();
    t.ended_by.clear();
    if (options_.timeout) t.kill_at = later(t.sent, *options_.timeout);
    kept([&] { outputs_->begin(t); });
    crew_.listen(index);
  }

  /// Does what writes files. What it cannot write ends the run.
  template <class F>
  void kept(F write) {
    try {
      write();
    } catch (fatal const&) {
      io_failed(std::current_exception());
    }
  }

  void finished(std::uint32_t index, std::optional<command_end> how) {
    auto& t = tasks_[index];
    course_.back();
    t.out = false;
    t.guard = -1;
    t.kill_at.reset();
    job_result r{.took = clock_now() - t.sent};
    r.cut = crew_.drain(t);
    auto const hints = t.pipes.hints();
    t.pipes.close();
    if (!how) {
      t.ended_by = "its guard was killed";
      how = command_end{.status = SIGKILL};
      if (!safe_ && log_) {  // whether it did its work cannot be told
        course_.attempted(*t.where, outcome::ignore, r.took);
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
    command_answer const answer{.exit = r.signal != 0 ? 128 + r.signal : r.exit,
                                .signal = r.signal,
                                .output = output,
                                .error = error,
                                .hints = hints};
    auto told = speaks_.judge(answer, options_.throttle, wall_now());
    if (told.what == reaction::served && !options_.throttle.anyway &&
        throttles(speaks_.judge(answer, anyway_, wall_now()).what))
      ++passed_over_;
    if (!t.ended_by.empty() && told.what != reaction::served)
      told = {.what = reaction::permanent, .code = t.ended_by};
    kept([&] {
      outputs_->attempted(t, r,
                          throttles(told.what)            ? "throttle"
                          : told.what == reaction::served ? "success"
                                                          : "failure");
    });
    settle(index, std::move(told), r);
  }

  void not_started(std::uint32_t index, std::string const& why) {
    auto& t = tasks_[index];
    course_.attempted(*t.where, outcome::ignore, clock_now() - t.sent);
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
    course_.ignored(told.ignored, told.first_ignored);
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
    course_.attempted(l, taught, r.took);
    lanes_.wake(now);
    if (taught == outcome::throttle) {
      ++t.throttled;
      ++t.refusals;
    } else if (failed) {
      ++t.broken;
      course_.broke(l, said);
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
        t.output.drop();
        t.error.drop();
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
    tasks_.forget(index);
  }

  void stop(lane const& l, std::string_view why) {
    if (l.stopped()) return;
    halt_.stop_in_part();
    lanes_.stop(l);
    course_.tell(fmt::format("{}: stopped: {}", l.title(), in_quotes(why)));
    for (std::uint32_t i = 0; i < tasks_.end_index(); ++i)
      if (auto& t = tasks_[i]; t.where != nullptr && t.where->stopped() && !t.out) {
        t.where->cancel(clock_now(), t.id);
        leave_open(i);
      }
  }

  // ── jobs end ────────────────────────────────────────────────────────────────────────────────

  void end(std::uint32_t index, job_result r, int refused_by) {
    record(tasks_[index], r, refused_by);
    tasks_.forget(index);
  }

  void record(task& t, job_result r, int refused_by) {
    r.id = t.what.id;
    r.line = t.what.line;
    r.number = t.what.number;
    r.attempts = t.attempts;
    r.throttled = t.throttled;
    r.began = t.began;
    course_.ended(t.where == nullptr ? lane_name_ : t.where->title(), r.how);
    if (r.how != final_outcome::success) {
      ++failures_;
      course_.lost({.how = r.how,
                    .host = lane_name_,
                    .line = r.line,
                    .reason = r.reason,
                    .said = t.error.head(4096)});
    }
    auto const line = t.what.line;
    auto const why = std::string(r.reason);
    outputs_->record(t, r,
                     options_.job_log.empty() ? "" : shell_words(recipe_.arguments(t.what, 1)));
    if (outputs_->log() == nullptr) outputs_->acknowledge();
    if (course_.canary_dies(refused_by) && !speaks_.local())
      halt_.stop(
          fmt::format("the first {} jobs all failed alike, such as line {}: {}; put that right "
                      "and run it again{}; --no-canary goes on regardless",
                      canary::watched, line, printable(why), log_ ? " with --again failed" : ""));
  }

  // ── what other processes ask and say ────────────────────────────────────────────────────────

  /// What a user tells it, as far as it is not for its lanes.
  void act(time_point now, command const& c) {
    using enum command::verb;
    if (c.what == spend_max)
      throw std::invalid_argument("spend-max: commands do not say what they cost");
    if (c.what != finish) return;
    for (std::uint32_t i = 0; i < tasks_.end_index(); ++i)
      if (auto& t = tasks_[i]; t.where != nullptr && t.attempts == 0 && !t.out) {
        t.where->cancel(now, t.id);
        leave_open(i);
      }
  }

  std::string explain(std::int64_t line) const {
    auto const now = clock_now();
    for (auto const& t : tasks_)
      if (t.where != nullptr && t.what.line == line) return t.words(now);
    return line <= last_line_ ? "ended: see the results"
                              : fmt::format("not read yet: line {} was the last", last_line_);
  }

  // ── what people see ─────────────────────────────────────────────────────────────────────────

  void show(time_point now) {
    course_.show(now, [this](standing& s) {
      if (outputs_->full())
        s.waiting = {{hindrance::kind::turn, "",
                      options_.keep_order ? "an earlier output (-k)" : "our output to be read", "",
                      never}};
    });
  }

  /// Successes that may be none: a line, or "".
  std::string passed_over() const {
    return passed_over_ == 0 ? ""
                             : fmt::format(
                                   "{} succeeded, but printed what tells of a throttle; "
                                   "--throttle-anyway runs such again\n",
                                   passed_over_);
  }

  int conclude() {
    std::exception_ptr failed = io_failure_;
    if (outputs_->log() != nullptr && !failed) {
      try {
        outputs_->log()->drain();
      } catch (...) {
        failed = std::current_exception();
      }
      outputs_->acknowledge();
    }
    outputs_->conclude();
    crew_.end();
    course_.sum_up(passed_over(), log_ != nullptr, "outputs", outputs_->closed());
    course_.close();
    if (failed) std::rethrow_exception(failed);
    if (!options_.failed.empty())
      write_failed_lines(*jobs_->input().file(), jobs_->input().records().whole(log_->lost()),
                         options_.failed, options_.level);
    auto const unfinished = halt_.draining() && (!jobs_->closed() || tasks_.live() > 0 ||
                                                 left_open_ > 0 || standing_.left() > 0);
    if (auto const uncopied = outputs_->failure()) std::rethrow_exception(uncopied);
    if (auto const code = halt_.exit_code(unfinished, log_ != nullptr)) return *code;
    if (halt_met_) return exit_ok;  // --halt success
    auto const lost = failures_ + standing_.failed_before + standing_.unknown_before;
    auto const code = course_.conclude(
        {.alone = left_open_ > 0 ? fmt::format("{} jobs", left_open_) : "", .failed = lost > 0},
        tasks_.live() > 0);
    auto const ended = code == exit_ok || code == exit_failed;
    return ended && options_.exit_failures ? static_cast<int>(std::min<std::int64_t>(lost, 101))
                                           : code;
  }

  exec_options const options_;
  throttle_options const anyway_{options_.throttle.exits, options_.throttle.text, true};
  course course_{{.may = options_.may,
                  .time_max = options_.time_max,
                  .wait_max = options_.wait_max,
                  .style = options_.progress,
                  .quiet = options_.quiet}};
  poller& events_ = course_.events();
  halt& halt_ = course_.halts();
  standing& standing_ = course_.stands();

  recipe const recipe_{options_};
  command_profile const speaks_;
  bool const safe_;
  room const room_;
  std::string const lane_name_ =
      options_.name.empty()
          ? "exec " + (recipe_.own_name().empty() ? "commands" : recipe_.own_name())
          : options_.name;
  std::string set_here_{}, scope_{};

  rng chance_{entropy()};
  std::optional<job_intake> jobs_{};
  journal* log_ = nullptr;  // its, or none
  bool no_room_ = false;
  std::optional<job_outputs> outputs_{};

  std::shared_ptr<fleet_link> fleet_;
  lanes lanes_;
  bool halt_met_ = false;
  std::exception_ptr io_failure_{};
  std::int64_t failures_ = 0, left_open_ = 0, orders_ = 0, passed_over_ = 0;

  task_table tasks_;
  std::deque<std::uint32_t> intending_;
  std::string const timed_out_ =
      options_.timeout ? fmt::format("timed out after {}", in_words(*options_.timeout)) : "";
  crew crew_{events_,
             tasks_,
             room_.most,
             {.printed =
                  [this](spool& to, std::string_view bytes) {
                    if (!io_failure_) kept([&] { outputs_->append(to, bytes); });
                  },
              .ended = [this](std::uint32_t index,
                              std::optional<command_end> how) { finished(index, how); }}};
  processor_share processors_;
  bool was_held_ = false;

  std::int64_t last_line_ = 0;
};

}  // namespace

int exec(exec_options options) {
  return runner(std::move(options)).run();
}

}  // namespace headway::app
