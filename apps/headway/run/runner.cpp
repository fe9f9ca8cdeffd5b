#include "run/runner.hpp"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "client/header_commands.hpp"
#include "client/headers.hpp"
#include "client/redirect.hpp"
#include "headway/driver/entropy.hpp"
#include "headway/headway.hpp"
#include "journal/result.hpp"
#include "pacing/lanes.hpp"
#include "run/answer.hpp"
#include "run/disposition.hpp"
#include "run/ending.hpp"
#include "run/error_bodies.hpp"
#include "run/estimate.hpp"
#include "run/intake.hpp"
#include "run/outputs.hpp"
#include "run/plan.hpp"
#include "run/purse.hpp"
#include "run/shared_work.hpp"
#include "run/suspected_throttles.hpp"
#include "run/traffic.hpp"
#include "watch/command.hpp"
#include "watch/course.hpp"

namespace headway::app {
namespace {

constexpr std::size_t recorder_bytes_max = std::size_t{64} << 20;
constexpr char tempo_key[] = "tempo";  // of the journal's notes
constexpr duration leave_patience = 10s;
constexpr duration silence_told_after = 5s;
constexpr duration long_wait_told_from = 15min;
constexpr int renewals_max = 5;  // of a refused credential, that fail

class runner {
 public:
  explicit runner(run_options const& options)
      : options_(options),
        course_({.may = options_.may,
                 .time_max = options_.time_max,
                 .wait_max = options_.wait_max,
                 .style = options_.progress,
                 .quiet = options_.quiet}),
        header_commands_(events_, options_.header_commands, options_.header_ttl),
        shared_(
            share_work(options_, header_commands_.stand_ins(), [this] { return interrupted(); })),
        file_(shared_ ? nullptr : std::make_unique<intake>(options_, header_commands_.stand_ins())),
        input_(shared_ ? shared_->requests() : *file_),
        fleet_(options_.dry_run ? nullptr : join_fleet(options_.fleet, options_.wait_max)),
        lanes_(pacing_of(options_, fleet_)),
        http_(
            events_, options_.http,
            [this](std::uint64_t key, reply const& r) { return on_head(key, r); },
            [this](std::uint64_t key, reply const& r) {
              on_reply(key, r);
              traffic_.all().unload(static_cast<std::uint32_t>(key));
            }) {}

  int run() {
    if (options_.dry_run) {
      print_plan(options_, *file_, purse_.spent(), tempo_);
      return exit_ok;
    }
    if (!obtain_values()) return 128 + halt_.signal();
    if (!options_.cold) lanes_.recall();
    if (file_) file_->note_selection(options_.select);
    if (shared_)
      out_.emplace(options_, shared_->keeper());
    else
      out_.emplace(options_, file_->log(), file_->own_bodies());
    events_.watch(out_->log().event_fd(), EPOLLIN);
    traffic_.open(out_->log());
    if (input_.remembers()) purse_.open([this](note n) { out_->log().put(std::move(n)); });
    if (!options_.trace.empty()) lanes_.trace_to(options_.trace, course_.began());
    course_.open(lanes_, {.surface = "run",
                          .jobs = options_.jobs,
                          .metrics = options_.metrics,
                          .fleet = fleet_.get(),
                          .explain = [this](std::int64_t line) { return explain(line); },
                          .act = [this](time_point now, command const& c) { act(now, c); }});
    input_.tell(standing_, course_.began());
    try {
      loop();
      return conclude();
    } catch (fatal const&) {
      if (out_->print_failure() == EPIPE) throw unprinted(EPIPE);  // before any other
      throw;
    }
  }

 private:
  // ── before ──────────────────────────────────────────────────────────────────────────────────

  /// Waits for the first values of --header-cmd. False if a signal came instead.
  bool obtain_values() {
    while (!header_commands_.empty() && header_commands_.generation() == 0) {
      header_commands_.flush(clock_now());
      if (header_commands_.failures() > 0) throw fatal(exit_usage, header_commands_.problem());
      for (auto const& e : events_.wait(header_commands_.wakeup()))
        if (!header_commands_.ready(e) && course_.is_signal(e)) course_.take_signal();
      if (halt_.draining()) return false;
    }
    return true;
  }

