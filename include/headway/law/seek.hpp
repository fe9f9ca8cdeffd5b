#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "headway/law/acceptances.hpp"
#include "headway/law/breakage.hpp"
#include "headway/law/ceiling.hpp"
#include "headway/law/chance.hpp"
#include "headway/law/company.hpp"
#include "headway/law/cuts.hpp"
#include "headway/law/demand.hpp"
#include "headway/law/growth.hpp"
#include "headway/law/latency.hpp"
#include "headway/law/period.hpp"
#include "headway/law/turns.hpp"
#include "headway/law/vacancy.hpp"
#include "headway/policy.hpp"

namespace headway {

/// Knowledge of a server that a law has gained: small enough to save and to send. An unknown member
/// is 0.
struct learned {
  double rate = 0;     ///< where rejects begin, units per second
  double slots = 0;    ///< where they begin, permits, if that is what the server counts
  double latency = 0;  ///< of an answer, seconds
  friend bool operator==(learned const&, learned const&) = default;
};

/// The default law: finds out what limits it, stays just below, and touches that ever more rarely.
///
///        a reject: a ceiling is guessed
///   ramp ─────────────────────────────► approach ──► creep ──┐ a reject from just below: the
///    ▲                                      ▲  ▲      │ ▲    │ ceiling is measured; the next
///    └────── 25 % above it, no reject ──────┼──┼──────┘ └────┘ climb takes longer
///                                           │  └ a reject further below: it fell
///                                           │ the first success: what a cycle accepted, or what
///   any ── a reject, again soon after ──► shut   was known before
///   any ── answers take longer ──► drain: our own queue, or a slow server?
///   any ── the ceiling varies: others share it ──► crowd
///
/// `level` is what is sent: units per second, or permits once equal counts in flight explain the
/// rejects at unequal rates, or a row of requests has found them vacant (`vacancy`). Requests are
/// paced evenly either way, so that it works far below one in flight. A bucket is empty at each
/// reject: what it accepted since the last one is its rate. A server that accepts nothing is probed
/// at intervals that grow with the time since it shut, faster the less it has ever accepted;
/// accepted ÷ cycle is its rate when it opens. Latency is judged by the lowest of a block: when
/// that doubles, a pause of our own tells our queue (it falls) from a slow server (it stays, and is
/// the new normal). Where answer after answer takes longer, what is out is held to what is
/// delivered (`calm`). Failures cut when a quarter more of the answers fail than usual; a cut that
/// they outlast is given back, and so many are usual from then on; one that cures them shows that
/// they are a limit's, and then few cut. While nothing answers at all, it is probed, and the rate
/// is kept. Among others (`company`) a cut takes a stride of the level, which a fixed time gives
/// back; a window is asked by spurts whether others share it (`spurt`); refusals by chance
/// (`chance`, `depth`, `mixture`) are asked again before they count; where no slower pace makes
/// them rarer a level is held (`foothold`). A low ceiling that refuses nothing (`quiet`) is asked
/// by a ramp. A caller that wants less than its pace allows (`demand`) asks again later, and keeps
/// the pace.
///
/// Units: rates in units per second, times in seconds where not typed. Threads: a value.
/// Source: seed text 002 (adapt the rate to rejects, return with successes), seed text 003 (one cut
/// for each flight, no growth beyond what flies), RFC 6817 (leave). Each constant was chosen on
/// scenarios/*.toml and checked on scenarios/held-out; docs/design/017-what-was-tried.md says what
/// else was tried, and docs/default-law.md what each part buys.
struct seek {
  double level = 20;     ///< knob: the rate to begin with, requests per second; then units, permits
  double waste = 0.025;  ///< knob: a climb by 3 % takes 1/waste requests for each reject it costs
  double leave = 0;      ///< knob: share of the limit left to other clients, which come first

  ceiling top{};      ///< where refusals begin
  turns turn{};       ///< when the next request goes
  cuts last{};        ///< the latest cut, and what was sent since
  breakage broken{};  ///< what failures say
  chance luck{};      ///< whether refusals come by chance
  company others{};   ///< whether they share the limit
  demand wanted{};    ///< whether the caller wants less than the pace allows
  period server{};    ///< when it is open
  latency wait{};     ///< for answers

  /// Counts from the beginning.
  struct tally {
    std::uint64_t epoch = 0;      ///< cuts
    std::uint64_t successes = 0;  ///< answers
    double units = 0;             ///< … their cost
    double unit = 1;              ///< … its mean, smoothed
    /// Takes a success.
    void succeed(double cost) noexcept {
      ++successes;
      units += cost;
      bool const first = successes == 1 && unit == 1;  // no send has told it
      if (cost != unit) unit += first ? cost - unit : (cost - unit) / unit_smoothing;
    }
    friend bool operator==(tally const&, tally const&) = default;
  };
  tally so_far{};  ///< since it began

  /// The state before a cut for failures, given back if it does not lower their share.
  struct belief {
    double share = 0;  ///< of failures at the cut; 0: there is nothing to give back
    double pace = 0;   ///< units per second until it is judged, at most
    double level = 0;  ///< before it
    ceiling top{};     ///< before it
    int shut = 0;      ///< failures since it, before the first success: it may have been shut
    friend bool operator==(belief const&, belief const&) = default;
  };
  belief trial{};  ///< of the latest cut

  /// The parts that can be left out, to see what each buys (docs/default-law.md).
  struct parts {
    bool slots = true;       ///< tell slots from a rate
    bool drain = true;       ///< tell our own queue from a slow server
    bool periods = true;     ///< learn from what a cycle accepted
    bool failures = true;    ///< many failures are overload
    bool confidence = true;  ///< climb ever more slowly at a ceiling that proves true
    bool company = true;     ///< share with others as many
    bool chance = true;      ///< tell refusals by chance from a limit's
    bool demand = true;      ///< a refusal that the pace has not caused is no cut
    bool vacancy = true;     ///< ask whether slots are vacant before they are named
    bool bans = true;        ///< count what a refusal costs in time
    bool spurts = true;      ///< ask whether others share a window
    bool footholds = true;   ///< keep a level where no cut makes refusals rarer
    bool excess = true;      ///< ask whether a caller that seems to want little wants too much
    bool mixtures = true;    ///< ask refusals that others and chance share
    bool depths = true;      ///< tell chance from a limit that saves less than a row of tests
    friend bool operator==(parts const&, parts const&) = default;
  };
  parts with{};  ///< all, unless a comparison says otherwise

