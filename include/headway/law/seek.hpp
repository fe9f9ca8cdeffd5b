#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "headway/law/acceptances.hpp"
#include "headway/law/breakage.hpp"
#include "headway/law/chance.hpp"
#include "headway/law/company.hpp"
#include "headway/law/demand.hpp"
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
///
/// `level` is what is sent: units per second, or permits once equal counts in flight explain the
/// rejects at unequal rates. Requests are paced evenly either way, so that it works far below one
/// in flight. A bucket is empty at each reject: what it accepted since the last one is its rate. A
/// server that accepts nothing is probed at intervals that grow with the time since it shut, faster
/// the less it has ever accepted; accepted ÷ cycle is its rate when it opens. Latency is judged by
/// the lowest of a block: when that doubles, a pause of our own tells our queue (it falls) from a
/// slow server (it stays, and is the new normal). Failures cut when a quarter more of the answers
/// fail than usual; a cut that they outlast is given back, and so many are usual from then on.
/// While nothing answers at all, it is probed, and the rate is kept. Among others (`company`) a cut
/// takes a stride of the level, which a fixed time gives back; refusals that come by chance
/// (`chance`) are asked again before they count. A caller that wants less than its pace allows
/// (`demand`) asks again later, and keeps the pace.
///
/// Units: rates in units per second, times in seconds where not typed. Threads: a value.
/// Source: seed text 002 (adapt the rate to rejects, return with successes), seed text 003 (one cut
/// for each flight, no growth beyond what flies), RFC 6817 (leave). Each constant was chosen on
/// scenarios/*.toml and checked on scenarios/held-out; docs/design/003-what-limits.md says what
/// else was tried, and docs/default-law.md what each part buys.
struct seek {
  double level = 20;     ///< knob: the rate to begin with, units per second
  double waste = 0.025;  ///< knob: a climb by 3 % takes 1/waste requests for each reject it costs
  double leave = 0;      ///< knob: share of the limit left to other clients, which come first

  double ceiling = 0;    ///< where rejects begin, in units of level; 0: not met yet
  bool slots = false;    ///< level is permits, not units per second
  bool touched = false;  ///< the ceiling was met from just below, hence measured, not guessed
  bool guess = false;    ///< the ceiling is one acceptance after a long search, hardly known
  bool resumed = false;  ///< opened again with the ceiling from before: approach it with care
  bool shut = false;     ///< nothing is accepted
  bool settled =
      false;          ///< the ceiling was met or nearly reached: the share that leave allows begins
  bool warm = false;  ///< the ceiling is remembered, and not met in this life yet
  double climb_seconds = climb_seconds_first;  ///< that a climb by one step takes at least
  double touch_rejects = 1;                    ///< that touching the ceiling costs
  double ease = 1;  ///< of the share that leave allows: others were yielded to

  time_point next{};                      ///< not before this
  time_point behind = time_point::min();  ///< a send came later than its pace
  std::uint64_t epoch = 0;                ///< count of cuts
  std::uint64_t successes = 0;            ///< so far
  acceptances since_cut{};                ///< of what was sent since the last cut
  double units = 0;                       ///< accepted
  breakage broken{};                      ///< what failures say
  chance luck{};                          ///< whether refusals come by chance
  company others{};                       ///< whether they share the limit
  demand wanted{};                        ///< whether the caller wants less than the pace allows
  int flight_rejects = 0;                 ///< since the last cut

  /// The state at a cut.
  struct cut {
    time_point at{};              ///< its time
    double units = 0;             ///< accepted until then
    std::uint64_t successes = 0;  ///< until then
    double rate = 0;              ///< at which the rejected request went, units per second
    int out = 0;                  ///< permits out when the rejected request went, it included
    int alike = 0;                ///< cuts in a row before it with as many out
    double first_rate = 0;        ///< that of the first of these
    int served_out = 0;           ///< the most out when a request went that was accepted since then
    friend bool operator==(cut const&, cut const&) = default;
  };
  cut last{};  ///< the latest one