  bool interrupted() {
    course_.take_signal();
    return halt_.draining();
  }

  /// Null: there is none.
  journal* journal_of() const noexcept { return file_ ? file_->log() : nullptr; }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────

  void loop() {
    while (true) {
      auto const now = clock_now();
      if (auto const failed = out_->log().failure()) std::rethrow_exception(failed);
      course_.tick(now, traffic_.live());
      if (out_->print_failure() != 0) halt_.drain();
      send_committed(now);
      if (traffic_.live() > 0 && !halt_.draining()) heed_spending(purse_.spent().exhausted());
      if (!halt_.draining()) {
        renew_values(now);
        admit(now);
        pump(now);
      } else if (halt_.signal() != 0 && !std::exchange(stop_is_told_, true) && out() > 0) {
        course_.tell("stopping: " + still_out(now));
      }
      input_.watch(events_, !halt_.draining() && !full());
      show(now);
      if (ended()) return;
      for (auto const& e : events_.wait(wakeup(now))) dispatch(e);
      http_.flush([this] { return out_->log().pending_bytes() < recorder_bytes_max; });
      if (halt_.hurried()) return;
    }
  }

  void renew_values(time_point now) {
    if (header_commands_.flush(now)) lanes_.wake(now);
    auto const failures = header_commands_.failures();
    if (failures > std::exchange(renewals_failed_, failures)) {
      if (header_commands_.refused() && failures >= renewals_max)
        halt_.stop(fmt::format("{}, {} times, and the value before was refused (401)",
                               header_commands_.problem(), failures));
      else if (failures == 1)
        say(fmt::format("{}; it is tried again", header_commands_.problem()));
    }
  }

  void dispatch(poller::event const& e) {
    if (header_commands_.ready(e) || http_.ready(e)) return;
    auto const now = clock_now();
    if (course_.ready(now, e)) return;
    if (e.fd == out_->log().event_fd()) {
      std::uint64_t unused = 0;
      [[maybe_unused]] auto const n = read(e.fd, &unused, sizeof unused);
    } else if (course_.is_signal(e)) {
      course_.take_signal();
    } else {
      input_.ready(e);
    }
  }

  bool ended() const {
    if (out() > 0) return false;
    if (halt_.draining()) return true;
    if (traffic_.live() == 0) return input_.ended() || (in_vain() && !input_.ready());
    // What is left waits for servers that ask for more patience than we have.
    return (input_.ended() || full() || traffic_.lacks_lane()) && !traffic_.any_aside() &&
           traffic_.all_parked();
  }

  /// No server was ever reached, and at least one is given up.
  bool in_vain() const noexcept { return halt_.left_in_part() && !silence_.ended(); }

  time_point wakeup(time_point now) {
    if (input_.ready() && !full() && !halt_.draining()) return now;
    auto at = std::min(http_.wakeup(), course_.wakeup());
    if (!halt_.draining()) {
      if (traffic_.lacks_lane()) at = std::min(at, lanes_.room_at());
      at = std::min(at, purse_.wakeup());
      at = std::min(at, header_commands_.wakeup());
      at = std::min(at, lanes_.wakeup());
    }
    return at;
  }

  bool full() const noexcept {
    return traffic_.full() || out_->log().pending_bytes() >= recorder_bytes_max;
  }

  // ── requests come in ────────────────────────────────────────────────────────────────────────

  void admit(time_point now) {
    traffic_.look_for_lane();
    if (course_.finishing()) return;
    auto const live = traffic_.live(), flying = static_cast<std::size_t>(out());
    auto const parked = live > 0 && flying == 0 && !traffic_.any_aside() && traffic_.all_parked();
    auto const held = shared_ ? traffic_.held_for_long(now) : 0;
    if (input_.demand(live, live - flying - held, parked)) out_->log().poke();
    for (int budget = 256; budget > 0 && !input_.ended() && !full(); --budget) {
      if (auto next = input_.next()) {
        if (!accept(now, std::move(*next))) break;
      } else if (!input_.ready()) {
        break;
      }
    }
    if (auto const failed = input_.failure()) halt_.fail(failed);  // what flies is finished first
  }