  static constexpr double rate_min = 1.0 / 600;  // one probe in ten minutes
  static constexpr double rate_max = 1e7;        ///< units per second
  static constexpr int first_answers = 8;    ///< once they have come, all good, the level doubles
  static constexpr double begin_times = 2;   ///< what one that was away is seen to serve
  static constexpr double moved = 1.25;      ///< above the ceiling without a reject: it has moved
  static constexpr double search_cut = 0.5;  ///< of the level, once a search is refused …
  static constexpr double guess_cut = 0.8;   ///< … above a guess
  static constexpr std::uint64_t burst_max = 100;  ///< successes that a burst may be, and no rate
  static constexpr std::uint64_t early_successes = 200;  ///< without end: poison-tokens 24, not 1.3
  static constexpr double closed_seconds = 1;  ///< the limit may be far below the usual start …
  static constexpr int closed_often = 3;   ///< … as often in a row; 2: an outage looks the same
  static constexpr double lone_rate = 10;  ///< a second; 0: rate-slow-8 .87, not .92
  static constexpr std::uint64_t unanswered = 32;  ///< sends before any answer that grow the level
  static constexpr int slots_min = 16;             ///< out, that a ramp takes for slots unasked …
  static constexpr std::uint64_t slots_successes = 12;  ///< … after more successes than these
  static constexpr double late_turns = 2;      // that a late wake-up makes up for; 0: see late-rate
  static constexpr double late_answer = 0.25;  ///< … and of an answer's time, at most
  static constexpr int late_most = 16;  ///< times what is made up for: the caller wanted nothing
  static constexpr double pause_turns = 2;      ///< in which nothing goes after a cut
  static constexpr int extra_turns = 2;         ///< that tests or a row cost besides their own
  static constexpr double waits = 2;            ///< answers' times until what was sent is heard
  static constexpr double slots_flying = 4;     ///< times what the pace explains; more: some hang
  static constexpr double slots_spare = 0.25;   ///< more than are paced: permits bind, not the pace
  static constexpr double slots_proven = 0.99;  ///< of the level: slots are at least so many, …
  static constexpr double slots_fell = 0.85;    ///< … or fell to so many
  static constexpr double slots_fewer = 0.8;    ///< of them: a refusal at fewer is a rate's
  static constexpr double shut_cut = 0.5;       ///< of the level, when the server shuts
  static constexpr double rtt_min = 1e-6;       ///< seconds: 0 is an answer that is unknown
  static constexpr double near_flying = 0.25;   ///< in flight, to begin with
  static constexpr double drift = 1e-4;         ///< of the ceiling: to get there at all
  static constexpr double unit_smoothing = 20;  ///< answers
  static constexpr double known_units = 10;     ///< in a cycle with two cuts: the rate is known
  static constexpr double few_units = 16;       ///< … tell a rate from its bounds only
  static constexpr double guess_units = 2;      ///< … tell hardly anything
  static constexpr double guess_above = 1.3;    ///< times a guess the level begins
  static constexpr double crowd_refuses = 2;    ///< times (4)'s share: 1: rate-50 .84, not .88
  static constexpr double no_more = 1.8;   ///< times a guess, accepted at twice that: its own limit
  static constexpr double long_times = 4;  ///< an answer's and a request's: a period's closing
  static constexpr double brief = 1.0 / 16;  ///< of an answer of seconds: shorter, it is no closing
  static constexpr double ease_seconds = 10;  // yielded half: back to nine tenths in 16 s
  static constexpr double ease_min = 0.05;    ///< of the share that leave allows

  time_point ready_at(std::int64_t) const noexcept { return turn.next; }

  double allowed() const noexcept {
    if (asks_alone()) return 1;
    return top.slots ? std::max(1.0, std::floor(share() * level)) : wait.room + wait.heard;
  }

  /// Returns the units per second that are sent.
  double pace() const noexcept {
    return share() * rate_of(top.slots ? level + slots_spare : level);
  }

  /// The phases of the drawing above.
  enum class phase : std::uint8_t { ramp, approach, creep, crowd, shut, drain };
  /// Returns what it does now.
  phase doing() const noexcept {
    return server.shut ? phase::shut : wait.draining() ? phase::drain : growing();
  }

  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    auto const units = static_cast<double>(cost);
    if (so_far.successes == 0 && units != so_far.unit) learn_unit(units);
    if (last.since.sends == 0 && last.at == time_point{}) start(now);
    bool const silent = server.shut && server.silence_tells(answer_time(now));
    if (silent && server.let_pass(now)) opened(now, server.probed, 1, headway::unit(u));
    server.sent(now, units);
    auto seconds = units / (spurts() ? others.window.factor() * pace() : pace());
    auto const made_up = !turn.ahead ? std::min(late_turns * seconds, late_answer * wait.mean) : 0;
    if (luck.row.unsent > 0 || last.vacant.unsent > 0) seconds = after_experiment(now, seconds);
    if (server.shut) {
      server.probed = now;
      seconds = silent ? std::max(seconds, period::silence * server.refusal)
                       : std::max({seconds, probe_interval(now, u), waits * wait.mean});
    }
    if (broken.away()) seconds = std::max(seconds, broken.probe_interval(now));
    if (trial.share > 0) seconds = std::max(seconds, units / trial.pace);
    if (with.excess && wants_little()) seconds = std::max(seconds, wanted.over.interval());
    auto const interval = from_seconds(seconds);
    auto const slack = std::max({interval / 2, duration(1ms), from_seconds(made_up)});
    auto const could_go = std::max(turn.next, server.held);
    bool const late = turn.take(now, interval, slack);
    if (silent && server.shut) turn.wait(now, seconds);  // the next one is to know of this one
    bool const wanted_none = late && !turn.ahead && now > could_go &&
                             wanted.answered != time_point{} && !wanted.prompt(now, wait.mean);
    if (wanted_none) {
      idle(could_go, now, units);
      if ((now - could_go) / late_most > slack) turn.wait(now, seconds);
    }
    bool const due = !late && last.since.sends > 0;  // the first one waits for nothing
    if (!late && wait.mean == 0 && so_far.epoch == 0 && top.at == 0 && broken.row == 0 &&
        last.since.sends < unanswered && level >= so_far.unit)  // a slow pace waits
      level = std::min(level + so_far.unit * ln2 / growth::ramp_seconds_max, rate_max);
    return {.sent = now,
            .epoch = so_far.epoch,
            .successes = so_far.successes,
            .sends = last.since.sends++,
            .prompt = due || wanted.prompt(now, wait.mean)};
  }

  void on_success(time_point now, sample const& s, fraction u) noexcept {
    auto const cost = static_cast<double>(s.sent.cost);
    so_far.succeed(cost);
    if (broken.succeeded(s.sent.sent, s.own)) {
      if (unknown()) begin_with(s);
      next_turn(now);
    }
    if (top.ease < 1) top.ease += (1 - top.ease) * std::min(1.0, cost / (pace() * ease_seconds));
    wanted.heard(now, s, true);
    bool const since_cut = s.sent.epoch == so_far.epoch;
    if (since_cut) {
      if (++last.since.successes == 1) trial.shut = static_cast<int>(last.since.failures);
      if (luck.before > 0) luck.spared(static_cast<double>(last.since.successes));
    }
    if (!turn.ahead && others.brief) others.accepted(to_seconds(now - last.at), wait.mean);
    if (s.sent.in_flight >= last.out && last.served <= last.alike) ++last.served;
    hear_of_test(now, s, false);
    if (since_cut) judge_hold(now, false);
    judge_trial();
    if (last.vacant.slots > 0) hear_of_row(now, s);
    if (server.shut && s.sent.sent > server.refused)
      opened(now, s.sent.sent, sends_since(s.sent), headway::unit(u));
    learn_latency(now, s);
    if (!s.app_limited && !wait.draining() && trial.share == 0 && !last.hold.asks() &&
        binds(now, s) && !wants_little() && !asks_enough() && (since_cut || !hears_late()))
      grow(now, cost);
  }

