#include "run/runner.hpp"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/quantity.hpp"
#include "base/seed.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "client/header_commands.hpp"
#include "client/headers.hpp"
#include "client/redirect.hpp"
#include "headway/headway.hpp"
#include "jobs/request_headers.hpp"
#include "journal/result.hpp"
#include "os/poller.hpp"
#include "os/signals.hpp"
#include "pacing/lanes.hpp"
#include "provider/profile.hpp"
#include "run/answer.hpp"
#include "run/disposition.hpp"
#include "run/ending.hpp"
#include "run/estimate.hpp"
#include "run/hop.hpp"
#include "run/intake.hpp"
#include "run/named_lines.hpp"
#include "run/outputs.hpp"
#include "run/plan.hpp"
#include "run/request.hpp"
#include "run/shared_work.hpp"
#include "run/spending.hpp"
#include "status/canary.hpp"
#include "status/conclusion.hpp"
#include "status/halt.hpp"
#include "status/losses.hpp"
#include "watch/command.hpp"
#include "watch/watched_run.hpp"

namespace headway::app {
namespace {

constexpr std::size_t recorder_bytes_max = std::size_t{64} << 20;
constexpr char tempo_key[] = "tempo";  // of the journal's notes
constexpr duration leave_patience = 10s;
constexpr equal_jitter gives_way{.base = 100ms, .cap = 10s};
constexpr duration long_hold = 5s;  // of a lane
constexpr int renewals_max = 5;     // of a refused credential, that fail

class runner {
 public:
  explicit runner(run_options const& options)
      : options_(options),
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
              requests_.unload(static_cast<std::uint32_t>(key));
            }) {}

  int run() {
    if (options_.dry_run) {
      print_plan(options_, *file_, spending_, tempo_);
      return exit_ok;
    }
    if (!obtain_values()) return 128 + halt_.signal();
    if (!options_.cold) lanes_.recall();
    note_selection();
    if (shared_)
      out_.emplace(options_, shared_->keeper());
    else
      out_.emplace(options_, file_->log(), file_->own_bodies());
    events_.watch(out_->log().event_fd(), EPOLLIN);
    if (fleet_) events_.watch(fleet_->event_fd(), EPOLLIN);
    if (!options_.trace.empty()) lanes_.trace_to(options_.trace, began_);
    visible_.open(options_.metrics);
    input_.tell(standing_, began_);
    loop();
    return conclude();
  }

 private:
  spending spending_before() {
    auto const* const log = journal_of();
    if (log == nullptr) return spending(options_.spend_max);
    return spending(options_.spend_max, log->noted(spent_key),
                    static_cast<std::int64_t>(log->intents().size()));
  }

  // ── before ──────────────────────────────────────────────────────────────────────────────────

  /// Waits for the first values of --header-cmd. False if a signal came instead.
  bool obtain_values() {
    events_.watch(signals_.fd(), EPOLLIN);
    while (!header_commands_.empty() && header_commands_.generation() == 0) {
      header_commands_.flush(clock_now());
      if (header_commands_.failures() > 0) throw fatal(exit_usage, header_commands_.problem());
      for (auto const& e : events_.wait(header_commands_.wakeup()))
        if (!header_commands_.ready(e) && e.fd == signals_.fd()) take_signal();
      if (halt_.draining()) return false;
    }
    return true;
  }

  bool interrupted() {
    take_signal();
    return halt_.draining();
  }

  /// Null: there is none.
  journal* journal_of() const noexcept { return file_ ? file_->log() : nullptr; }

  /// Earlier results stay as they are, so that the user must know where they differ.
  void note_selection() {
    if (journal_of() == nullptr) return;
    auto& log = *journal_of();
    auto const before = log.noted("select"), now = words_of(options_.select);
    auto const shown = [](std::string const& words) {
      return words.empty() ? std::string("not given") : printable(words);
    };
    if (auto const kept = log.count(final_outcome::success); before != now && kept > 0)
      say(fmt::format("--select was {}, and is {} now: {} earlier results stay as they are",
                      shown(before), shown(now), kept));
    log.put({"select", now});
  }