  /// False when its lane has no room: it is held until there is some.
  bool accept(time_point now, job&& j) {
    last_read_ = j.line;
    if (!options_.retry_unsafe && input_.perhaps_sent(j)) {
      purse_.resolve();
      record_unsent(
          j, final_outcome::unknown,
          "it was in flight when an earlier run was stopped, and may have been carried out");
      return true;
    }
    if (shared_ && input_.in_doubt(j)) {
      purse_.resolve();
      out_->log().clear(j.line);  // others count as out what is intended
      input_.settle(j);
    }
    auto const entered = traffic_.enter(now, std::move(j));
    if (entered.never)
      record_unsent(*entered.never, final_outcome::failed,
                    fmt::format("not sent: {}: a cost of {} can never be admitted",
                                to_string(entered.why), entered.never->cost));
    return entered.taken;
  }

  // ── attempts go out ─────────────────────────────────────────────────────────────────────────

  void pump(time_point now) {
    for (auto& [key, l] : lanes_) {
      if (!l.due(now)) continue;
      auto const wants_value = l.renewable() && header_commands_.refused();
      l.open(now, !wants_value && room_to_send());
      while (!wants_value && room_to_send()) {
        auto const turn = l.next(now, chance_);
        if (!turn) break;
        if (turn->what == lane::turn::kind::send)
          begin(turn->number, now);
        else if (turn->what == lane::turn::kind::never)
          never_goes(turn->number, turn->why);
        else if (turn->what == lane::turn::kind::refused)
          traffic_.abandon_refused(turn->number);
        else
          traffic_.move_on(turn->number, now);
      }
      l.rest(now, !wants_value && room_to_send());
    }
  }

  /// Those whose turn has come and that have no answer.
  std::int64_t out() const noexcept {
    return standing_.in_flight + static_cast<std::int64_t>(traffic_.announced_count());
  }

  void never_goes(std::uint32_t index, std::string_view why) {
    auto& r = traffic_[index];
    traffic_.disown(r);
    record(result_of(r, {.reason = fmt::format("not sent: quota: {}", why)}), r.where->title(),
           r.what.origin);
    traffic_.forget(index);
  }

  void begin(std::uint32_t index, time_point now) {
    auto& r = traffic_[index];
    r.sent = now;
    r.out = true;
    if (!r.first_sent) r.first_sent = now;
    if (now - *r.first_sent >= options_.request_deadline) {
      give_up_unsent(index, now, "it still waited to be sent again", reason::deadline);
      return;
    }
    if (!input_.may_go(now, r.what)) {
      traffic_.set_aside(index, now);
      return;
    }
    if (!input_.remembers() || r.intended || (idempotent(r.what) && purse_.unlimited()))
      send(index);
    else
      traffic_.announce(index);
  }

  /// Whether one more may go, as far as all lanes share what it needs. Where not, answers wake
  /// them.
  bool room_to_send() {
    if (!room_for_bodies()) starved_ = true;
    return !starved_ && purse_.has_room(out());
  }
  /// `why`: nothing more can be spent, if that is so. Each host of a queue finds so itself.
  void heed_spending(std::string why) {
    if (why.empty()) return;
    spent_up_ = true;
    halt_.stop(std::move(why));
  }
  bool room_for_bodies() const noexcept {
    return http_.body_bytes() <= options_.http.bodies_max / 2;
  }

  /// Its turn had come, but it does not go.
  void give_up_unsent(std::uint32_t index, time_point now, std::string_view error, reason why) {
    auto& r = traffic_[index];
    r.where->cancel(now, r.id);
    end(index, now, {.error = error}, outcome::ignore, {verdict::give_up, why, never});
  }