  void on_throttle(time_point now, sample const& s, resource, fraction u) noexcept {
    wanted.heard(now, s, false);
    if (s.sent.epoch == so_far.epoch) ++last.since.refusals;
    if (!s.own) {
      broken.refused();
      refused(now, s, u);
      return;
    }
    if (!s.again) luck.answered(true, s.sent.sends);  // bad requests come as chance does
    server.take_back(static_cast<double>(s.sent.cost), s.sent.sent);
    server.probed = std::min(server.probed, server.refused);  // it was no probe
    if (server.shut) next_turn(now);
    if (!top.slots && !(top.touched && server.shut)) search_anew();  // those before may be own, too
  }

  void on_failure(time_point now, sample const& s, fraction u) noexcept {
    wanted.heard(now, s, false);
    wait.fail(s);
    if (s.sent.epoch == so_far.epoch) ++last.since.failures;
    if (!with.failures) return;
    bool const never_answered = so_far.successes == 0;
    if (never_answered && broken.away()) broken.ask_alone(now, s.rtt);
    bool const oldest = static_cast<std::uint64_t>(s.in_flight) <= sends_since(s.sent);
    auto const tells = !never_answered || (oldest && broken.waited(to_seconds(s.rtt)));
    auto const too_many = broken.failed(now, tells, s.own);
    if (broken.closed()) trial = {};
    if (broken.away()) return;
    bool const test = (broken.asked || trial.share > 0) && luck.row.hear(true, s.sent.sends);
    judge_trial();
    if (test || trial.share > 0) return;
    if (so_far.successes > 0 && !s.own && broken.wants_row()) ask_failures(now);
    bool const asked = luck.row.out() > 0 || last.vacant.slots > 0 || server.shut;
    bool const enough = too_many && !wait.draining() && s.sent.epoch == so_far.epoch &&
                        last.since.answers() >= breakage::row_max;
    if (!(broken.limit ? too_many || (asked && !broken.ignores(s.own)) : enough)) {
      if (luck.row.has(s.sent.sends)) hear_of_test(now, s, false);  // it says nothing of a limit
      if (server.shut && s.own) next_turn(now);
      return;
    }
    level = wait.give_up(level);
    belief const before{broken.above(), broken.slow(rate_of(level)), level, top};
    auto const shut = server.shut;
    bool const is_cut = refused(now, s, u);
    if (!broken.limit) server.shut = shut;  // one that answers with failures is not
    if (is_cut) broken.cut();
    if (is_cut && !server.shut && broken.doubts(before.share, rate_of(level))) trial = before;
  }

  /// Takes an attempt that was given up before it was answered. A probe is soon sent again.
  void on_cancel(time_point now, stamp const& sent) noexcept {
    if (server.shut && sent.sent == server.probed)
      turn.hurry(now, server.lose() * so_far.unit / pace());
  }

  /// Takes a server that says that it is shut for so long that this costs much, or a window that
  /// others use, too.
  void on_hint(time_point now, hint const& said) noexcept {
    if (said.shared) others.show();
    bool const left = said.remaining && static_cast<double>(*said.remaining) >= so_far.unit;
    if (auto const lasts = left ? said.retry_after : std::max(said.retry_after, said.reset))
      server.hold(now, *lasts);
    if (!with.bans || !said.retry_after || server.shut || !server.banned.may_be()) return;
    if (top.slots || crowd() || wants_little()) return;
    auto const lasts = to_seconds(*said.retry_after);
    if (lasts <= ban::brief || !ban::costs(lasts, rate_of(level) / so_far.unit, wait.mean)) return;
    level = wait.give_up(level);
    server.announce(now);
  }
  /// Returns since when nothing answers, or a limit lets nothing pass and tells so by failures;
  /// `never`: something does.
  time_point broken_since() const noexcept {
    return broken.limit && server.shut && broken.row > 0 ? server.since : broken.gone;
  }
  friend bool operator==(seek const&, seek const&) = default;

  /// Takes back turns that were planned ahead and not used, and what they cost. The next may go
  /// from `from` on, which is `never` where the time of all has passed.
  void take_back(std::uint64_t turns_back, std::int64_t cost, time_point from) noexcept {
    turn.next = std::min(turn.next, from);
    last.since.sends -= std::min(turns_back, last.since.sends - last.since.begin);
    server.take_back(static_cast<double>(cost), never);
  }

  /// Judges latency anew, since samples were lost.
  void gap(time_point now) noexcept { wait.gap(now); }

  /// Returns whether a limit was met: refusals by chance alone are none.
  bool met() const noexcept { return top.at > 0 && (!luck.known() || luck.ceiling > 0); }

  /// Returns what the next run may begin with: of a ceiling that is a guess, what was accepted.
  learned knows() const noexcept {
    if (!met()) return {.rate = so_far.successes > 0 ? pace() : 0, .latency = wait.mean};
    auto const rate = rate_of(top.at);
    bool const guessed = !top.slots && !top.touched && luck.highest > 0;
    return {.rate = guessed ? std::min(rate, luck.highest) : rate,
            .slots = top.slots ? top.at : 0,
            .latency = wait.mean};
  }

  /// Begins with what an earlier run has learned, trusted less as it ages: half of it after a week.
  /// A refusal before the third success means that the memory is wrong: it is dropped. One that is
  /// too low costs a hundred requests at about its rate.
  void remember(learned const& was, duration age) noexcept {
    if (!(was.rate > 0) || !(was.rate <= rate_max)) return;
    auto const trust = 1 / (1 + std::max(to_seconds(age), 0.0) / (7 * 24 * 3600));
    top.slots = with.slots && was.slots >= 1 && was.slots <= 1e6 && was.latency > 0;
    if (was.latency > 0 && was.latency < 3600) wait.mean = was.latency;
    top.at = top.slots ? was.slots : was.rate;
    level = std::clamp(top.rest() * (0.5 + 0.5 * trust), rate_min, rate_max);
    if (wait.mean > 0) wait.room = std::max(latency::room_known, usual_room());
    top.climb_seconds = std::max(ceiling::climb_seconds_first, trust * ceiling::climb_seconds_slow);
    top.warm = true;
  }

 private:
  static constexpr double ln2 = 0.6931471805599453;

  // What it knows of itself and of the server. Equations are those of docs/law.md.