  void take_signal() {
    if (auto const signal = signals_.take(); signal != 0) halt_.interrupt(signal);
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────

  void loop() {
    while (true) {
      auto const now = clock_now();
      if (auto const failed = out_->log().failure()) std::rethrow_exception(failed);
      visible_.tick(now);
      if (finishing_ && requests_.live() == 0) halt_.leave_off();
      if (options_.time_max && now - began_ >= *options_.time_max && !halt_.draining())
        halt_.time_out();
      if (out_->log().echo_closed()) halt_.drain();
      if (auto why = options_.may.stops(standing_)) halt_.stop(std::move(*why));
      send_committed(now);
      if (requests_.live() > 0 && !halt_.draining()) heed_spending(spending_.exhausted());
      if (!halt_.draining()) {
        renew_values(now);
        admit(now);
        pump(now);
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
    if (visible_.ready(now, e)) return;
    if (e.fd == out_->log().event_fd()) {
      std::uint64_t unused = 0;
      [[maybe_unused]] auto const n = read(e.fd, &unused, sizeof unused);
    } else if (fleet_ && e.fd == fleet_->event_fd()) {
      fleet_->heard();
      lanes_.wake(now);
    } else if (e.fd == signals_.fd()) {
      take_signal();
      if (!halt_.draining() || halt_.hurried()) return;
      progress_.clear();
      say(fmt::format("stopping: {} in flight are finished first; once more stops at once",
                      standing_.in_flight));
    } else {
      input_.ready(e);
    }
  }

  bool ended() const {
    if (standing_.in_flight > 0 || !intending_.empty()) return false;
    if (halt_.draining()) return true;
    if (requests_.live() == 0) return input_.ended() || (in_vain() && !input_.ready());
    // What is left waits for servers that ask for more patience than we have.
    return (input_.ended() || full() || no_room_) && aside_.empty() && all_parked();
  }
  bool all_parked() const {
    return requests_.all([](request const& r) { return r.where->parked(); });
  }

  /// No server was ever reached, and at least one is given up.
  bool in_vain() const noexcept { return halt_.left_in_part() && !silence_.ended(); }

  time_point wakeup(time_point now) {
    if (input_.ready() && !full() && !halt_.draining()) return now;
    auto at = std::min(http_.wakeup(), progress_.wakeup());
    at = std::min(at, visible_.wakeup());
    if (!halt_.draining()) {
      if (no_room_) at = std::min(at, lanes_.room_at());
      if (gives_way_until_) at = std::min(at, *gives_way_until_);
      at = std::min(at, header_commands_.wakeup());
      at = std::min(at, lanes_.wakeup());
    }
    if (options_.time_max && !halt_.draining()) at = std::min(at, began_ + *options_.time_max);
    return at;
  }

  bool full() const noexcept {
    return requests_.full() || out_->log().pending_bytes() >= recorder_bytes_max;
  }

  // ── requests come in ────────────────────────────────────────────────────────────────────────

  void admit(time_point now) {
    no_room_ = false;
    if (finishing_) return;
    auto const live = requests_.live(), flying = static_cast<std::size_t>(out());
    auto const parked = live > 0 && flying == 0 && aside_.empty() && all_parked();
    auto const held = shared_ ? held_for_long(now) : 0;
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

  /// How many that were taken wait for what is not theirs to have soon: other lanes could do more.
  std::size_t held_for_long(time_point now) {
    auto held = aside_.size();
    for (auto const& [key, l] : lanes_)
      if (l.flying() == 0 && (l.parked() || l.paused() || l.wake() > now + long_hold))
        held += l.waiting();
    return held;
  }

  /// False when its lane has no room: it is held until there is some.
  bool accept(time_point now, job&& j) {
    last_read_ = j.line;
    if (!options_.retry_unsafe && input_.perhaps_sent(j)) {
      spending_.resolve();
      note_spending();
      record_unsent(
          j, final_outcome::unknown,
          "it was in flight when an earlier run was stopped, and may have been carried out");
      return true;
    }
    if (shared_ && input_.in_doubt(j)) {
      spending_.resolve();
      note_spending();
      out_->log().clear(j.line);  // others count as out what is intended
      input_.settle(j);
    }
    auto headers = request_headers(j, input_.headers().of(j.origin));
    auto const credential = credential_digest(headers);
    auto const key = key_of(j, credential, header_commands::needed_by(headers));
    if (lanes_.stopped(key)) {  // left for a later run
      input_.leave_open(j);
      return true;
    }
    auto* const l = lanes_.at(now, key);
    no_room_ = l == nullptr;
    if (no_room_) {
      input_.put_back(std::move(j));
      return false;
    }
    request r{.what = std::move(j), .where = l, .headers = std::move(headers), .read = now};
    auto const index = requests_.add(std::move(r));
    auto const submitted = submit(index, now);
    auto const* const no = std::get_if<refused>(&submitted);
    if (no == nullptr) return true;
    auto back = std::move(requests_[index].what);
    requests_.forget(index);
    if (no->why == reason::queue) {
      input_.put_back(std::move(back));
      return false;
    }
    record_unsent(back, final_outcome::failed,
                  fmt::format("not sent: {}: a cost of {} can never be admitted",
                              to_string(no->why), back.cost));
    return true;
  }

  static lane_key key_of(job const& j, std::string const& credential, bool renewable) {
    return {.origin = j.origin,
            .credential = credential,
            .given = j.scope,
            .url = j.url,
            .body = j.body ? std::string_view(*j.body) : std::string_view(),
            .renewable = renewable};
  }

  /// It waits for its turn in its lane.
  std::variant<ticket, refused> submit(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    auto const answer = r.where->submit(now, load_of(r), index);
    if (auto const* const id = std::get_if<ticket>(&answer)) {
      r.id = *id;
      if (r.needs_turn_at_home()) r.where->call_back(r.id);
    }
    return answer;
  }
  bool queue(std::uint32_t index, time_point now) {
    return !requests_[index].lost && std::holds_alternative<ticket>(submit(index, now));
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
          abandon_refused(turn->number);
        else
          move_on(turn->number, now);
      }
      l.rest(now, !wants_value && room_to_send());
    }
  }

  /// Its turn has come, but it waits for another: at home, or, if this was at home, where it goes.
  void move_on(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    if (r.bound_for) {
      r.where = std::exchange(r.bound_for, {}).get();
      r.had_turn_at_home = true;
    } else {
      r.wait_at_home();
    }
    if (!queue(index, now)) leave_open(index);
  }

  /// Those whose turn has come and that have no answer.
  std::int64_t out() const noexcept {
    return standing_.in_flight + static_cast<std::int64_t>(intending_.size());
  }

  void never_goes(std::uint32_t index, std::string_view why) {
    auto& r = requests_[index];
    if (r.intended) out_->log().clear(r.what.line);
    visible_.counts().ended(r.where->title(), final_outcome::failed);
    record(result_of(r, {.reason = fmt::format("not sent: quota: {}", why)}), r.what.origin);
    requests_.forget(index);
  }

  /// It was refused for longer than --wait-max.
  void abandon_refused(std::uint32_t index) {
    refused_alone_.add(requests_[index].what.line);
    abandon(index);
  }

  void begin(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    r.sent = now;
    r.out = true;
    if (!r.first_sent) r.first_sent = now;
    if (now - *r.first_sent >= options_.request_deadline) {
      give_up_unsent(index, now, "it still waited to be sent again", reason::deadline);
      return;
    }
    if (!input_.may_go(now, r.what)) {
      set_aside(index, now);
      return;
    }
    if (!input_.remembers() || r.intended || (idempotent(r.what) && spending_.empty())) {
      send(index);
      return;
    }
    r.intended = true;
    r.intent = out_->log().intend(r.what.line);
    intending_.push_back(index);
  }

  /// Whether one more may go, as far as all lanes share what it needs. Where not, answers wake
  /// them.
  bool room_to_send() {
    if (!room_for_bodies()) starved_ = true;
    return !starved_ && !gives_way_until_ && spending_.room_beside(out());
  }
  /// `why`: nothing more can be spent, if that is so. Each host of a queue finds so itself.
  void heed_spending(std::string why) {
    if (why.empty()) return;
    spent_up_ = true;
    halt_.stop(std::move(why));
  }
  /// It is announced, but beside what other hosts have announced there is no room for it. All of
  /// them may have found so: chance decides which one is alone next.
  void give_way(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    if (std::exchange(r.intended, false)) out_->log().clear(r.what.line);
    set_aside(index, now);
    if (!gives_way_until_) gives_way_until_ = now + gives_way.delay(gave_way_++, {}, chance_());
  }
  bool room_for_bodies() const noexcept {
    return http_.body_bytes() <= options_.http.bodies_max / 2;
  }

  /// Its turn had come, but it does not go.
  void give_up_unsent(std::uint32_t index, time_point now, std::string_view error, reason why) {
    auto& r = requests_[index];
    r.where->cancel(now, r.id);
    end(index, now, {.error = error}, outcome::ignore, {verdict::give_up, why, never});
  }

  /// Its turn had come, but what keeps track of it does not answer: it waits for that.
  void set_aside(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    r.out = false;
    r.aside = true;
    r.aside_since = now;
    r.where->cancel(now, r.id);
    aside_.push_back(index);
  }

  /// Sends what must not be sent twice, now that the journal knows of it.
  void send_committed(time_point now) {
    auto const committed = out_->log().committed();
    heed(now);  // what was committed without effect is another run's by now
    while (!intending_.empty()) {
      auto const index = intending_.front();
      auto& r = requests_[index];
      auto const given_up = halt_.draining() || r.where->stopped() || r.lost;
      auto const may_go = input_.may_go(now, r.what);
      auto const crowded = shared_ && !spending_.room_beside(out() - 1);
      if (!given_up && may_go && (r.intent > committed || !room_for_bodies())) return;
      intending_.pop_front();
      if ((given_up || !may_go) && std::exchange(r.intended, false)) out_->log().clear(r.what.line);
      if (given_up)
        abandon(index);
      else if (!may_go)
        set_aside(index, now);
      else if (crowded)
        give_way(index, now);
      else {
        gave_way_ = 0;
        r.sent = now;
        send(index);
      }
    }
  }

  /// What others have done to the lines that were taken.
  void heed(time_point now) {
    auto news = input_.look(now);
    spending_.doubt(news.doubted);
    if (news.spent) {
      for (auto& most : news.spent->most) spending_.allow(std::move(most));
      spending_.share(news.spent->ledger, news.spent->flying);
    }
    auto const waited = gives_way_until_ && now >= *gives_way_until_;
    if (waited) gives_way_until_.reset();
    if (waited || (news.spent && !spending_.empty())) lanes_.wake(now);
    for (auto const& text : news.said) {
      progress_.clear();
      say(text);
    }
    for (auto const& [first, last] : news.lost)
      requests_.each([&, first = first, last = last](
                         request const& r) { return first <= r.what.line && r.what.line <= last; },
                     [this](std::uint32_t index) { lose(index); });
    std::erase_if(aside_, [&](auto const index) {
      auto& r = requests_[index];
      if (!input_.may_go(now, r.what)) return false;
      r.aside = false;
      if (r.first_sent) *r.first_sent += now - r.aside_since;  // that time is not its own
      if (!queue(index, now)) leave_open(index);
      return true;
    });
    if (news.over.empty()) return;
    if (news.for_good)
      halt_.stop(news.over);
    else
      halt_.leave_off(news.over);
  }

  /// Another run has it: what comes of it here is not recorded.
  void lose(std::uint32_t index) {
    auto& r = requests_[index];
    r.lost = true;
    r.intended = false;
    if (!r.out) abandon(index);
  }

  void send(std::uint32_t index) {
    auto& r = requests_[index];
    r.had_turn_at_home = false;
    if (r.what.body_file && !r.read_body_file()) {
      if (std::exchange(r.intended, false)) out_->log().clear(r.what.line);
      auto const error = fmt::format("cannot read {}", r.what.body_file->string());
      give_up_unsent(index, r.sent, error, reason::none);
      return;
    }
    settle_earlier(r);
    ++r.attempts;
    ++standing_.attempts;
    ++standing_.in_flight;
    standing_.in_flight_peak = std::max(standing_.in_flight_peak, standing_.in_flight);
    r.values = header_commands_.generation();
    auto const headers = header_commands_.filled(r.headers);
    attempt a{.url = r.what.url, .method = r.what.method, .headers = headers, .body = r.body()};
    auto const left = *r.first_sent + options_.request_deadline - r.sent;
    a.timeout = std::min(r.what.timeout.value_or(left), left);
    a.may_be_silent = r.what.timeout.has_value();
    a.fresh_connection = r.stale;
    http_.send(index, a);
  }

  /// What earlier attempts may have cost is spent.
  void settle_earlier(request& r) {
    if (std::exchange(r.owes, false))
      spending_.lose();
    else if (r.attempts == 0 && input_.in_doubt(r.what))
      spending_.resolve();
    else
      return;
    note_spending();
  }
  void note_spending() {
    if (input_.remembers())
      if (auto ledger = spending_.ledger(); !ledger.empty())
        out_->log().put({spent_key, std::move(ledger)});
  }

  // ── answers come back ───────────────────────────────────────────────────────────────────────

  /// An answer has begun. False where more of it is needed to know what it says.
  bool on_head(std::uint64_t key, reply const& so_far) {
    auto const& r = requests_[static_cast<std::uint32_t>(key)];
    auto const told = judge_head(r, so_far);
    if (told) r.where->hear(clock_now(), r.id, *told, so_far.status, chance_());
    return told.has_value();
  }

  void on_reply(std::uint64_t key, reply const& answer) {
    auto const index = static_cast<std::uint32_t>(key);
    auto& r = requests_[index];
    auto& l = *r.where;
    auto const now = clock_now();
    --standing_.in_flight;
    r.out = false;

    if (answer.reached) {
      l.heard();
      silence_.end();
    } else if (l.trouble().silent() && options_.may.canary) {
      unreached(index, now, answer);
      return;
    }
    auto told = judge(r, answer);
    hints_ignored_ += told.ignored;
    auto whole = answer;
    auto const joined = joined_body(r, answer);
    if (joined) {
      whole.body = *joined;
      told = judge_whole(r, whole, std::move(told));
    }
    if (told.what == reaction::permanent && l.bans(now, answer.status)) told.what = reaction::rate;
    r.denied = told.what == reaction::permanent && answer.status / 100 == 2;
    // A server may close a kept connection whenever it likes: that says nothing of its limit.
    auto const gone = answer.stale && !std::exchange(r.stale, true);
    r.owes = !gone &&
             (answer.state == send_state::sent || (answer.state == send_state::answered &&
                                                   !answer.error.empty() && !throttles(told.what)));
    if (told.what == reaction::served) {
      r.owes = false;
      auto all = told.costs;
      all.insert(all.end(), told.usage.begin(), told.usage.end());
      for (auto const& p : options_.prices) add_price(all, p);
      heed_spending(spending_.charge(r.what.costs, all));
      note_spending();
    }
    if (std::exchange(starved_, false) || !spending_.empty())
      lanes_.wake(now);  // all of them wait for any answer
    auto const safe =
        answer.state == send_state::not_sent || idempotent(r.what) || options_.retry_unsafe;
    auto const may_repeat = safe && !answer.futile && told.what != reaction::permanent;
    r.said = without_secrets(told.code, r.headers);
    auto const error = told.what == reaction::served ? "" : error_of(r, answer);
    auto const [taught, ruling, alone] = l.settle(now, r.id, told,
                                                  {.status = answer.status,
                                                   .sent = r.sent,
                                                   .says_nothing = gone,
                                                   .may_repeat = may_repeat,
                                                   .error = error},
                                                  chance_());
    visible_.counts().attempted(l.title(), taught, now - r.sent);
    if (told.remainder) requests_.reduce(index, *told.remainder, whole.body);
    if (taught == outcome::throttle) {
      ++r.throttled;
      ++r.refusals;
      ++standing_.throttled;
    } else if (taught == outcome::failure || answer.stale) {
      ++r.broken;
      ++standing_.broken;
    }
    if (taught == outcome::failure) standing_.last_error = l.title() + ": " + printable(error);
    auto const refused_value =
        answer.status == 401 && answer.error.empty() && l.renewable() && !r.renewed;
    switch (disposition_of(
        {.lost = r.lost,
         .what = told.what,
         .value_refused = refused_value,
         .has_remainder = told.remainder.has_value(),
         .goes_at_once = gone && may_repeat && r.broken < options_.attempts_max,
         .may_follow = is_redirect(answer.status) && answer.error.empty() &&
                       !options_.ok.contains(answer.status),
         .lane_stopped = l.stopped(),
         .refused_alone = alone,
         .deadline_passed = std::max(now, ruling.until) - *r.first_sent > options_.request_deadline,
         .ruling = ruling.what})) {
      case disposition::renew:
        r.renewed = true;
        header_commands_.refuse(r.values);
        return queue_again(index, now);
      case disposition::stop_lane: {
        auto const why = fmt::format("status {}: {}", answer.status, r.said);
        leave_open(index);
        return stop(l, why);
      }
      case disposition::leave_open:
        if (alone) refused_alone_.add(r.what.line);
        if (r.lost && (ruling.what == verdict::retry || ruling.what == verdict::park))
          l.cancel(now, r.id);
        return leave_open(index);
      case disposition::go_on:
        if (!queue(index, now)) leave_open(index);
        return;
      case disposition::go_again:
        if (answer.state == send_state::not_sent || shared_) return queue_again(index, now);
        if (!queue(index, now)) leave_open(index);
        return;
      case disposition::follow:
        if (!follow(index, now, answer)) end(index, now, whole, taught, ruling);
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
        if (shared_) settle_earlier(r);
        if (taught == outcome::throttle || answer.state == send_state::not_sent || shared_)
          withdraw(r);
        if (r.needs_turn_at_home()) l.call_back(r.id);
        return;
    }
  }

  /// What went wrong, to people.
  static std::string error_of(request const& r, reply const& answer) {
    if (!answer.obstacle.empty()) return std::string(answer.obstacle);
    if (!answer.error.empty()) return std::string(answer.error);
    return fmt::format("status {}{}{}", answer.status, r.said.empty() ? "" : ": ", r.said);
  }

  /// Takes its intent back, unless a part of it has been done.
  void withdraw(request& r) {
    if (r.so_far.empty() && std::exchange(r.intended, false)) out_->log().clear(r.what.line);
  }

  /// There was no connection, nor was there ever one to this server: no line is to blame.
  void unreached(std::uint32_t index, time_point now, reply const& answer) {
    auto& r = requests_[index];
    auto const error = error_of(r, answer);
    visible_.counts().attempted(r.where->title(), outcome::failure, now - r.sent);
    ++standing_.broken;
    standing_.last_error = r.where->title() + ": " + printable(error);
    silence_.go_on(r.sent);
    r.where->unreached(now, r.id, r.sent, error, answer.futile);
    wait_out(index, now);
  }

  /// It goes again once its lane is out of its impasse, if that is not hopeless.
  void wait_out(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    auto& l = *r.where;
    l.wake_by(now);
    r.first_sent.reset();
    queue_again(index, now);
    auto const& trouble = l.trouble();
    if (l.stopped() || !trouble.hopeless(now, silence_)) return;
    halt_.leave_in_part();
    close(l, fmt::format("{}, {}; its lines are left for a later run", printable(trouble.words()),
                         trouble.tried(now)));
  }

  /// It has come to its end by `answer`. True where it goes again instead, since any other line
  /// would be refused as well.
  bool waits_out(std::uint32_t index, time_point now, reply const& answer, ending const& e) {
    auto& r = requests_[index];
    if (!options_.may.canary || answer.state != send_state::answered) return false;
    if (!r.where->ended(now, r.sent, e.how, e.refused_by)) return false;
    wait_out(index, now);
    return true;
  }

  /// It was not carried out, or may be repeated: it goes again like any other, through the queue of
  /// its lane.
  void queue_again(std::uint32_t index, time_point now) {
    auto& r = requests_[index];
    withdraw(r);
    if (!queue(index, now)) leave_open(index);
  }

  /// Sends it where a redirect says, without what the next origin must not see. False where it ends
  /// here: r.said is why.
  bool follow(std::uint32_t index, time_point now, reply const& answer) {
    auto& r = requests_[index];
    if (!take_hop(r, answer, options_)) return false;
    requests_.weigh(index);
    r.headers = request_headers(r.what, input_.headers().of(r.what.origin));
    auto const credential = credential_digest(r.headers);
    auto const key = key_of(r.what, credential, header_commands::needed_by(r.headers));
    if (lanes_.stopped(key)) {
      leave_open(index);
      return true;
    }
    auto* const l = lanes_.at(now, key);
    if (l == nullptr) {
      r.said = "the redirect leads to one scope more than there is room for";
      return false;
    }
    if (!r.home && l != r.where) r.home = lane_pin(*r.where);
    r.where = l;
    if (r.needs_turn_at_home()) r.wait_at_home();
    queue_again(index, now);
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
    progress_.clear();
    say(fmt::format("{}: {}", l.title(), why));
    requests_.each([](request const& r) { return r.where->stopped() && !r.out; },
                   [this](std::uint32_t index) { abandon(index); });
    if (lanes_.too_many_stopped())
      halt_.stop(fmt::format("{} scopes were refused", lanes::stopped_max));
  }

  /// Refused for a reason that is not its own: without a result, a later run takes it up again.
  void leave_open(std::uint32_t index) {
    withdraw(requests_[index]);
    if (!requests_[index].lost) input_.leave_open(requests_[index].what);
    requests_.forget(index);
  }

  /// The request has come to its end: one result, once.
  void end(std::uint32_t index, time_point now, reply const& answer, outcome taught,
           decision const& last) {
    auto& r = requests_[index];
    auto const its = ending_of(r, answer, taught, last, options_);
    if (waits_out(index, now, answer, its)) return;
    if (taught == outcome::failure && !idempotent(r.what) && !options_.retry_unsafe &&
        last.why == reason::attempts && r.broken < options_.attempts_max)
      ++standing_.unrepeated;
    settle_earlier(r);
    visible_.counts().ended(r.where->title(), its.how);
    record(result_of(r, its, answer, now), r.what.origin, its.refused_by, r.headers);
    requests_.forget(index);
  }

  /// `refused_by`: the status that refused it for good, 0 if it ended in any other way. `headers`:
  /// what was sent, and is not shown.
  void record(result const& r, std::string_view origin, int refused_by = 0,
              std::span<std::string const> headers = {}) {
    ++standing_.of(r.how);
    if (!first_ended_) first_ended_ = clock_now();
    if (r.how != final_outcome::success)
      lost_.add({.how = r.how,
                 .host = short_name(origin),
                 .line = r.line,
                 .reason = r.reason,
                 .said = without_secrets(r.body.substr(0, 4096), headers)});
    out_->record(r);
    if (canary_.dies(refused_by) && options_.may.canary)
      halt_.stop(why_canary_died(r, headers, input_.remembers()));
  }

  void record_unsent(job const& j, final_outcome how, std::string_view reason) {
    visible_.counts().ended(short_name(j.origin), how);
    record(result_of(j, how, reason), j.origin);
  }

  /// Drops it without a result; a later run takes it up again.
  void abandon(std::uint32_t index) {
    auto& r = requests_[index];
    if (!r.lost) input_.leave_open(r.what);
    if (r.aside)
      std::erase(aside_, index);
    else
      r.where->cancel(clock_now(), r.id);
    requests_.forget(index);
  }

  // ── what people see ─────────────────────────────────────────────────────────────────────────

  void show(time_point now) {
    visible_.look(now);
    if (now < progress_.wakeup()) return;
    standing_.waiting = lanes_.hindrances(now);
    if (auto const hosts = lanes_.hosts()) standing_.fleet = words_of(*hosts, now);
    input_.tell(standing_, now);
    progress_.update(now, standing_);
  }

  // ── what other processes ask and say ────────────────────────────────────────────────────────

  /// What a user tells the run, as far as it is not for its lanes.
  void act(time_point now, command const& c) {
    using enum command::verb;
    if (c.what == stop) halt_.leave_off();
    if (c.what == finish) {
      finishing_ = true;
      requests_.each([](request const& r) { return r.attempts == 0 && !r.out; },
                     [this](std::uint32_t index) { abandon(index); });
    }
    if (c.what == spend_max) {
      auto most = option_value("spend-max", c.value, parse_amount);
      if (shared_) shared_->allow(most);
      spending_.allow(std::move(most));
      lanes_.wake(now);
    }
    if (c.what == resume)
      requests_.each([&](request const& r) { return r.first_sent && !r.out && r.where->paused(); },
                     [&](std::uint32_t index) {  // that time is not its own
                       auto& r = requests_[index];
                       if (c.scope.empty() || matches(c.scope, r.where->name()))
                         *r.first_sent += now - std::max(*r.first_sent, r.where->paused_since());
                     });
  }

  /// What is known of a line of JOBS, a sentence.
  std::string explain(std::int64_t line) const {
    auto const now = clock_now();
    std::string found;
    requests_.each([&](request const& r) { return r.what.line == line; },
                   [&](std::uint32_t index) { found = words_of(requests_[index], now); });
    if (!found.empty()) return found;
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
    lanes_.conclude();
    progress_.clear();
    auto const now = clock_now();
    auto const& s = standing_;
    auto text = summary(s, now - began_) + lost_.words() + visible_.changes();
    text += lanes_.where_time_went() + lanes_.findings();
    if (!spending_.empty() || !options_.prices.empty()) text += spending_.words();
    if (shared_) text += shared_->words();
    text += next_step(s, journal_of() != nullptr);
    lanes_.keep();
    auto const wanted = options_.progress != progress_style::none || options_.quiet;
    if (wanted && !out_->log().echo_closed()) std::fputs(text.c_str(), stderr);

    if (hints_ignored_ > 0)
      say(fmt::format("{} values in the servers' answers made no sense, and were ignored",
                      hints_ignored_));
    say_estimate();
    if (!halt_.hurried()) visible_.conclude(signals_.fd());
    if (file_) {
      if (!halt_.hurried()) out_->write_table(file_->jobs());
      out_->write_failed(file_->input(), file_->survey().records);
    }
    if (in_vain() && halt_.signal() == 0)
      halt_.stop(
          "no server was ever reached; put that right and run the same command again; "
          "--no-canary goes on regardless");
    auto const unfinished =
        halt_.draining() && (!input_.ended() || requests_.live() > 0 || s.left() > 0);
    if (out_->log().echo_closed() && unfinished)
      throw fatal(exit_pipe, "standard output is closed");
    if (shared_ && halt_.refused() && !spent_up_) shared_->stop_all();
    if (shared_) out_->log().close();  // while it collects, --out grows
    if (auto const failed = input_.failure()) halt_.fail(failed);
    auto const parked =
        shared_ ? shared_->conclude(halt_.hurried() || input_.failure()) : std::nullopt;
    if (auto const code = halt_.exit_code(unfinished, input_.remembers())) return *code;
    if (parked) return *parked;
    remains left{.alone = refused_alone_.empty() ? "" : refused_alone_.words(),
                 .missed = options_.may.fails(s),
                 .failed = s.failed + s.unknown + s.failed_before + s.unknown_before > 0};
    if (requests_.live() > 0) left.parked = {lanes_.parked_as_broken(now), lanes_.parked_until()};
    auto const [code, said] = conclusion_of(left, options_.wait_max, now);
    if (!said.empty()) say(said);
    return code;
  }

  /// After --only: what the rest will take, at what is known by now.
  void say_estimate() const {
    auto const* const log = journal_of();
    if (options_.only == 0 || !file_ || file_->is_stream()) return;
    auto left = file_->survey().requests - standing_.ended();
    if (log != nullptr)
      for (auto const how : {final_outcome::success, final_outcome::failed, final_outcome::unknown})
        left -= log->count(how);
    if (left > 0) say(estimate_of(left, spending_, tempo_));
  }

  run_options options_;
  time_point const began_ = clock_now();
  rng chance_{seed()};
  signals signals_;
  halt halt_;
  poller events_;
  progress progress_{options_.progress, began_};
  standing standing_;

  header_commands header_commands_;
  int renewals_failed_ = 0;
  std::unique_ptr<shared_work> shared_;  // null: alone
  std::unique_ptr<intake> file_;         // null: JOBS is shared
  source& input_;
  std::optional<outputs> out_;

  std::shared_ptr<fleet_link> fleet_;
  lanes lanes_;
  bool no_room_ = false;  // for the lane of what comes next
  bool starved_ = false;  // bodies in flight leave no room to send
  spending spending_ = spending_before();
  bool spent_up_ = false;
  std::optional<time_point> gives_way_until_;  // to other hosts
  int gave_way_ = 0;                           // in a row
  tempo tempo_ = tempo::parse(journal_of() == nullptr ? "" : journal_of()->noted(tempo_key));
  std::optional<time_point> first_ended_;
  canary canary_;
  silence silence_;
  requests requests_;
  std::deque<std::uint32_t> intending_;  // their turn has come, and they wait for the journal
  std::vector<std::uint32_t> aside_;     // likewise, and it does not answer

  losses lost_;
  named_lines refused_alone_;
  std::int64_t hints_ignored_ = 0;
  std::int64_t last_read_ = 0;  // line of JOBS
  bool finishing_ = false;      // no other line begins
  watched_run visible_{events_,
                       {.surface = "run",
                        .jobs = options_.jobs,
                        .paces = lanes_,
                        .stands = standing_,
                        .hints_ignored = hints_ignored_,
                        .explain = [this](std::int64_t line) { return explain(line); },
                        .act = [this](time_point now, command const& c) { act(now, c); }},
                       began_};

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