  /// Sends what must not be sent twice, now that the journal knows of it.
  void send_committed(time_point now) {
    auto const committed = out_->log().committed();
    heed(now);  // what was committed without effect is another run's by now
    while (auto const first = traffic_.announced()) {
      auto const index = *first;
      auto& r = traffic_[index];
      auto const given_up = halt_.draining() || r.where->stopped() || r.lost;
      auto const may_go = input_.may_go(now, r.what);
      auto const crowded = shared_ && purse_.crowded(out());
      if (!given_up && may_go && (r.intent > committed || !room_for_bodies())) return;
      traffic_.pop_announced();
      if (!given_up && may_go && !crowded) {
        purse_.went();
        r.sent = now;
        send(index);
        continue;
      }
      traffic_.disown(r);
      if (given_up) {
        traffic_.abandon(index);
        continue;
      }
      traffic_.set_aside(index, now);
      if (may_go) purse_.yield(now, chance_());
    }
  }

  /// What others have done to the lines that were taken.
  void heed(time_point now) {
    auto news = input_.look(now);
    purse_.hear(news);
    if (input_.remembers() && !purse_.unlimited() && !std::exchange(all_is_announced_, true))
      traffic_.announce_flying();  // what it costs is to count even if we are killed
    auto const rested = purse_.rested(now);
    if (rested || (news.spent && !purse_.unlimited())) lanes_.wake(now);
    for (auto const& text : news.said) course_.tell(text);
    for (auto const& [first, last] : news.lost) traffic_.lose(first, last);
    traffic_.recall_aside(now);
    if (news.over.empty()) return;
    if (news.for_good)
      halt_.stop(news.over);
    else
      halt_.leave_off(news.over);
  }

  std::optional<duration> timeout_of(request const& r) const noexcept {
    return r.what.timeout ? r.what.timeout : options_.timeout;
  }

  void send(std::uint32_t index) {
    auto& r = traffic_[index];
    r.had_turn_at_home = r.heard = false;
    if (r.what.body_file && !r.read_body_file()) {
      traffic_.disown(r);
      auto const error = fmt::format("cannot read {}", r.what.body_file->string());
      give_up_unsent(index, r.sent, error, reason::none);
      return;
    }
    purse_.settle(r, input_.in_doubt(r.what));
    ++r.attempts;
    course_.begin();
    r.values = header_commands_.generation();
    auto const headers = header_commands_.filled(r.headers);
    attempt a{.url = r.what.url, .method = r.what.method, .headers = headers, .body = r.body()};
    auto const left = *r.first_sent + options_.request_deadline - r.sent;
    auto const own = timeout_of(r);
    a.timeout = std::min(own.value_or(left), left);
    a.may_be_silent = own.has_value();
    a.fresh_connection = r.stale;
    http_.send(index, a);
  }

  // ── answers come back ───────────────────────────────────────────────────────────────────────

  /// An answer has begun. False where more of it is needed to know what it says.
  bool on_head(std::uint64_t key, reply const& so_far) {
    auto& r = traffic_[static_cast<std::uint32_t>(key)];
    r.heard = true;
    last_heard_ = clock_now();
    auto const told = judge_head(r, so_far);
    if (told) r.where->hear(clock_now(), r.id, *told, so_far.status, chance_());
    return told.has_value();
  }