  double rate_of(double l) const noexcept {
    return top.slots ? l * so_far.unit / std::max(wait.mean, rtt_min) : l;
  }
  double share() const noexcept { return leave > 0 && top.settled ? (1 - leave) * top.ease : 1; }
  bool ramping() const noexcept {
    return top.calm.asks || (level > moved * top.at && (top.at == 0 || !crowd()));
  }
  /// Takes a send of so many units that could have gone at `from`: no rate, outage or closing is
  /// told by a time in which the caller wanted nothing.
  void idle(time_point from, time_point now, double units) noexcept {
    server.idle(from, now, units);
    broken.idle(from, now);
    if (now - from > from - last.at) last.restart(now, so_far.units, so_far.successes);
  }
  /// Returns how many requests went since one, it included; of turns dealt ahead it is not known.
  std::uint64_t sends_since(stamp const& one) const noexcept {
    bool const known = !turn.ahead && last.since.sends > one.sends;
    return known ? last.since.sends - one.sends : 1;
  }
  /// Lets the next request go in its turn, whatever it waited for.
  void next_turn(time_point now) noexcept { turn.hurry(now, so_far.unit / pace()); }
  /// Takes the first send: it is not late, and what is counted is counted from it on.
  void start(time_point now) noexcept {
    last.restart(now, so_far.units, so_far.successes);
    wait.start(now);
    turn.next = std::max(turn.next, now);
  }
  /// Takes the first answer of a server that was away, of which no more is known than this.
  void begin_with(sample const& s) noexcept {
    auto const served = s.in_flight * so_far.unit / std::max(to_seconds(s.rtt), rtt_min);
    if (begin_times * served >= level) return;
    level = begin_times * served;
    wait.room = std::min(wait.room, s.in_flight + latency::room_least);
    top.guess = top.resumed = true;
  }
  /// Takes the cost of a send before the first success: until then so many requests go a second,
  /// whatever they cost, unless a memory has told the rate.
  void learn_unit(double cost) noexcept {
    auto const was = so_far.unit;
    so_far.unit += (cost - was) / static_cast<double>(last.since.sends + 1);
    if (top.warm) {
      wait.room = std::max(latency::room_known, usual_room());
      return;
    }
    level = std::min(level * so_far.unit / was, rate_max);
    top.at *= so_far.unit / was;
  }
  /// Returns whether others share the limit: the ceiling varies, and not by chance.
  bool crowd() const noexcept {
    return with.company && others.varies() &&
           (top.slots || luck.limit() || luck.mixed.suspected() || others.shown || !with.chance);
  }
  /// Returns whether a refusal costs the time that it shuts the server.
  bool bans() const noexcept { return with.bans && server.banned.expected() && !crowd(); }
  /// Returns whether a refusal may shut the server for long.
  bool may_ban() const noexcept { return with.bans && server.banned.suspected(); }
  /// Returns whether it may send faster, to ask whether others share a window.
  bool spurts() const noexcept {
    return others.window.step > 0 && leave == 0 && !server.shut && !crowd() && !bans() &&
           server.cuts == 0;
  }
  /// Returns whether answers take seconds: as many are out by how long it runs, not by a limit.
  bool slow() const noexcept { return wait.mean > acceptances::slow; }
  /// Returns whether refusals, too, take seconds: a cut is undone by answers to what went before
  /// it, which come after it for as long as it took to be heard.
  bool hears_late() const noexcept {
    return slow() && !acceptances::tells(server.refusal, wait.mean);
  }
  /// Returns whether a row that is not heard yet asks for no more slots than the level fills.
  bool asks_enough() const noexcept {
    return last.vacant.slots > 0 && last.vacant.unsent == 0 &&
           rate_of(level) * wait.mean > last.vacant.slots * so_far.unit;
  }
  /// Returns whether a crowd would be refused more often at this level, 1 / (12 x): it is its own
  /// ceiling that holds it down, whether that is a limit's or was met by bad luck among others.
  bool held_down() const noexcept {
    return !crowd() && company::seconds * luck.share * rate_of(level) < crowd_refuses * so_far.unit;
  }
  /// Returns whether refusals are not its pace's doing.
  bool wants_little() const noexcept { return with.demand && wanted.is_low(); }
  /// Returns the time that an answer takes; before the first, what it takes at least.
  double answer_time(time_point now) const noexcept {
    return wait.mean > 0 ? wait.mean : to_seconds(now - server.began);
  }
  /// Returns seconds until the next probe. Clients that a crowd has shut out do not ask in step;
  /// one that was hardly served may be one of them.
  double probe_interval(time_point now, fraction u) const noexcept {
    bool const others_ask = crowd() || server.unserved(now, so_far.successes);
    return (others_ask ? 0.5 + headway::unit(u) : 1) * server.probe_interval(now, so_far.successes);
  }
  /// Takes a send of a row or a pair. Returns when the next may go: at once, or, where one goes
  /// each `seconds`, once all of it is paid for.
  double after_experiment(time_point now, double seconds) noexcept {
    bool const held = luck.row.unsent > 0 && luck.row.unsent == luck.row.length() &&
                      to_seconds(now - turn.next) > luck.row.length() * seconds;
    if (held) luck.row.take_back();  // by a hint
    if (luck.row.unsent > 0) {
      auto const& row = luck.row;
      if (--luck.row.unsent > 0) return row.gap;
      if (luck.paid_later(rate_of(level))) return waits * wait.mean;  // unless another follows
      bool const cheap = row.gap > 0 || (row.length() == chance::pair && held_down());
      return (row.length() + (cheap ? 0 : extra_turns)) * seconds - (row.length() - 1) * row.gap;
    }
    if (last.vacant.unsent == 0) return seconds;
    return last.vacant.sent(now) ? (last.vacant.row + extra_turns) * seconds : 0;
  }
  /// Returns whether hardly anything of what the server can do was ever heard.
  bool unknown() const noexcept {
    return so_far.successes < latency::block_answers && !top.slots && with.drain;
  }
  /// Returns whether one request goes at a time: the server is away, and what is out may be why.
  bool asks_alone() const noexcept { return broken.away() && unknown(); }
  /// Returns whether the law, and nothing else, kept more from being sent.
  bool binds(time_point now, sample const& s) const noexcept {
    return top.slots ? s.in_flight + 1 >= allowed() : turn.bind(now, wait.mean);
  }

  // Growing: equations 1 to 4, and 18.

  phase growing() const noexcept {
    if (top.at > 0 && crowd()) return phase::crowd;
    if (ramping()) return phase::ramp;
    return level < top.rest() ? phase::approach : phase::creep;
  }

  void grow(time_point now, double cost) noexcept {
    top.settled |= (top.touched || top.warm) && last.since.successes >= ceiling::rare &&
                   level >= top.rest() && !ramping();
    // Neither a window nor a rate gives more, and sooner, than before it shut.
    if (top.climb_seconds > ceiling::climb_seconds_max &&
        server.accepted > spurt::first * others.window.units &&
        to_seconds(now - server.began) < others.window.seconds)
      top.climb_seconds = ceiling::climb_seconds_first;
    auto const calm = wait.usual.rate > 0 ? so_far.successes : 0;
    growth const per{rate_of(level), so_far.unit, wait.mean, calm};
    if (is_quiet()) top.calm.asks = top.guess = true;
    switch (growing()) {
      case phase::crowd:
        level += others.stride() * std::max(top.at, level / company::far) * cost /
                 per.stride(level / top.at, others);
        break;
      case phase::ramp:
        level *= 1 + ln2 * cost / per.doubling(top, may_ban() ? server.banned.seconds : 0);
        if (begins_well(per.rate)) {
          level *= 2;
          wait.gap(now, first_answers);  // a queue is heard of sooner, too
        }
        break;
      case phase::approach:
        level += (top.rest() - level) * cost / per.approach(top.resumed) + drift * top.at;
        break;
      default:
        // Above the ceiling, what is left to others would hide one far above.
        if (leave == 0 || !top.settled || level <= top.at) {
          climb(per, cost);
        } else if (top.recovers()) {
          climb(per, cost);
          level = top.at = std::min(level, top.alone);
        }
    }
    level = std::min(level, rate_max);
  }