  /// The state before a cut for failures, given back if it does not lower their share.
  struct belief {
    double share = 0;          ///< of failures at the cut; 0: there is nothing to give back
    double rate = 0;           ///< before it
    double level = 0;          ///< as the law's, before it; so all that follow
    double ceiling = 0;        ///< its ceiling
    double climb_seconds = 0;  ///< its climb_seconds
    bool touched = false;      ///< its touched
    bool guess = false;        ///< its guess
    bool slots = false;        ///< its slots
    friend bool operator==(belief const&, belief const&) = default;
  };
  belief trial{};         ///< of the latest cut
  int shut_in_a_row = 0;  ///< cuts with hardly a success between them

  /// From one opening of the server to the next.
  struct cycle {
    time_point began{};    ///< opened
    double accepted = 0;   ///< units sent and not refused
    int cuts = 0;          ///< within it
    time_point shut{};     ///< the first refusal of the row
    time_point refused{};  ///< the last
    double closed = 0;     ///< how long, last time
    int alike = 0;         ///< closings in a row that were not much longer than the one before
    friend bool operator==(cycle const&, cycle const&) = default;
  };
  cycle server{};  ///< as far as its cycle is known

  /// The time that answers take, in seconds, judged block by block.
  struct latency {
    double mean = 0;        ///< smoothed; 0: no answer yet
    double base = 0;        ///< the lowest of a block while nothing queued
    double lowest = 0;      ///< of this block
    int answers = 0;        ///< in it
    int high = 0;           ///< blocks in a row that were too high
    double delivered = 0;   ///< units per second in the block before
    time_point block{};     ///< its begin; while draining: what was sent before does not count
    time_point answered{};  ///< the last answer
    double drained = 0;     ///< the latency that made us drain; 0: we do not
    double resume = 0;      ///< the level before
    friend bool operator==(latency const&, latency const&) = default;
  };
  latency wait{};    ///< for answers
  double unit = 1;   ///< mean cost of an answered request
  double room = 64;  ///< permits without an answer, while they are not the limit
  int heard = 0;     ///< permits with an answer that has begun, as of the last one

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
    bool wake_ups = true;    ///< make up for late ones
    friend bool operator==(parts const&, parts const&) = default;
  };
  parts with{};  ///< all, unless a comparison says otherwise

  static constexpr double rate_min = 1.0 / 600;     // one probe in ten minutes
  static constexpr double rate_max = 1e7;           ///< units per second
  static constexpr double ramp_seconds_max = 0.7;   // to double: 0.5 hears a 150 ms reject too late
  static constexpr double ramp_seconds_min = 0.05;  ///< however fast answers come
  static constexpr double ramp_answers = 20;        // … and not in fewer than tell a small limit
  static constexpr double guess_answers = 16;       ///< as ramp_answers, above a guess
  static constexpr double known_factor = 1.5;       ///< less steep, a ramp above a known ceiling
  static constexpr double dip = 0.95;        // after a touch: the server has too much already
  static constexpr double touch_min = 0.93;  // a bucket's rate is what it accepted, ± one request
  static constexpr double below = 0.985;     // of the ceiling: where climbs begin
  static constexpr double step = 0.03;       // of the ceiling: one climb
  static constexpr double guessed_answers = 20;       // for one, while the ceiling is a guess
  static constexpr double climb_seconds_first = 1.5;  // 4: a limit that rose is found 2 s later
  static constexpr double climb_answers = 8;       // or their time; 0: steps of slots 1.7, not 1.3
  static constexpr double climb_seconds_max = 12;  // of a rate; 6: stationary 0.23, not 0.14 %
  static constexpr double climb_seconds_slow = 6;  // slots, queues, what is remembered
  static constexpr double haste = 4;               // of a climb that meets no reject
  static constexpr double confirmed = 1.15;        // times longer, when the ceiling proves true
  static constexpr double moved = 1.25;        // above the ceiling without a reject: it has moved
  static constexpr double patience_min = 0.2;  // of the time since it shut: 30 s are missed by < 6
  static constexpr double patience_max = 2;  // 4 starves clients of a crowd that were never served
  static constexpr double probe_seconds = 600;  // longer only if the server is shut for an hour …
  static constexpr double unserved_max = 30;    // … but before anything was accepted; 15: fleets
  static constexpr double probe_seconds_max = 86400;  // … and a day at most, or time ends
  static constexpr int few_slots = 8;                 ///< a rate, too, has so many out now and then
  static constexpr std::uint64_t rare = 40;    // accepted between two rejects: no descent any more
  static constexpr double trial_slowness = 2;  // of a cut for failures, until it is judged
  static constexpr double late_turns = 2;      // that a late wake-up makes up for; 0: see late-rate
  static constexpr double late_answer = 0.25;  ///< … and of an answer's time, at most
  static constexpr double behind_seconds = 0.01;  // so long after a late send pace does not bind
  static constexpr double latency_min = 0.002;    // shorter queues are not worth avoiding
  static constexpr int block_answers = 24;        ///< that one judgement of latency needs
  static constexpr double ease_seconds = 10;      // yielded half: back to nine tenths in 16 s

  time_point ready_at(std::int64_t) const noexcept { return next; }

  double allowed() const noexcept {
    return slots ? std::max(1.0, std::floor(share() * level)) : room + heard;
  }

  /// Units per second that are sent.
  double pace() const noexcept { return share() * (slots ? 1.03 : 1) * rate_of(level); }

  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    if (server.began == time_point{}) server.began = now;
    server.accepted += static_cast<double>(cost);
    auto seconds = static_cast<double>(cost) / pace();
    if (luck.unsent > 0) seconds *= --luck.unsent > 0 ? 0 : chance::tests + 2;  // paid in the end
    if (shut) seconds = std::max({seconds, jitter(u) * probe_interval(now), 2 * wait.mean});
    if (broken.away()) seconds = std::max(seconds, broken.probe_interval(now));
    if (trial.share > 0)
      seconds = std::max(seconds, trial_slowness * static_cast<double>(cost) / trial.rate);
    auto const interval = from_seconds(seconds);
    auto const made_up =
        std::min(late_turns * static_cast<double>(cost) / pace(), late_answer * wait.mean);
    auto const slack =
        std::max({interval / 2, duration(1ms), from_seconds(with.wake_ups ? made_up : 0)});
    bool const late = now - next > slack;
    bool const due = !late && since_cut.sends > 0;  // the first one waits for nothing
    if (late)
      behind = now;
    else if (wait.mean == 0 && epoch == 0 && ceiling == 0 && broken.row == 0)
      level += ln2 / ramp_seconds_max;
    next = later(std::max(next, now - slack), interval);
    return {.sent = now,
            .epoch = epoch,
            .successes = successes,
            .sends = since_cut.sends++,
            .prompt = due || wanted.prompt(now, wait.mean)};
  }

  void on_success(time_point now, sample const& s, fraction) noexcept {
    auto const cost = static_cast<double>(s.sent.cost);
    ++successes;
    units += cost;
    unit += successes == 1 ? cost - unit : (cost - unit) / 20;
    if (broken.succeeded(s.sent.sent))
      next = std::min(next, later(now, from_seconds(unit / pace())));
    if (ease < 1) ease += (1 - ease) * std::min(1.0, cost / (pace() * ease_seconds));
    wanted.heard(now, s, true);
    if (s.sent.epoch == epoch) ++since_cut.successes;
    last.served_out = std::max(last.served_out, s.sent.in_flight);
    auto const known = luck.known();
    if (luck.answered(false, s.sent.sends) && !known && luck.known()) search_anew();
    judge_trial();
    if (shut && s.sent.sent > server.refused) opened(now, s.sent.sent);
    learn_latency(now, s);
    if (!s.app_limited && wait.drained == 0 && trial.share == 0 && binds(now, s) && !wants_little())
      grow(cost);
  }

  void on_throttle(time_point now, sample const& s, resource, fraction u) noexcept {
    ++flight_rejects;
    wanted.heard(now, s, false);
    server.accepted -= static_cast<double>(s.sent.cost);
    auto const doubts = slots ? 0 : luck.doubts();
    auto const test = luck.answered(true, s.sent.sends);
    if (s.sent.epoch != epoch) return;
    if (doubts > 0 && !shut) {
      if (!test && s.sent.sends >= luck.beyond) luck.test(since_cut.sends, level < rest());
      if (!test || luck.refused < doubts) return;
    } else if (test) {
      return;  // of the cut before
    }
    if (wants_little() && !s.capped) {  // a caller at its own ceiling is a busy one
      auto const pause = std::max(2 * unit / pace(), (0.5 + headway::unit(u)) * wanted.pause(now));
      next = std::max(next, later(now, from_seconds(pause)));
      return;
    }
    trial = {};
    ++epoch;
    auto const answered = since_cut.successes;
    auto const accepted = since_cut.cut(s.sent.sends, to_seconds(s.rtt), wait.mean);
    auto const out = s.sent.in_flight;
    if (answered < 3 && std::exchange(warm, false)) return forget(now);
    if (leave > 0 && settled) {  // others are there, or the limit has fallen
      ease = std::max(ease / 2, 0.05);
      ceiling *= 0.99;
      level = std::max(std::min(level, ceiling), rate_min);
      next = std::max(next, later(now, from_seconds(2 * unit / pace())));
      return;
    }
    warm = resumed = false;
    shut_in_a_row = accepted < 3 ? shut_in_a_row + 1 : 0;
    if (touched) touch_rejects += (flight_rejects - touch_rejects) / 4;
    flight_rejects = 0;
    if (!shut) server.shut = server.refused = s.sent.sent;
    if (accepted >= 3) ++server.cuts;
    name_limit(out);
    auto const alike = out == last.out ? last.alike + 1 : 0;
    auto const rate = rate_of(level);
    auto const before = std::exchange(last, {.at = now,
                                             .units = units,
                                             .successes = successes,
                                             .rate = rate,
                                             .out = out,
                                             .alike = alike,
                                             .first_rate = alike > 0 ? last.first_rate : rate,
                                             .served_out = alike > 0 ? last.served_out : 0});
    auto const mean = (units - before.units + unit) / std::max(to_seconds(now - before.at), 1e-6);
    auto const unexpected = !slots && !ramping() && level < below * ceiling;
    if (slots)
      refused_slots(now, accepted, out, before.at);
    else if (accepted < 3 && ceiling > 0) {
      if (!std::exchange(shut, true)) level *= crowd() ? 1 - others.stride() : 0.5;
      server.refused = s.sent.sent;
    } else {
      refused_rate(s, mean, accepted);
      if (accepted >= 20) server.alike = 0;
    }
    if (with.chance && unexpected && doubts == 0 && !shut && !slots && others.crowd() &&
        luck.wants_tests())
      luck.test(since_cut.sends, true);
    level = std::clamp(level, rate_min, rate_max);
    auto const pause = shut ? std::max(unit / pace(), jitter(u) * probe_interval(now))
                            : (slots ? 1 : 2) * unit / pace();
    if (luck.unsent == 0) next = std::max(next, later(now, from_seconds(pause)));
  }

  void on_failure(time_point now, sample const& s, fraction u) noexcept {
    wanted.heard(now, s, false);
    room = std::max(std::min(room, usual_room()), room - 1);
    if (s.sent.epoch == epoch) ++since_cut.failures;
    if (!with.failures) return;
    auto const away = broken.away();
    auto const too_many = broken.failed(now, successes > 0);
    if (!away && broken.away())
      next = std::max(next, later(now, from_seconds(broken.probe_interval(now))));
    if (broken.away()) return;
    judge_trial();
    if (!too_many || trial.share > 0 || s.sent.epoch != epoch) return;
    if (since_cut.successes + since_cut.failures < breakage::row_max) return;  // too few to tell
    belief const before{broken.share,  rate_of(level), level, ceiling,
                        climb_seconds, touched,        guess, slots};
    on_throttle(now, s, resource::unknown, u);
    if (!shut && broken.doubts()) trial = before;
  }

  void on_hint(time_point, hint const&) noexcept {}
  /// Returns since when nothing answers; `never`: something does.
  time_point broken_since() const noexcept { return broken.gone; }
  friend bool operator==(seek const&, seek const&) = default;

  /// Takes back turns that were planned ahead and not used, and what they cost. The next may go
  /// from `from` on, which is `never` where the time of all has passed.
  void take_back(std::uint64_t turns, std::int64_t cost, time_point from) noexcept {
    next = std::min(next, from);
    since_cut.sends -= std::min(turns, since_cut.sends - since_cut.begin);
    server.accepted -= static_cast<double>(cost);
  }

  /// Judges latency anew, since samples were lost.
  void gap(time_point now) noexcept {
    wait.answers = 0;
    wait.block = std::max(wait.block, now);
  }

  /// Returns what the next run may begin with.
  learned knows() const noexcept {
    if (ceiling == 0) return {.rate = successes > 0 ? pace() : 0, .latency = wait.mean};
    return {.rate = rate_of(ceiling), .slots = slots ? ceiling : 0, .latency = wait.mean};
  }

  /// Begins with what an earlier run has learned, trusted less as it ages: half of it after a week.
  /// A refusal before the third success means that the memory is wrong: it is dropped. One that is
  /// too low costs a hundred requests at about its rate.
  void remember(learned const& was, duration age) noexcept {
    if (!(was.rate > 0) || !(was.rate <= rate_max)) return;
    auto const trust = 1 / (1 + std::max(to_seconds(age), 0.0) / (7 * 24 * 3600));
    slots = with.slots && was.slots >= 1 && was.slots <= 1e6 && was.latency > 0;
    if (was.latency > 0 && was.latency < 3600) wait.mean = was.latency;
    ceiling = slots ? was.slots : was.rate;
    level = std::clamp(rest() * (0.5 + 0.5 * trust), rate_min, rate_max);
    climb_seconds = std::max(climb_seconds_first, trust * climb_seconds_slow);
    warm = true;
  }

 private:
  static constexpr double ln2 = 0.6931471805599453;

  /// Begins the search anew.
  void search_anew() noexcept {
    if (slots) level = rate_of(level);
    slots = touched = guess = resumed = shut = settled = false;
    ceiling = 0;
    others = {};
  }

  /// Gives a cut back that the failures outlast.
  void judge_trial() noexcept {
    auto const answers = static_cast<double>(since_cut.successes + since_cut.failures);
    if (trial.share == 0 || answers < breakage::trial) return;
    auto const was = std::exchange(trial, {});
    if (!broken.in_vain(answers, static_cast<double>(since_cut.failures), was.share)) return;
    level = was.level;
    ceiling = was.ceiling;
    climb_seconds = was.climb_seconds;
    touched = was.touched;
    guess = was.guess;
    slots = was.slots;
  }

  double rate_of(double l) const noexcept {
    return slots ? l * unit / std::max(wait.mean, 1e-6) : l;
  }
  double share() const noexcept { return leave > 0 && settled ? (1 - leave) * ease : 1; }
  bool ramping() const noexcept { return level > moved * ceiling && (ceiling == 0 || !crowd()); }
  /// Returns whether others share the limit: the ceiling varies, and not by chance.
  bool crowd() const noexcept {
    return with.company && others.crowd() && (slots || luck.limit() || !with.chance);
  }
  /// Returns whether refusals are not its pace's doing.
  bool wants_little() const noexcept { return with.demand && wanted.is_low(); }
  /// Returns a factor, so that clients that a crowd has shut out do not ask in step.
  double jitter(fraction u) const noexcept { return crowd() ? 0.5 + headway::unit(u) : 1; }
  double rest() const noexcept {
    return slots ? std::max(below * ceiling, ceiling - 1) : below * ceiling;
  }

  /// Returns whether the law, and nothing else, kept more from being sent.
  bool binds(time_point now, sample const& s) const noexcept {
    if (slots) return s.in_flight + 1 >= allowed();
    return now >= later(behind, from_seconds(std::max(wait.mean, behind_seconds)));
  }

  /// Returns the least time of a climb, for its reject to be heard before the next.
  double heard_seconds() const noexcept {
    return std::min(climb_answers * wait.mean, climb_seconds_slow);
  }

  void grow(double cost) noexcept {
    auto const rate = rate_of(level);
    if ((touched || warm) && since_cut.successes >= rare && level >= rest() && !ramping())
      settled = true;
    if (ceiling > 0 && crowd()) {
      auto needed = rate * company::seconds;
      for (auto above = level / ceiling - 1; above > 0; above -= others.stride()) needed /= 2;
      level += others.stride() * ceiling * cost / std::max({needed, rate * wait.mean, unit});
    } else if (ramping()) {
      auto seconds = std::clamp(4 * wait.mean, ramp_seconds_min, ramp_seconds_max);
      if (ceiling > 0) seconds *= known_factor;
      auto const doublings = std::min(wait.mean / seconds, 2.0);
      auto const late = 1 + doublings * (1 + doublings) / 2;  // answers tell of older rates
      auto const answers = guess ? guess_answers : ramp_answers;
      level *= 1 + ln2 * cost / std::max(rate * seconds / late, answers * unit);
    } else if (level < rest()) {
      auto const over = std::max(12 * unit, (resumed ? 1 : 0.3) * rate);
      level += (rest() - level) * cost / over + 1e-4 * ceiling;
    } else if (leave > 0 && settled && level > ceiling) {
      return;  // what is left to others would hide a ceiling far above
    } else {
      auto const measured = touched && !slots;
      auto needed = std::max((touched ? touch_rejects / waste : guessed_answers) * unit,
                             rate_of(ceiling) * std::max(climb_seconds, heard_seconds()));
      auto const needed_min = std::max((measured ? 3 : 8) * unit, rate * wait.mean);
      auto const expected = measured ? 1 : 1 + step;
      for (auto above = level / ceiling - expected; above > 0 && needed > needed_min; above -= step)
        needed /= measured ? haste : 4;  // the expected reject did not come
      level += step * ceiling * cost / std::max(needed, needed_min);
    }
    level = std::min(level, rate_max);
  }

  /// Slots, or a rate? Slots refuse at the same number out, whatever the rate; one that is refused
  /// far below that number is refused for its rate. A few are out at a rate, too: these need three
  /// refusals at exactly as many and nothing accepted at that meanwhile, and one at two fewer is
  /// enough against them.
  void name_limit(int out) noexcept {
    auto const rate = rate_of(level);
    auto const unlike = [&](double other) { return rate > 1.22 * other || other > 1.22 * rate; };
    auto const at_fewer =
        (ceiling <= few_slots && out + 1 < ceiling) || (out < 0.8 * level && out + 2 < level);
    auto const at_as_many = out >= few_slots
                                ? std::abs(out - last.out) <= 0.05 * out && unlike(last.rate)
                                : out >= 2 && out == last.out && last.alike >= 1 &&
                                      unlike(last.first_rate) && last.served_out < out;
    if (slots && (at_fewer || shut_in_a_row >= 3)) {
      level = rate;
      ceiling = rate_of(ceiling);
      slots = false;
    } else if (with.slots && !slots && luck.doubts() == 0 && wait.mean > 0 && at_as_many &&
               successes >= last.successes + 3) {
      slots = true;
      level = ceiling = out;
    }
  }

  void refused_slots(time_point now, std::uint64_t accepted, int out, time_point before) noexcept {
    shut = false;
    if (accepted >= 3) {
      auto const at = std::max(static_cast<double>(out), 0.99 * level);
      met(at, 0.85 * level, accepted);
    } else if (now > later(before, from_seconds(2 * wait.mean))) {
      ceiling = level;
      level /= 2;
      touched = false;
    } else {
      level = std::min(level, out - 1.0);
    }
    level = std::max(level, 1.0);
  }

  /// Takes a refusal by a rate; `mean` is what was accepted per second since the cut before.
  void refused_rate(sample const& s, double mean, std::uint64_t accepted) noexcept {
    if (!ramping()) return met(level, mean, accepted);
    // Of those out, some had left the server before it refused, and some have not reached it.
    auto const half = to_seconds(s.rtt) / 2;
    auto held = s.sent.in_flight - 1.0;
    if (wait.mean > 4 * half)
      held = (held - static_cast<double>(successes - s.sent.successes) / 2) * wait.mean /
             (wait.mean - half);
    if (with.slots && luck.doubts() == 0 && held > 16 &&
        successes >= 12U + static_cast<std::uint64_t>(s.heard)) {
      slots = true;
      touched = false;
      ceiling = held;
      level = below * held;
      return;
    }
    auto const proven = below * ceiling;
    ceiling = level;
    if (std::exchange(guess, false))
      level = std::max(0.8 * level, proven);
    else  // fewer than a hundred may have been a burst, and tell no rate
      level = successes < 100 ? std::min(level / 2, seek{}.level) : std::max(level / 2, proven);
    touched = false;
  }

  /// Takes a ceiling, outside the ramp; `mean` is what was accepted per second since the cut
  /// before, `accepted` how many of those were sent since: the more, the rarer the rejects.
  void met(double at, double mean, std::uint64_t accepted) noexcept {
    if (accepted >= 3) others.met(slots ? at : mean, slots ? at : static_cast<double>(accepted));
    if (crowd()) {
      if (slots) level = rate_of(level);
      slots = false;
      ceiling = level;
      level *= 1 - others.stride();
      touched = true;
      return;
    }
    if (at < 0.9 * ceiling) {
      ceiling = at;
      climb_seconds = 1;
      touched = false;
      level = std::clamp(mean, 0.6 * at, 0.95 * at);
      return;
    }
    if (with.confidence)
      climb_seconds =
          at < ceiling
              ? std::max(climb_seconds_first, climb_seconds / confirmed)
              : std::max(climb_seconds, std::min(slots ? climb_seconds_slow : climb_seconds_max,
                                                 climb_seconds * confirmed));
    // A full bucket lets a climb pass the rate; without a burst the mean is below it.
    auto const low = accepted < rare ? touch_min * at : 0.98 * std::min(at, 1.02 * ceiling);
    ceiling = slots ? at : std::clamp(mean, low, 0.99 * at);
    touched = true;
    if (accepted >= rare) settled = true;
    level = dip * ceiling;
  }

  /// Forgets what a wrong memory said, but not what the caller set.
  void forget(time_point now) noexcept {
    seek fresh{.waste = waste, .leave = leave, .with = with};
    fresh.level = std::min(fresh.level, rate_of(level) / 2);
    fresh.epoch = epoch;
    fresh.since_cut = since_cut;
    fresh.next = std::max(next, later(now, from_seconds(unit / fresh.level)));
    *this = fresh;
  }

  double probe_interval(time_point now) const noexcept {
    auto const patience = 10 / std::sqrt(static_cast<double>(successes + 1));
    auto const since = to_seconds(now - server.shut);
    auto const longest = successes == 0 ? unserved_max : probe_seconds_max;
    return std::min({since * std::clamp(patience, patience_min, patience_max),
                     std::max(probe_seconds, since * patience_min), longest});
  }

  /// Takes the first success after a row of refusals, of a request sent at `sent`. Either the
  /// server has a period (or a rate far below ours), and accepted ÷ cycle is its rate; or it was
  /// away, and is what it was. The first time is taken for a period if nothing was known or refused
  /// before; when it happens again, it is one.
  void opened(time_point now, time_point sent) noexcept {
    shut = false;
    auto const accepted = std::max(server.accepted - unit, unit);
    auto const closed = to_seconds(sent - server.shut);
    auto const least = accepted / std::max(to_seconds(sent - server.began), 1e-6);
    auto const most =
        std::min(accepted / std::max(to_seconds(server.refused - server.began), 1e-6), 4 * least);
    auto const alike = closed > 4 * server.closed ? 1 : server.alike + 1;
    auto const known = touched || (server.cuts > 1 && accepted >= 10 * unit);
    auto const long_enough = accepted <= 2 * unit || closed > 4 * wait.mean;
    server = {.began = sent, .accepted = unit, .closed = closed, .alike = alike};
    if (crowd()) {
      // the others took it, and one's share is what it was
    } else if (with.periods && ((long_enough && !known) || alike >= 2)) {
      auto const few = accepted < 16 * unit;
      climb_seconds = few ? 1 : std::max(climb_seconds, closed);
      if (most < below * level) touched = false;
      auto const highest = successes == 1 && ceiling > 0 ? ceiling : most;
      level = std::clamp(few ? std::sqrt(least * highest) : least, rate_min, rate_max);
      guess = accepted <= 2 * unit;
      ceiling = guess ? level / 1.3 : std::max(most, rate_min);
    } else {
      touched = false;
      resumed = true;
    }
    next = std::min(next, later(now, from_seconds(unit / pace())));
  }

  /// Returns x / unit, without the division where each request costs 1, as most do.
  double per_unit(double x) const noexcept { return unit == 1 ? x : x / unit; }
  double usual_room() const noexcept {
    return 4 + per_unit(2.5 * rate_of(level)) * std::max(wait.mean, latency_min);
  }

  void learn_latency(time_point now, sample const& s) noexcept {
    auto const rtt = to_seconds(s.rtt);
    auto const unheard = s.in_flight - s.heard;
    heard = s.heard;
    if (wait.mean == 0) {
      wait.mean = rtt;
      room = unheard + 4.0;
      if (ceiling == 0)
        level = std::max(level, 0.25 * unit / std::max(rtt, 1e-6));  // a near server
    }
    wait.mean += (rtt - wait.mean) / std::max(20.0, per_unit(rate_of(level)) * wait.mean);
    room = unheard >= room - 1
               ? room + 1
               : std::max(usual_room(), room + (usual_room() - room) / std::max(20.0, room));
    if (with.drain) judge_latency(now, s);
  }

  void judge_latency(time_point now, sample const& s) noexcept {
    bool const draining = wait.drained > 0;
    if (draining && now >= wait.block)
      level = std::max(level, slots ? wait.resume : std::min(wait.resume, 0.97 * wait.delivered));
    if (draining && s.sent.sent < wait.block) return;
    auto const silent = to_seconds(now - std::exchange(wait.answered, now));
    if (silent > 4 * wait.mean && silent > 4 * (wait.mean + unit / pace())) {
      wait.answers = 0;
      if (!draining) wait.block = now;
    }
    auto const rtt = to_seconds(s.rtt);
    wait.lowest = wait.answers == 0 ? rtt : std::min(wait.lowest, rtt);
    ++wait.answers;
    auto const lasted = to_seconds(now - wait.block);
    if (wait.answers < (draining ? 8 : block_answers) || lasted < wait.mean) return;
    auto const delivered = wait.answers * unit / std::max(lasted, 1e-9);
    wait.answers = 0;
    wait.block = now;
    if (draining) {
      auto const ours = wait.drained - wait.lowest > 0.25 * (wait.drained - wait.base);
      wait.drained = 0;
      level = wait.resume;
      if (ours) {
        level = std::min(rate_of(wait.resume), 0.97 * wait.delivered);
        slots = false;
        ceiling = level / below;
        climb_seconds = std::max(climb_seconds, climb_seconds_slow);
      } else {
        wait.base = wait.lowest;
      }
      return;
    }
    auto const before = std::exchange(wait.delivered, delivered);
    if (wait.base == 0) {
      wait.base = wait.lowest;
    } else if (ramping() && !slots && delivered < 1.25 * before &&
               s.in_flight - s.heard > 1.5 * delivered / unit * wait.mean + 8) {
      level = delivered;  // we ramp, what is delivered does not
      drain(now, (s.in_flight - s.heard) * unit / delivered);
    } else if (wait.lowest <= 1.5 * wait.base + std::max(latency_min, wait.mean / 4)) {
      wait.base += (wait.lowest - wait.base) / (wait.lowest < wait.base ? 4 : 32);
      wait.high = 0;
    } else if (++wait.high >= (ramping() ? 1 : 2)) {
      drain(now, wait.lowest);
    }
  }

  /// Sends a quarter for as long as our queue, if it is ours, takes to empty.
  void drain(time_point now, double high) noexcept {
    wait.high = 0;
    wait.drained = high;
    wait.resume = level;
    level /= 4;
    wait.block = later(now, from_seconds((high - wait.base) / 0.75));
  }
};
static_assert(law<seek>);

}  // namespace headway