  void on_reply(std::uint64_t key, reply const& answer) {
    auto const index = static_cast<std::uint32_t>(key);
    auto& r = traffic_[index];
    auto& l = *r.where;
    auto const now = clock_now();
    course_.back();
    r.out = false;
    last_heard_ = now;

    if (answer.reached) {
      l.heard();
      silence_.end();
    } else if (l.trouble().silent() && options_.may.canary) {
      unreached(index, now, answer);
      return;
    }
    auto const [told, joined, gone, may_repeat, error] =
        read_answer(r, answer, now, options_.retry_unsafe);
    auto whole = answer;
    if (joined) whole.body = *joined;
    course_.ignored(told.ignored, told.first_ignored);
    if (told.what == reaction::served) heed_spending(purse_.pay(r.what, told));
    if (std::exchange(starved_, false) || !purse_.unlimited())
      lanes_.wake(now);  // all of them wait for any answer
    auto const at_once = gone && may_repeat && r.broken + 1 < options_.attempts_max;
    auto const [taught, ruling, alone] = l.settle(now, r.id, told,
                                                  {.status = answer.status,
                                                   .sent = r.sent,
                                                   .may_repeat = may_repeat && !at_once,
                                                   .error = error},
                                                  chance_());
    course_.attempted(l, taught, now - r.sent);
    if (auto said = long_wait(r, told, answer, std::min(options_.wait_max, long_wait_told_from));
        !said.empty())
      asked_ = {l.title(), std::move(said)};
    if (told.remainder) traffic_.all().reduce(index, *told.remainder, whole.body);
    if (taught == outcome::throttle) {
      ++r.throttled;
      ++r.refusals;
    } else if (taught == outcome::failure) {
      ++r.broken;
      course_.broke(l, error);
    }
    if (taught == outcome::failure && options_.may.canary)
      l.failed(now, r.sent, r.broken == 1, error);
    auto const refused_value =
        answer.status == 401 && answer.error.empty() && l.renewable() && !r.renewed;
    switch (disposition_of(
        {.lost = r.lost,
         .what = told.what,
         .value_refused = refused_value,
         .has_remainder = told.remainder.has_value(),
         .goes_at_once = at_once,
         .may_follow = is_redirect(answer.status) && answer.error.empty() &&
                       !options_.ok.contains(answer.status),
         .lane_stopped = l.stopped(),
         .refused_alone = alone,
         .deadline_passed = std::max(now, ruling.until) - *r.first_sent > options_.request_deadline,
         .ruling = ruling.what})) {
      case disposition::renew:
        r.renewed = true;
        header_commands_.refuse(r.values);
        return traffic_.queue_again(index, now);
      case disposition::stop_lane: {
        auto const why = fmt::format("status {}: {}", answer.status, r.said);
        traffic_.leave_open(index);
        return stop(l, why);
      }
      case disposition::leave_open:
        if (alone) traffic_.refused_alone().add(r.what.line);
        if (r.lost && (ruling.what == verdict::retry || ruling.what == verdict::park))
          l.cancel(now, r.id);
        return traffic_.leave_open(index);
      case disposition::go_on:
        return traffic_.queue(index, now);
      case disposition::go_again:
        if (answer.state == send_state::not_sent || shared_)
          return traffic_.queue_again(index, now);
        return traffic_.queue(index, now);
      case disposition::follow:
        if (!traffic_.follow(index, now, answer, options_)) end(index, now, whole, taught, ruling);
        return;
      case disposition::expire:
        l.cancel(now, r.id);
        return end(index, now, answer, taught, {verdict::give_up, reason::deadline, never});
      case disposition::end:
        return end(index, now, whole, taught, ruling);
      case disposition::park:
      case disposition::wait:
        // Not carried out: a throttle says so, and what never left us cannot have been. Others
        // would count as out what only waits.
        if (shared_) purse_.settle(r, input_.in_doubt(r.what));
        if (taught == outcome::throttle || answer.state == send_state::not_sent || shared_)
          traffic_.withdraw(r);
        if (r.needs_turn_at_home()) l.call_back(r.id);
        if (l.trouble().fails_all()) give_up_if_hopeless(l, now);
        return;
    }
  }

  /// There was no connection, nor was there ever one to this server: no line is to blame.
  void unreached(std::uint32_t index, time_point now, reply const& answer) {
    auto& r = traffic_[index];
    auto const error = error_of(r, answer);
    course_.attempted(*r.where, outcome::failure, now - r.sent);
    course_.broke(*r.where, error);
    silence_.go_on(r.sent);
    r.where->unreached(now, r.id, r.sent, error, answer.futile);
    wait_out(index, now);
  }

  /// It goes again once its lane is out of its impasse, if that is not hopeless. `perhaps_done`: it
  /// may have been carried out.
  void wait_out(std::uint32_t index, time_point now, bool perhaps_done = false) {
    auto& r = traffic_[index];
    auto& l = *r.where;
    l.wake_by(now);
    r.first_sent.reset();
    if (perhaps_done && !shared_)
      traffic_.queue(index, now);
    else
      traffic_.queue_again(index, now);
    give_up_if_hopeless(l, now);
  }