  /// Returns whether a ceiling of one's own is to be asked by a ramp: one from a time of slow
  /// answers; or one so low that climbs are slow, but not because a cycle is long, that refuses
  /// nothing. Where that fell from further above, it must nearly be reached.
  bool is_quiet() const noexcept {
    bool const was_slow = top.was_slow(wait.mean);
    auto const climb_seconds = std::max(quiet::seconds, top.climb_seconds);
    if (!was_slow && rate_of(level) * climb_seconds * waste >= so_far.unit) return false;
    bool const climbs = !top.slots && !top.warm && !crowd() && !ramping() && leave == 0;
    bool const above = !top.touched && server.cuts > 0 && level < top.rest();
    return climbs && !luck.known() && !bans() &&
           (was_slow || (!above && top.calm.enough(last.since.successes, top.at, luck.limit())));
  }

  void climb(growth const& per, double cost) noexcept {
    auto const there = rate_of(top.at);
    auto const lost = (bans() ? server.banned.seconds : server.costs) * there;
    level += ceiling::step * top.at * cost / per.climb(top, level / top.at, there, lost, waste);
  }
  /// Returns whether the first answers have come, all of them good and more than fly.
  bool begins_well(double rate) const noexcept {
    return so_far.epoch == 0 && top.at == 0 && last.since.successes == first_answers &&
           last.since.failures == 0 && rate * wait.mean < first_answers * so_far.unit;
  }
  /// Takes whether the level is permits. Where that is new a drain ends, and ceilings are compared
  /// anew: they were of the other kind.
  void count_permits(bool permits) noexcept {
    if (std::exchange(top.slots, permits) == permits) return;
    wait.drains = {};
    others.change_unit();
  }

  // The search, begun anew.

  /// Begins the search anew: below where tests last told of a limit, if they ever did, and not far
  /// below what was accepted before chance was found, nor, early and alone, below the usual start,
  /// unless the server shuts for seconds again and again, and not by chance: then a limit is far
  /// below that.
  void search_anew() noexcept {
    last.hold.rest();
    level = wait.give_up(level);
    trial = {};
    bool const shuts = server.closed >= closed_seconds && server.alike >= closed_often;
    bool const early = so_far.successes < early_successes && (luck.known() || !shuts);
    auto const usual = early && !others.varies() ? seek{}.level : 0;
    level = std::max({rate_of(level), search_cut * luck.highest, usual * so_far.unit});
    count_permits(false);
    last.vacant = {};  // else its verdict sets the level to a ceiling that is unknown: 0
    top.touched = top.guess = top.settled = server.shut = false;
    top.at = luck.ceiling;
    top.alone = 0;
    top.calm = {};
    top.resumed = top.at > 0;
    if (luck.known() || !others.shown) others = {};
  }

  /// Goes back to a rate, units per second, from before others were taken for chance.
  void go_back(double rate) noexcept {
    others.show();
    level = wait.give_up(level);
    level = top.at = std::min(rate, rate_of(level));
    count_permits(false);
    top.touched = true;
    top.guess = false;
  }

  /// Takes that nothing sent before tells of the level from now on, though nothing was cut.
  void begin_epoch(time_point now) noexcept {
    ++so_far.epoch;
    last.restart(now, so_far.units, so_far.successes);
    last.vacant = {};
    trial = {};
  }

  /// Begins the search anew at a rate that a limit of its own accepts, or below it.
  void search_from(time_point now, double rate) noexcept {
    begin_epoch(now);
    last.hold.rest();
    level = wait.give_up(level);
    level = std::clamp(rate, rate_min, std::max(rate_of(level), rate_min));
    count_permits(false);
    top = {.ease = top.ease};
    server.shut = false;
  }

  // Experiments, and what they tell: equations 10, 12, 13, 16, 17 and 19.

  /// Takes an answer, which may be a test's. Returns whether it is.
  bool hear_of_test(time_point now, sample const& s, bool is_refused) noexcept {
    auto const apart = std::min(to_seconds(s.sent.held) * per_unit(pace()), 1.0);
    auto const known = luck.known();
    auto const most = luck.highest;
    bool const unpaid = luck.row.heard == luck.row.length() - 1 && luck.paid_later(rate_of(level));
    bool const test = luck.answered(is_refused, s.sent.sends, apart,
                                    with.company && with.mixtures && others.varies());
    if (!luck.saves.found && luck.saves.rate > 0) go_back(std::exchange(luck.saves.rate, 0));
    if (test && !known && luck.met_limit()) {
      auto const here = rate_of(level);
      // As far as that was accepted.
      luck.ceiling = !others.varies()   ? std::max(here, std::min(last.rate, most))
                     : luck.ceiling > 0 ? std::min(luck.ceiling, here)
                                        : here;
    }
    if (test && !top.slots && luck.met_limit() &&
        luck.row.passed() > company::saved(per_unit(rate_of(level)) * to_seconds(now - last.at)))
      others.show();
    bool const pair = test && luck.row.what == test_row::asks::limit && luck.row.over() &&
                      luck.row.length() == chance::pair && luck.pair_tells(apart);
    if (pair && held_down()) judge_ceiling();
    if (pair && luck.row.refused == 0 && !held_down() && !top.slots &&
        others.stride() <= company::stride_min && rate_of(level) >= lone_rate * so_far.unit)
      luck.test(last.since.sends, true);
    if (!known && luck.known()) {
      if (luck.saves.found) {
        luck.saves.rate = rate_of(level);
        luck.accepted(depth::faster * rate_of(level));
      }
      search_anew();
    } else if (unpaid && test) {
      if (luck.wants_another(rate_of(level)))
        luck.test(last.since.sends, true);
      else
        turn.wait(now, (luck.row.length() + extra_turns) * so_far.unit / pace());
    }
    return test;
  }

  /// Judges, by a pair, a ceiling that holds it down. A limit of its own, which has just refused,
  /// accepts the first and refuses the second. One that accepts both is a guess again.
  void judge_ceiling() noexcept {
    if (luck.row.refused == 1) luck.odds = std::max(luck.odds, chance::certain);
    if (luck.row.refused > 0 || top.slots) return;
    top.touched = false;
    top.guess = true;
    top.at = level / guess_above;
  }

  /// Goes on with a row that asks for slots, where enough are vacant, and names them once it has
  /// passed.
  void hear_of_row(time_point now, sample const& s) noexcept {
    bool const named = last.vacant.passed(now);
    if (last.vacant.may_send(s.in_flight - 1)) turn.hurry(now, 0);
    if (!named) return;
    if (last.vacant.none_but_one(top.flight_rejects)) {
      last.vacant = {};
      if (top.at > 0) level = top.at;
      top.at = 0;
      return next_turn(now);
    }
    count_permits(true);
    top.at = std::exchange(last.vacant, {}).slots;
    level = ceiling::below * top.at;
    next_turn(now);
  }

  /// Asks, by a row of tests, whether failures are a limit's.
  void ask_failures(time_point now) noexcept {
    if (luck.row.unsent > 0 || last.vacant.unsent > 0 || server.shut) return;
    luck.test(last.since.sends, false);
    broken.ask();
    turn.hurry(now, 0);
  }

  /// Gives a cut back that the failures outlast.
  void judge_trial() noexcept {
    if (luck.row.over() && broken.judge_row(luck.row.heard, luck.row.refused)) trial = {};
    if (trial.share == 0 || last.since.successes == 0) return;
    auto const successes = static_cast<int>(last.since.successes) - 1;
    auto const failures = std::max(static_cast<int>(last.since.failures) - trial.shut, 0);
    auto const verdict = broken.judge(successes + failures, failures, trial.share, trial.pace);
    if (verdict == breakage::verdict::open) return;
    auto const was = std::exchange(trial, {});
    if (verdict == breakage::verdict::helps) return;
    wait.drains = {};
    level = was.level;
    count_permits(was.top.slots);
    top.take_back(was.top);
  }

  /// Yields to others, which are there, or to a limit that has fallen.
  void yield(time_point now) noexcept {
    top.yield(ease_min);
    level = std::max(std::min(level, top.at), rate_min);
    turn.wait(now, pause_turns * so_far.unit / pace());
  }

  /// Takes an answer to what was sent since the latest cut. Returns whether it is a refusal that no
  /// slower pace makes rarer, and no cut.
  bool judge_hold(time_point now, bool is_refused) noexcept {
    if (!with.footholds) return false;
    auto& hold = last.hold;
    hold.answered(is_refused);
    if (top.slots || top.warm || leave > 0 || luck.known() || may_ban() || server.told || slow()) {
      hold.rest();
      return false;
    }
    if (hold.judge(is_refused, level)) {
      begin_epoch(now);
      wait.drains = {};
      level = top.at = std::min(hold.begins(), rate_max);
      top.touched = server.shut = false;
    }
    if (hold.stands(level)) return is_refused;
    if (is_refused && !top.calm.asks && !last.perhaps_slots())
      hold.refused(level, per_unit(rate_of(level)));
    return false;
  }

  // A refusal: what it is due to, and what it says of the ceiling (equations 5, 6, 11 and 14).

  /// A refusal that cuts.
  struct refusal {
    std::uint64_t accepted = 0;  ///< sent since the cut before, as far as one knows
    int flight = 0;              ///< requests that went after it, until it was heard
    bool doubted = false;        ///< refusals were known to come by chance …
    bool test = false;           ///< … and it is a test of one that was refused before
  };

  /// Takes a refusal, or a failure that counts as one. Returns whether it cuts.
  bool refused(time_point now, sample const& s, fraction u) noexcept {
    ++top.flight_rejects;
    server.hear_refusal(to_seconds(s.rtt));
    server.costs = std::clamp(to_seconds(server.held - now), 0.0, ban::brief);
    server.take_back(static_cast<double>(s.sent.cost), s.sent.sent);
    auto const doubts = top.slots ? 0 : luck.doubts();
    auto const test = hear_of_test(now, s, true);
    if (s.sent.epoch != so_far.epoch) return false;
    luck.before = 0;
    bool const asked = last.vacant.slots > 0;
    if (last.vacant.refused(s.sent.sends)) {
      if (asked) server.cut();  // the limit is met once more, and it is a rate
      return false;
    }
    bool const asks = doubts > 0 && !server.shut;
    bool const has_tests = s.sent.sends < luck.row.beyond;
    if (asks && !has_tests && luck.may_test(s.sent.sends, s.in_flight)) {
      if (luck.saves.found)
        test_pace();
      else
        luck.test_refusal(last.since.sends, level < top.rest(), per_unit(rate_of(level)));
    }
    bool const believed =
        asks ? test && luck.row.refused >= doubts : !test;  // a test is of its cut
    if (!believed) return false;
    if (wants_little() && !s.capped) {  // a caller at its own ceiling is a busy one
      bool const more = with.excess && wanted.shows_excess();
      if (more) search_from(now, so_far.unit / wanted.over.seconds);
      auto const pause = more ? 0 : (0.5 + headway::unit(u)) * wanted.pause(now);
      turn.wait(now, std::max(pause_turns * so_far.unit / pace(), pause));
      return false;
    }
    if (judge_hold(now, true)) return false;
    trial = {};
    ++so_far.epoch;
    auto const answered = last.since.successes;
    auto const after = last.since.sends - std::min(last.since.sends, s.sent.sends + 1);
    refusal const r{.accepted = last.since.cut(s.sent.sends, to_seconds(s.rtt), wait.mean),
                    .flight = static_cast<int>(after),
                    .doubted = doubts > 0,
                    .test = test};
    if (std::exchange(top.warm, false) && answered < cuts::hardly) {
      forget(now);
      return true;
    }
    if (leave > 0 && top.settled) {
      yield(now);
      return true;
    }
    auto const before = level = wait.give_up(level);
    cut(now, s, r);
    luck.cut();
    if (may_ban() || (with.company && others.varies())) luck.shared();
    if (!top.slots && last.hold.now != foothold::at::any) {
      level = std::max(level, std::min(before, last.hold.least()));
      server.shut = false;
    }
    level = std::clamp(level, rate_min * so_far.unit, rate_max);
    auto const pause = server.shut ? std::max(so_far.unit / pace(), probe_interval(now, u))
                                   : (top.slots ? 1 : pause_turns) * so_far.unit / pace();
    if (luck.row.unsent == 0) turn.wait(now, last.vacant.unsent > 0 ? wait.mean : pause);
    return true;
  }

  /// Takes a cut.
  void cut(time_point now, sample const& s, refusal const& r) noexcept {
    auto const out = s.sent.in_flight;
    bool const some = r.accepted >= cuts::hardly;
    top.resumed = false;
    last.vacant = {};
    top.count_rejects();
    last.in_vain = some ? 0 : last.in_vain + 1;
    server.refuse(s.sent.sent);
    if (some) server.cut();
    name_limit(out);
    if (!some && !top.slots && crowd())
      others.met_few(static_cast<double>(r.accepted), so_far.unit,
                     to_seconds(s.sent.sent - last.at), wait.mean);
    auto const had = harvested(now, s, r.accepted);
    last.next(now, so_far.units, so_far.successes, rate_of(level), out);
    bool const ramped = ramping();
    if (r.accepted > 0 && !top.slots && luck.odds >= 1) others.refused(level, so_far.unit);
    bool const stands = top.calm.asks && top.calm.refused(level, top.at);
    bool const unexpected = !top.slots && level < ceiling::below * top.at;
    if (top.slots) {
      refused_slots(had, out);
    } else if (!some && top.at > 0) {
      if (server.close(s.sent.sent)) level *= crowd() ? 1 - others.stride() : shut_cut;
    } else if (stands) {
      level = ceiling::dip * top.at;
      top.guess = false;
    } else {
      refused_rate(s, had, r.flight);
      if (r.accepted >= period::many) server.alike = 0;
    }
    if (with.chance && !r.doubted && !server.shut && !top.slots)
      ask_chance(r.accepted, unexpected, ramped);
    top.answer = wait.unqueued();
    if (r.test) luck.ceiling = rate_of(top.at);
  }