  void give_up_if_hopeless(lane& l, time_point now) {
    auto const& trouble = l.trouble();
    if (l.stopped() || !trouble.hopeless(now, silence_)) return;
    halt_.leave_in_part();
    close(l, fmt::format("{}, {}; its lines are left for a later run", printable(trouble.words()),
                         trouble.tried(now)));
  }

  /// It has come to its end by `answer`. True where it goes again instead, since any other line
  /// would be refused, or fail, as well.
  bool waits_out(std::uint32_t index, time_point now, reply const& answer, outcome taught,
                 decision const& last, ending const& e) {
    auto& r = traffic_[index];
    if (!options_.may.canary) return false;
    auto const unsent = answer.state == send_state::not_sent;
    auto const safe = unsent || idempotent(r.what) || options_.retry_unsafe;
    if (taught == outcome::failure && last.why != reason::deadline && safe && !answer.futile &&
        r.where->trouble().fails_all()) {
      r.broken = 0;  // it is not to blame
      wait_out(index, now, !unsent);
      return true;
    }
    if (answer.state != send_state::answered) return false;
    if (!r.where->ended(now, r.sent, e.how, e.refused_by)) return false;
    wait_out(index, now);
    return true;
  }

  /// Nothing more goes there; what waits is left for a later run.
  void stop(lane const& l, std::string_view why) {
    if (l.stopped()) return;
    halt_.stop_in_part();
    close(l, "stopped: " + in_quotes(why));
  }

  /// Its lines are left open.
  void close(lane const& l, std::string_view why) {
    lanes_.stop(l);
    course_.tell(fmt::format("{}: {}", l.title(), why));
    traffic_.abandon_stopped();
    if (lanes_.too_many_stopped())
      halt_.stop(fmt::format("{} scopes were refused", lanes::stopped_max));
  }

  /// The request has come to its end: one result, once.
  void end(std::uint32_t index, time_point now, reply const& answer, outcome taught,
           decision const& last) {
    auto& r = traffic_[index];
    auto const its = ending_of(r, answer, taught, last, options_);
    if (waits_out(index, now, answer, taught, last, its)) return;
    if (ended_for_safety(r, answer, taught, last, options_)) ++standing_.unrepeated;
    purse_.settle(r, input_.in_doubt(r.what));
    record(result_of(r, its, answer, now), r.where->title(), r.what.origin, its.refused_by,
           r.headers);
    traffic_.forget(index);
  }

  /// `refused_by`: the status that refused it for good, 0 if it ended in any other way. `headers`:
  /// what was sent, and is not shown.
  void record(result const& r, std::string_view lane, std::string_view origin, int refused_by = 0,
              std::span<std::string const> headers = {}) {
    course_.ended(lane, r.how);
    if (r.how == final_outcome::success) {
      suspected_.succeeded(origin);
      error_bodies_.succeeded(r.line, r.status, r.body);
    } else {
      suspected_.refused(origin, refused_by);
    }
    if (!first_ended_) first_ended_ = clock_now();
    if (r.how != final_outcome::success)
      course_.lost({.how = r.how,
                    .host = short_name(origin),
                    .line = r.line,
                    .reason = r.reason,
                    .said = without_secrets(r.body.substr(0, 4096), headers)});
    out_->record(r);
    if (course_.canary_dies(refused_by))
      halt_.stop(why_canary_died(r, headers, input_.remembers()));
  }

  void record_unsent(job const& j, final_outcome how, std::string_view reason) {
    record(result_of(j, how, reason), short_name(j.origin), j.origin);
  }

  // ── what people see ─────────────────────────────────────────────────────────────────────────