  /// Asks, by a row or a pair of tests, whether a refusal came by chance.
  void ask_chance(std::uint64_t accepted, bool unexpected, bool ramped) noexcept {
    bool const varies = unexpected && others.varies();
    bool const row = luck.collapsed(rate_of(level)) || (varies && luck.wants_tests(rate_of(level)));
    bool const low = held_down() && accepted >= cuts::hardly;
    bool const known_enough =
        accepted >= cuts::few && so_far.successes >= chance::pair_successes && !ramped;
    bool const pair = (low || known_enough) && last.vacant.slots == 0 &&
                      comes_early(static_cast<double>(accepted)) &&
                      luck.wants_pair(last.rate, !others.varies());
    bool const counts = varies && with.depths && !may_ban();
    if (counts && luck.saves.known())
      test_pace();
    else if (row)
      luck.test(last.since.sends, true);
    else if (pair)  // a row, once one has passed
      luck.test(last.since.sends, true, luck.odds < 1 && !low ? chance::tests : chance::pair);
    else if (counts && luck.saves.even() && last.vacant.slots == 0)
      luck.count(last.since.sends);
  }
  /// Asks by tests that go faster than the pace.
  void test_pace() noexcept { luck.test_pace(last.since.sends, so_far.unit / rate_of(level)); }

  /// Returns whether a refusal after so many accepted came sooner than climbs explain.
  bool comes_early(double accepted) const noexcept {
    return accepted <= chance::early * std::max(1 / waste, per_unit(last.rate) * top.climb_seconds);
  }

  /// Slots, or a rate? Slots refuse at the same number out, whatever the rate; one that is refused
  /// far below that number is refused for its rate. Of a few, one refusal at two fewer is enough
  /// against them; and of one that none but the refused one has taken.
  void name_limit(int out) noexcept {
    auto const rate = rate_of(level);
    auto const at_fewer =
        (top.at <= cuts::few && out + 1 < top.at) || (out < slots_fewer * level && out + 2 < level);
    if (top.slots && (at_fewer || last.in_vain >= 3 || out <= 1)) {
      level = rate;
      top.at = rate_of(top.at);
      count_permits(false);
    } else if (with.slots && !top.slots && luck.doubts() == 0 && last.speak_for_slots(rate, out) &&
               static_cast<double>(so_far.successes - last.successes) >=
                   std::max<double>(cuts::hardly, cuts::turned * out)) {
      count_permits(true);
      level = top.at = out;
    }
  }

  /// Returns the harvest before a cut, of which so many were accepted; chance hears of it, too.
  cuts::harvest harvested(time_point now, sample const& s, std::uint64_t accepted) noexcept {
    bool const tells = acceptances::tells(to_seconds(s.rtt), wait.mean);
    auto had = last.harvested(now, s.sent.sent, so_far.units, so_far.unit, accepted, tells);
    if (had.many && server.began < last.at) luck.accepted(had.mean);
    if (had.many && slow()) had.mean = had.told;
    return had;
  }

  void refused_slots(cuts::harvest had, int out) noexcept {
    server.shut = false;
    if (had.accepted >= cuts::hardly) {
      had.mean = slots_fell * level;
      take_ceiling(std::max(static_cast<double>(out), slots_proven * level), had);
    } else {
      level = std::min(level, out - 1.0);
    }
    level = std::max(level, 1.0);
  }

  void refused_rate(sample const& s, cuts::harvest const& had, int flight) noexcept {
    if (!ramping()) return bans() ? stay_below(level) : take_ceiling(level, had);
    auto const held = vacancy::at_server(s.sent.in_flight, so_far.successes - s.sent.successes,
                                         to_seconds(s.rtt), wait.mean);
    top.touched = false;
    bool const asks = with.vacancy && s.heard == 0;  // else it is not known when one is vacant
    bool const slots = with.slots && !server.shut && !slow() && luck.doubts() == 0 &&
                       held > (asks ? cuts::few : slots_min) &&
                       held <= slots_flying * per_unit(level) * wait.mean &&
                       so_far.successes >= slots_successes + static_cast<std::uint64_t>(s.heard);
    if (slots && asks)
      last.vacant.ask(held, to_seconds(s.rtt), wait.mean, last.since.sends, flight);
    if (slots && !asks) {
      count_permits(true);
      top.at = held;
      level = ceiling::below * held;
      return;
    }
    bool const twice = static_cast<double>(had.accepted) >= growth::guess_answers_min;
    if (top.guess && luck.odds < 1 && !luck.known() && twice && had.mean < no_more * top.at)
      luck.odds = chance::certain;
    auto const proven = ceiling::below * top.at;
    top.at = level;
    if (std::exchange(top.guess, false))
      level *= guess_cut;  // above where it was proven
    else                   // a burst tells no rate
      level = so_far.successes < burst_max
                  ? std::min(search_cut * level, seek{}.level * so_far.unit)
                  : std::max(search_cut * level, proven);
  }

  /// Takes a ceiling, outside the ramp. To tell whether others share it, only the sends are counted
  /// where that can be: successes that came back differ by those on their way. Slots that fell, and
  /// bad requests in a row, refuse before as many as fly are accepted.
  void take_ceiling(double at, cuts::harvest const& had) noexcept {
    if (static_cast<double>(had.accepted) >= (top.slots ? level : cuts::hardly))
      others.met(top.slots ? std::floor(level) : had.told, static_cast<double>(had.accepted),
                 top.slots, turn.ahead ? 0 : had.seconds, wait.mean);
    if (crowd()) {
      if (top.slots) level = rate_of(level);
      count_permits(false);
      top.at = level;
      top.touched = true;
      level *= 1 - others.stride();
    } else if (server.costs * rate_of(level) > static_cast<double>(had.accepted) * so_far.unit) {
      level = top.at = ceiling::costly * level;  // the wait costs more than was accepted before it
      top.touched = true;
    } else if (at < ceiling::fallen * top.at) {
      top.fall(at);
      level = std::clamp(had.mean, ceiling::fallen_min * at, ceiling::fallen_max * at);
    } else {
      top.touch(at, had.mean, had.accepted, with.confidence);
      level = ceiling::dip * top.at;
    }
  }

  /// Takes a level that is punished; 0: the present one is.
  void stay_below(double punished) noexcept {
    level = top.at = std::max(ban::below * (punished > 0 ? punished : level), rate_min);
    top.touched = true;
  }

  /// Forgets what a wrong memory said; begins at half of it, and not above the usual start.
  void forget(time_point now) noexcept {
    tally const anew{.epoch = so_far.epoch, .unit = so_far.unit};
    seek fresh{.waste = waste, .leave = leave, .so_far = anew, .with = with};
    fresh.level = std::min(fresh.level * so_far.unit, rate_of(level) / 2);
    fresh.last.since = last.since;
    fresh.last.at = now;
    fresh.turn.ahead = turn.ahead;
    fresh.turn.next = std::max(turn.next, later(now, from_seconds(so_far.unit / fresh.level)));
    *this = fresh;
  }

  // A server that was shut: equations 7 and 8.

  /// Takes the first success after a row of refusals, of a request sent at `sent`, one of so many
  /// since. The first time the server is taken to have a period if nothing was known or refused
  /// before; when it happens again, it has one. Else it was away, and is what it was, but a window
  /// that gives as many as before gives no more a second than while it was open.
  void opened(time_point now, time_point sent, std::uint64_t sends, double u) noexcept {
    auto const unit = so_far.unit;
    bool const again = server.closed > 0;
    auto const c = server.open(sent, unit, static_cast<double>(sends));
    bool const as_many = others.window.gives_as_many(c.accepted, unit);
    if (with.spurts && !top.slots && others.window.opened(c.seconds, c.accepted, unit, c.cuts, u)) {
      others.show();
      server.banned.deny();
    }
    if (others.window.own()) others = {.window = others.window};
    bool const first = server.banned.seconds == 0;
    bool const waited = server.costs > 0 && c.closed <= ban::brief;  // as it was told to
    if (!period::hardly(so_far.successes) && !waited)
      server.banned.lasted(c.closed, rate_of(level) / unit, wait.mean, c.certain, c.accepted,
                           c.seconds - c.closed);
    // In a crowd the others took it, and one's share is what it was.
    if (bans() && c.told && top.touched) {  // the rate is between these two
      top.at = std::clamp(std::sqrt(c.least * c.most), top.at, top.at / ban::below);
      level = ban::below * top.at;
    } else if (bans()) {
      stay_below(top.at);
    } else if (!crowd() && tells_rate(c, now)) {
      take_cycle(c);
      if (may_ban() && c.told) take_middle(c);
      if (first && c.accepted < few_units * unit && may_ban()) top.at = 0;  // it is no period's
    } else if (!crowd()) {
      top.touched = false;
      top.resumed = true;
      if (as_many && with.periods && !top.slots && top.at > 0) {
        top.at = std::min(top.at, c.most / ceiling::below);
        level = std::min(level, top.rest());  // not a ramp above it
      }
    }
    if (again) others.tell(c.least);
    top.end_ramp(wait.unqueued());
    next_turn(now);
  }
  /// Returns whether accepted ÷ cycle is the server's rate: it has a period, or is new.
  bool tells_rate(period::cycle const& c, time_point now) const noexcept {
    auto const unit = so_far.unit;
    bool const known = top.touched || (c.cuts > 1 && c.accepted >= known_units * unit) ||
                       (!c.again && luck.highest > period::much * c.least);
    bool const silent = server.silence_tells(answer_time(now));
    bool const long_enough =
        silent ? c.closed > c.seconds / 2
               : c.accepted <= guess_units * unit ||
                     (c.closed > long_times * wait.mean && c.missed() > long_times * unit);
    bool const again =
        c.again && (long_enough || !silent) && (!slow() || c.closed > brief * wait.mean);
    return with.periods && ((long_enough && !known) || again);
  }
  /// Takes the rate that a cycle tells, of a few units only the middle of its bounds.
  void take_cycle(period::cycle const& c) noexcept {
    bool const few = c.accepted < few_units * so_far.unit;
    top.climb_seconds = few ? ceiling::climb_seconds_fell : std::max(top.climb_seconds, c.closed);
    if (c.most < ceiling::below * level) top.touched = false;
    auto const highest = so_far.successes <= 1 && top.at > 0 ? top.at : c.most;
    level =
        std::clamp(few ? std::sqrt(c.least * highest) : c.least, rate_min * so_far.unit, rate_max);
    top.guess = c.accepted <= guess_units * so_far.unit;
    top.at = top.guess ? level / guess_above : std::max(c.most, rate_min);
  }

  /// Takes a rate between that of all of a cycle, as a window's, and that of the time that it was
  /// open: the server, which said when it opens, may ban.
  void take_middle(period::cycle const& c) noexcept {
    auto const most = c.accepted / std::max(c.seconds - c.closed, wait.mean);
    level = top.at =
        std::max({c.least, ban::below * std::sqrt(c.least * most), rate_min * so_far.unit});
    top.climb_seconds = std::max(top.climb_seconds, ban::slowness * c.closed);
    top.touched = top.guess = false;
  }

  // Latency: equation 9.

  /// Returns x / unit, without the division where each request costs 1, as most do.
  double per_unit(double x) const noexcept { return so_far.unit == 1 ? x : x / so_far.unit; }
  double usual_room() const noexcept {
    return latency::room_least +
           per_unit(latency::room_times * rate_of(level)) * std::max(wait.mean, latency::shortest);
  }

  void learn_latency(time_point now, sample const& s) noexcept {
    auto const rtt = std::max(to_seconds(s.rtt), rtt_min);
    auto const unheard = s.in_flight - s.heard;
    wait.heard = s.heard;
    if (wait.mean == 0) {
      wait.mean = rtt;
      if (last.since.sends == 1) turn.wait(now, 0);  // it went alone: the next is not late
      wait.room = unheard + latency::room_least;
      if (top.at == 0)
        level = std::clamp(near_flying * so_far.unit / rtt, level, rate_max);  // a near server
    }
    wait.average(rtt, per_unit(rate_of(level)) * wait.mean);
    bool const alone = s.sent.in_flight == 1 && s.in_flight == 1;  // no jam has lengthened it
    if (alone && top.begins_anew()) level = std::max(level, so_far.unit / rtt);
    wait.make_room(unheard, usual_room());
    if (so_far.epoch == 0) wait.hold_room(now, s);
    if (!with.drain) return;
    wait.hold_queue(s, so_far.unit);
    judge_latency(now, s);
  }

  void judge_latency(time_point now, sample const& s) noexcept {
    // While nothing is accepted only slow answers are left.
    if (server.shut || s.sent.sent < server.began) return wait.gap(now);
    auto const usable = latency::usable * wait.delivered;
    if (wait.draining() && now >= wait.block)
      level =
          std::max(level, top.slots ? wait.drains.resume : std::min(wait.drains.resume, usable));
    auto const how = [&] {
      // Where permits hardly bind, a hint or the caller held back what went late.
      auto const held = 2 * s.in_flight < allowed() ? turn.behind : last.at;
      auto const since = to_seconds(now - std::max({server.began, last.at, held}));
      return latency::sending{.unit = so_far.unit,
                              .pace = pace(),
                              .seconds = since,
                              .answers = to_seconds(now - server.began),
                              .ramps = ramping() && !top.slots,
                              .ahead = turn.ahead,
                              .tests = luck.row.out()};
    };
    switch (wait.judge(now, s, how)) {
      case latency::load::unknown:
        break;
      case latency::load::full:
        level = wait.drain(now, (s.in_flight - s.heard) * so_far.unit / wait.delivered,
                           wait.delivered, wait.delivered);
        break;
      case latency::load::queued:
        level = wait.drain(now, wait.lowest, level,
                           top.slots ? level : std::min(level, wait.delivered));
        break;
      case latency::load::gone:
        if (!top.slots) wait.drains.resume = std::max(wait.drains.resume, wait.delivered);
        break;
      case latency::load::ours:
        level = std::min(rate_of(wait.drains.resume), usable);
        count_permits(false);
        top.at = level / ceiling::below;
        top.end_ramp(wait.unqueued());
        top.climb_seconds = std::max(top.climb_seconds, ceiling::climb_seconds_slow);
        break;
      case latency::load::slower:
        level = wait.drains.resume;
        break;
    }
  }
};
static_assert(law<seek>);

}  // namespace headway