  void show(time_point now) {
    course_.show(now, [&](standing& s) {
      input_.tell(s, now);
      for (auto& h : s.waiting)
        if (h.what == hindrance::kind::throttled)
          if (auto const [refused, waiting] = traffic_.refused_at(h.where); 2 * refused > waiting)
            h.how_often += fmt::format("{}{} of {} lines that wait",
                                       h.how_often.empty() ? "" : "; ", refused, waiting);
      for (auto& h : s.waiting)
        if (h.until != never && h.until - now > long_wait_told_from && !asked_.said.empty() &&
            (h.where.empty() || h.where == asked_.where))
          h.why += fmt::format(" ({})", asked_.said);
      std::string why;
      if (halt_.draining())
        why = still_out(now);
      else if (s.waiting.empty() || !s.waiting.front().in_trouble())
        why = unanswered(now);
      if (!why.empty()) s.waiting = {{hindrance::kind::turn, "", std::move(why), "", never, true}};
    });
  }

  /// When the attempt of a request that is out is given up, if nothing more comes of it.
  time_point given_up(request const& r, time_point now) const {
    auto const own = timeout_of(r);
    auto const until = own       ? r.sent + *own
                       : r.heard ? now + options_.http.silence_max
                                 : r.sent + options_.http.silence_max;
    return std::min(until, *r.first_sent + options_.request_deadline);
  }

  /// What is waited for once nothing more goes, "" for nothing.
  std::string still_out(time_point now) const {
    std::int64_t many = 0;
    auto until = now;
    bool if_silent = false;
    traffic_.all().each([](request const& r) { return r.out; },
                        [&](std::uint32_t index) {
                          ++many;
                          until = std::max(until, given_up(traffic_[index], now));
                          if_silent |= !timeout_of(traffic_[index]);
                        });
    return many == 0 ? "" : halt_.still_out(many, until - now, if_silent);
  }

  /// What is waited for where no answer has begun for long, "" elsewhere.
  std::string unanswered(time_point now) const {
    if (now - last_heard_ < silence_told_after) return "";
    int many = 0;
    auto since = now, until = never;
    traffic_.all().each([](request const& r) { return r.out && !r.heard; },
                        [&](std::uint32_t index) {
                          auto const& r = traffic_[index];
                          ++many;
                          since = std::min(since, r.sent);
                          until = std::min(until, given_up(r, now));
                        });
    if (now - since < silence_told_after) return "";
    return fmt::format("{} unanswered for {}, given up in {}", many, in_words(now - since),
                       in_words(std::max(until - now, 0ns)));
  }

  /// What stalls the run as it ends: lines, or "".
  std::string stalled(time_point now) {
    std::string text;
    for (auto& [key, l] : lanes_)
      if (auto const [refused, waiting] = traffic_.refused_at(l.title());
          refused > 0 && l.refuses_all() && l.accepted_at())
        text += fmt::format(
            "{}: {} of {} lines that wait were refused before; nothing was accepted in the last "
            "{}\n",
            l.title(), refused, waiting, in_words(now - *l.accepted_at()));
    return text;
  }

  /// What asked for a wait that ends the run: a line, or "".
  std::string waited_for() const {
    if (asked_.said.empty() || traffic_.live() == 0) return "";
    return fmt::format("{} said: {}\n", asked_.where, asked_.said);
  }

  // ── what other processes ask and say ────────────────────────────────────────────────────────

  /// What a user tells the run, as far as it is not for its lanes.
  void act(time_point now, command const& c) {
    using enum command::verb;
    if (c.what == finish) traffic_.abandon_unsent();
    if (c.what == spend_max) {
      auto most = option_value("spend-max", c.value, parse_amount);
      if (shared_) shared_->allow(most);
      purse_.allow(std::move(most));
      lanes_.wake(now);
    }
    if (c.what == resume) traffic_.resume(now, c.scope);
  }

  /// What is known of a line of JOBS, a sentence.
  std::string explain(std::int64_t line) const {
    if (auto found = traffic_.words_of(line, clock_now()); !found.empty()) return found;
    if (last_read_ >= line) return "ended, blank or a comment: see the results";
    return fmt::format("not read yet: line {} was the last", last_read_);
  }

  /// What is left to be recorded may wait for a database; a second signal ends that.
  void await_records() {
    out_->log().leave(halt_.hurried() ? 0s : leave_patience);
    while (shared_ && !halt_.hurried() && out_->log().pending_bytes() > 0 && !out_->log().failure())
      for (auto const& e : events_.wait(clock_now() + 50ms)) dispatch(e);
    if (halt_.hurried()) out_->log().leave(0s);
  }

  int conclude() {
    if (first_ended_) tempo_.add(standing_.ended(), clock_now() - *first_ended_);
    await_records();
    out_->conclude(halt_.hurried());
    if (journal_of() != nullptr) journal_of()->put({tempo_key, tempo_.note()});
    input_.tell(standing_, clock_now());
    auto more = stalled(clock_now()) + waited_for() + suspected_.words() + error_bodies_.words() +
                out_->unread();
    auto const& spent = purse_.spent();
    if (!spent.empty() || !options_.prices.empty()) more += spent.words();
    if (shared_) more += shared_->words();
    if (file_ && file_->is_stream()) more += file_->headers().unmet();
    course_.sum_up(more, journal_of() != nullptr, "the servers' answers",
                   out_->print_failure() == EPIPE);
    if (options_.only > 0 && file_ && !file_->is_stream())
      if (auto const left = file_->left() - standing_.ended(); left > 0)
        say(estimate_of(left, spent, tempo_));
    course_.close();
    if (file_) {
      if (!halt_.hurried()) out_->write_table(file_->jobs());
      out_->write_failed(file_->input(), file_->survey().records);
    }
    if (in_vain() && halt_.signal() == 0)
      halt_.stop(
          "no server was ever reached; put that right and run the same command again; "
          "--no-canary goes on regardless");
    auto const unfinished =
        halt_.draining() && (!input_.ended() || traffic_.live() > 0 || standing_.left() > 0);
    if (auto const error = out_->print_failure(); error != 0) throw unprinted(error);
    if (shared_ && halt_.refused() && !spent_up_) shared_->stop_all();
    if (shared_) out_->log().close();  // while it collects, --out grows
    if (auto const failed = input_.failure()) halt_.fail(failed);
    auto const parked =
        shared_ ? shared_->conclude(halt_.hurried() || input_.failure()) : std::nullopt;
    if (auto const code = halt_.exit_code(unfinished, input_.remembers())) return *code;
    if (parked) return *parked;
    auto const& s = standing_;
    auto const& alone = traffic_.refused_alone();
    return course_.conclude(
        {.alone = alone.empty() ? "" : alone.words(),
         .failed = s.failed + s.unknown + s.failed_before + s.unknown_before > 0},
        traffic_.live() > 0);
  }

  run_options options_;
  course course_;
  poller& events_ = course_.events();
  halt& halt_ = course_.halts();
  standing& standing_ = course_.stands();
  rng chance_{entropy()};

  header_commands header_commands_;
  int renewals_failed_ = 0;
  std::unique_ptr<shared_work> shared_;  // null: alone
  std::unique_ptr<intake> file_;         // null: JOBS is shared
  source& input_;
  std::optional<outputs> out_;

  std::shared_ptr<fleet_link> fleet_;
  lanes lanes_;
  bool starved_ = false;  // bodies in flight leave no room to send
  purse purse_{options_, journal_of()};
  bool spent_up_ = false;
  bool stop_is_told_ = false;      // to the user
  bool all_is_announced_ = false;  // before it goes, as long as there is a limit
  tempo tempo_ = tempo::parse(journal_of() == nullptr ? "" : journal_of()->noted(tempo_key));
  std::optional<time_point> first_ended_;
  struct {
    std::string where, said;
  } asked_;                                  // the last long wait, as its server told it
  time_point last_heard_ = course_.began();  // of any answer
  silence silence_;
  suspected_throttles suspected_;
  error_bodies error_bodies_;
  traffic traffic_{lanes_, input_};
  std::int64_t last_read_ = 0;  // line of JOBS

  transport http_;
};

}  // namespace

int run(run_options const& options) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // what a large body has taken goes back at its end
  mallopt(M_TRIM_THRESHOLD, 4 << 20);  // and what many small ones have is for the next ones
#endif
  return runner(options).run();
}

}  // namespace headway::app
