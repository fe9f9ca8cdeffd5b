#include "headway/fleet/combine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "headway/fleet/blob.hpp"

namespace headway::fleet {
namespace {

constexpr duration silent_quick = 1s;  // then a member is not live, …
constexpr duration silent_resting = 3500ms;
constexpr duration missed = 350ms;      // reports: it is dealt no turns, and not waited for
constexpr duration away = 500ms;        // without a state: the board was, and not the members, …
constexpr duration away_long = 1min;    // … which coast at half of their share from then on
constexpr duration forgotten = 10min;   // … and then it is none
constexpr duration lead = 1500us;       // no turn is dealt before: the news of it needs a way …
constexpr duration lead_cut = 10ms;     // … and after a cut all are to drop theirs first
constexpr duration leaves_in = 500ms;   // an active member reports on, until its turns are used
constexpr duration old_max = 1min;      // of an event: told after an outage
constexpr duration clock_differs = 2s;  // by so much the engine's clock went back
constexpr std::size_t active_min = 16;  // members in the ring, …
constexpr double active_rate = 20;      // … and one for so many units a second
constexpr std::size_t active_all = 32;  // so many need no ring
constexpr double pooled_permits = 2;    // of an active member, at least
constexpr duration one_more_for = 1s;   // of two whose shares differ by one permit
constexpr duration ahead_ramping = 150ms;  // while the pace doubles: later turns would be too few
constexpr duration first_alone = 250ms;    // the first turn of all
constexpr int early_max = 64;              // refusals that are heard before their time, at once
constexpr std::int64_t unproven_max = 8;   // turns that nothing has answered, …
constexpr std::int64_t unproven_more = 4;  // … and so many for each success, from a memory on
constexpr member_id none = -1;             // of a flight that has ended

std::uint64_t micros_of(time_point t) {
  auto const micros = std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(micros.count(), 0));
}

std::uint64_t number_of(flight const& f) {
  return f.on.number;
}

/// Returns the member of that number, or the end.
auto place_of(auto& members, member_id id) {
  auto const at = std::ranges::lower_bound(members, id, {}, &member_state::id);
  return at != members.end() && at->id == id ? at : members.end();
}

/// Returns how long the news of turns takes to the members, where the first is due after `first`.
duration news_of(state const& s, duration first) {
  return first + s.way + std::min(s.way, 2 * tick);
}

/// Returns whether a row of tests would tell a limit from chance: what a bucket gets back before
/// members hear of the row is less than half of it. Else rows pass that a limit would have refused.
bool tests_chance(state const& s) {
  auto const requests = s.law.pace() / s.law.so_far.unit;
  return requests * to_seconds(news_of(s, lead_cut)) < chance::tests / 2.0;
}

/// Returns a law with the settings of `law` that begins with what that knew, so long ago.
seek with_memory_of(seek const& law, duration age) {
  seek fresh{.waste = law.waste, .leave = law.leave, .with = law.with};
  fresh.remember(law.knows(), age);
  return fresh;
}

/// One step of combine(): the state, and the time.
class step {
 public:
  step(state s, time_point now) : s_(std::move(s)), now_(now) {}

  state run(std::span<report const> reports) {
    if (s_.at > later(now_, clock_differs)) begin_anew();
    s_.law.turn.ahead = true;  // and members tell answers late
    s_.law.with.chance = tests_chance(s_);
    s_.law.with.vacancy = false;  // what is out is not known at the moment that it would go
    // Numbers of turns ascend also where a state was lost: they begin with the clock.
    if (s_.version == 0) s_.dealt = std::max(s_.dealt, micros_of(now_));
    s_.recalled = false;
    std::vector<member_id> were;
    for (auto const& m : s_.members)
      if (m.live) were.push_back(m.id);
    excuse();
    bury();  // what a member sent before it was stopped teaches nothing when it is back
    for (auto const& r : reports) take_in(r);
    if (s_.at != time_point{} && !goes_on(std::move(were), reports)) begin_with_memory();
    std::ranges::stable_sort(s_.pending, {}, [](auto const& p) { return p.what.at; });
    measure();
    bury();
    take_ceilings();
    hear();
    if (s_.held > now_) take_back(now_, [&](turn const& t) { return t.at < s_.held; });
    lapse();
    choose_active();
    share_permits();
    deal();
    s_.law.level = std::min(s_.law.level, seek::rate_max);
    s_.at = now_;
    s_.version = std::max(s_.version + 1, micros_of(now_));
    return std::move(s_);
  }

 private:
  void begin_anew() {
    auto const held = s_.held > s_.at ? later(now_, s_.held - s_.at) : time_point::min();
    s_ = {.version = s_.version, .law = begun_anew(s_.law), .held = held, .dealt = s_.dealt};
  }

  /// Returns whether one of those that were live is there still: after a pause, one that reports.
  bool goes_on(std::vector<member_id> were, std::span<report const> reports) const {
    auto const silent = silent_resting + delay_of(s_.way);
    for (auto const& r : reports)
      if (r.leaves) std::erase(were, r.from);
    if (now_ - s_.at <= silent) return !were.empty();
    return std::ranges::any_of(reports, [&](report const& r) {
      return std::ranges::binary_search(were, r.from) && later(r.at, silent) >= now_;
    });
  }

  /// The first member after a pause begins as a run does that is alone: with what was known.
  void begin_with_memory() {
    for (auto& m : s_.members)
      if (m.live) leave(m);
    s_.flights.clear();
    s_.began.reset();
    s_.law = with_memory_of(s_.law, now_ - s_.at);
  }

  member_state* find(member_id id) {
    auto const at = place_of(s_.members, id);
    return at != s_.members.end() ? &*at : nullptr;
  }

  member_state& member_of(member_id id) {
    auto const at = std::ranges::lower_bound(s_.members, id, {}, &member_state::id);
    if (at != s_.members.end() && at->id == id) return *at;
    return *s_.members.insert(at, {.id = id, .permits = 0});
  }

  // ── reports ─────────────────────────────────────────────────────────────────────────────────

  void take_in(report const& r) {
    if (s_.members.size() >= members_max && find(r.from) == nullptr) return;
    auto& m = member_of(r.from);
    if (r.number <= m.heard) return;  // heard before
    m.heard = r.number;
    m.reported = std::clamp(r.at, std::min(m.reported, now_), now_);
    m.reported = std::max(m.reported, later(now_, -2 * silent_resting));
    m.quick = r.quick;
    m.wants = r.leaves ? 0 : std::clamp(r.wants, 0, wants_max);
    m.cost = std::clamp<std::int64_t>(r.cost, 1, cost_max);
    m.age = std::clamp(r.age, duration(0), ahead_most);
    m.with = {.interval = std::max(r.with.interval, duration(0)),
              .tolerance = std::max(r.with.tolerance, duration(0)),
              .out_max = std::clamp(r.with.out_max, 0, wants_max)};
    s_.held = std::max(s_.held, std::min(r.held, later(now_, hold_max)));
    s_.recalled = s_.recalled || r.refused;
    if (r.lost) {
      s_.law.gap(now_);
      std::erase_if(s_.flights, [&](flight const& f) { return f.of == m.id; });
    }
    for (auto const& e : r.events) take_in(m, e);
    if (r.leaves) leave(m);
  }

  void take_in(member_state& m, event e) {
    e.at = std::min(e.at, now_);
    e.cost = std::clamp<std::int64_t>(e.cost, 1, cost_max);
    e.out = std::clamp(e.out, 0, wants_max);
    e.heard = std::clamp(e.heard, 0, e.out);
    if (e.at < later(now_, -old_max) || s_.pending.size() >= events_max) {
      s_.law.gap(now_);
      return;
    }
    std::optional<turn> on;
    if (e.what == event::kind::sent || e.what == event::kind::paid) {
      auto const at = std::ranges::find(m.planned, e.turn, &turn::number);
      if (at != m.planned.end()) {
        on = *at;
        m.planned.erase(at);
        if (on->withdrawn) charge(*on);  // it was used meanwhile
      }
      if (e.what == event::kind::paid) return;
    }
    s_.pending.push_back({.from = m.id, .what = e, .on = on});
  }

  void leave(member_state& m) {
    take_back_all_of(m);
    m.live = false;
    m.out = m.heads = 0;
    std::erase_if(s_.flights, [&](flight const& f) { return f.of == m.id; });
    m.reported = std::min(m.reported, later(now_, -2 * silent_resting));
    m.wants = 0;
  }

  void take_back_all_of(member_state& m) {
    std::int64_t cost = 0;
    std::uint64_t turns = 0;
    for (auto const& t : m.planned) {
      if (t.withdrawn) continue;
      cost += t.cost;
      ++turns;
      give_back(t);
    }
    s_.law.take_back(turns, cost, never);
    m.planned.clear();
  }

  /// News is heard at the next report, so that its age is that between two of them and the way.
  void measure() {
    s_.way = duration(0);
    for (auto const& m : s_.members)
      if (m.live && m.wants > 0) s_.way = std::max(s_.way, m.age - tick);
  }

  /// While no state was made, members could not be heard: they coast, and those that were present
  /// are until they have had the time to come back. Else the first to be back would be dealt the
  /// turns of all.
  void excuse() {
    auto const paused = now_ - s_.at;
    auto const delay = delay_of(s_.way);
    if (paused <= away + delay || paused >= away_long || s_.version == 0) return;
    for (auto& m : s_.members)
      if (m.live && later(m.reported, missed + delay) >= s_.at)
        m.reported = std::min(later(m.reported, paused), now_);
  }

  /// Returns whether a live member reports as the others do.
  bool present(member_state const& m) const {
    return !m.quick || later(m.reported, missed + delay_of(s_.way)) >= last_report_;
  }

  /// The permits of members that are silent are free, and what they sent teaches nothing.
  void bury() {
    for (auto& m : s_.members) {
      auto const silent = (m.quick ? silent_quick : silent_resting) + delay_of(s_.way);
      auto const live = later(m.reported, silent) >= now_;
      if (m.live && !live) {
        if (m.out > 0) s_.law.gap(now_);
        leave(m);
      }
      m.live = live;
    }
    std::erase_if(s_.members, [&](member_state const& m) {
      return !m.live && later(m.reported, forgotten) < now_;
    });
    for (auto const& m : s_.members) last_report_ = std::max(last_report_, m.reported);
  }

  /// Of live members, the smallest of each kind is that of all.
  void take_ceilings() {
    ceilings least{};
    for (auto const& m : s_.members) {
      if (!m.live) continue;
      auto const& w = m.with;
      if (w.interval > least.interval) {
        least.interval = w.interval;
        least.tolerance = w.tolerance;
      } else if (w.interval == least.interval) {
        least.tolerance = std::min(least.tolerance, w.tolerance);
      }
      if (w.out_max > 0)
        least.out_max = least.out_max > 0 ? std::min(least.out_max, w.out_max) : w.out_max;
    }
    s_.out_max = least.out_max;
    auto const was = s_.ceiling;
    if (least.interval == 0ns) return s_.ceiling.reset();
    if (was && was->interval == least.interval && was->burst_tolerance == least.tolerance) return;
    if (!was || was->interval < least.interval)  // what it has not paid for does not go
      take_back(now_, [](turn const&) { return true; });
    s_.ceiling = gcra{.interval = least.interval,
                      .burst_tolerance = least.tolerance,
                      .tat = was ? was->tat : now_};
    s_.charged_from = s_.dealt + 1;
  }

  // ── what the law hears ──────────────────────────────────────────────────────────────────────

  /// Until when all that the law can hear has been reported, but for what a member that may be dead
  /// has not.
  time_point watermark() const {
    auto until = now_;
    for (auto const& m : s_.members) {
      auto const due = !m.planned.empty() && m.planned.front().at <= now_;
      if (m.live && present(m) && (m.out > 0 || due)) until = std::min(until, m.reported);
    }
    return until;
  }

  void hear() {
    auto const until = watermark();
    for (auto const& m : s_.members) {
      out_ += m.out;
      heads_ += m.heads;
    }
    int early = early_max;
    for (auto& p : s_.pending)
      if (p.what.what == event::kind::throttle && p.what.at > until && !p.told && --early >= 0)
        refused_early(p);
    std::size_t heard = 0;
    for (; heard < s_.pending.size() && s_.pending[heard].what.at <= until; ++heard)
      hear(s_.pending[heard]);
    s_.pending.erase(s_.pending.begin(), s_.pending.begin() + static_cast<std::ptrdiff_t>(heard));
    if (told_) obey(told_->first, told_->second);
    std::erase_if(s_.flights, [&](flight const& f) {
      auto const* const m = f.of == none ? nullptr : find(f.of);
      return m == nullptr || m->out == 0;
    });
    if (s_.flights.size() > events_max)
      s_.flights.erase(s_.flights.begin(), s_.flights.end() - std::ptrdiff_t{events_max});
  }

  void holds(member_state& m, int out, int heads) {
    out_ += out - m.out;
    heads_ += heads - m.heads;
    m.out = out;
    m.heads = heads;
  }

  auto flight_of(std::uint64_t number) {
    auto const at = std::ranges::lower_bound(s_.flights, number, {}, number_of);
    return at != s_.flights.end() && at->on.number == number && at->of != none ? at
                                                                               : s_.flights.end();
  }

  void went(state::pending_event const& p) {
    if (!p.on) return;  // of a turn that is not known
    flight f{.of = p.from,
             .on = *p.on,
             .sent = p.what.at,
             .out = out_,
             .successes = s_.law.so_far.successes};
    f.on.cost = p.what.cost;
    s_.flights.insert(std::ranges::lower_bound(s_.flights, f.on.number, {}, number_of), f);
  }

  void hear(state::pending_event const& p) {
    auto* const m = find(p.from);
    if (m == nullptr || !m->live) return;
    auto const& e = p.what;
    if (e.what == event::kind::sent || e.what == event::kind::out) {
      holds(*m, e.out, e.heard);
      if (e.what == event::kind::sent) went(p);
      return;
    }
    holds(*m, e.out, e.heard);
    if (e.turn == 0 && e.what == event::kind::success)
      return s_.law.so_far.succeed(static_cast<double>(e.cost));
    auto const at = flight_of(e.turn);
    if (at == s_.flights.end() || at->of != p.from) return;
    auto const f = *at;
    at->of = none;
    if (e.remaining && e.reset && f.on.number >= s_.remaining_as_of) {
      s_.remaining_as_of = f.on.number;  // a later request's answer knows more
      told_ = {e, f};
    }
    if (!p.told) tell(e, f, out_, heads_);
  }

  /// Returns what each live member has out at `t`, as far as it has reported.
  std::vector<std::int32_t> outs_at(time_point t) const {
    std::vector<std::int32_t> outs;
    for (auto const& m : s_.members) outs.push_back(m.out);
    for (auto const& p : s_.pending) {
      if (p.what.at > t) break;
      if (auto const m = place_of(s_.members, p.from); m != s_.members.end() && m->live)
        outs[static_cast<std::size_t>(m - s_.members.begin())] = p.what.out;
    }
    return outs;
  }

  /// Returns what all have out at `t`. One that has not reported by then is taken to have used its
  /// turns since, which wait for no permit, and all that it has out to take as long as an answer.
  int out_at(time_point t) const {
    auto outs = outs_at(t);
    auto const answer = from_seconds(s_.law.wait.mean);
    auto const since = [&](member_state const& m, time_point at) {
      return m.reported < at && at <= t;
    };
    auto const ends = [&](member_id of, time_point sent) {
      if (later(sent, answer) > t) return;
      auto const m = place_of(s_.members, of);
      if (m != s_.members.end() && since(*m, later(sent, answer)))
        --outs[static_cast<std::size_t>(m - s_.members.begin())];
    };
    if (answer > 0ns && !permits_bind()) {
      for (auto const& f : s_.flights) ends(f.of, f.sent);
      for (auto const& p : s_.pending)
        if (p.on) ends(p.from, p.what.at);
      for (std::size_t i = 0; i < outs.size(); ++i) {
        auto const& m = s_.members[i];
        outs[i] = std::max(outs[i], 0);
        if (!m.live) continue;
        outs[i] += static_cast<std::int32_t>(std::ranges::count_if(m.planned, [&](turn const& p) {
          return !p.withdrawn && since(m, p.at) && later(p.at, answer) > t;
        }));
      }
    }
    return std::accumulate(outs.begin(), outs.end(), 0);
  }

  /// Hears a refusal before its time: what is out by then is counted from what is known.
  void refused_early(state::pending_event& p) {
    // … and so are the successes since it went, of which the law knows only those before these.
    auto const unheard_at = [&](time_point t) {
      return static_cast<std::uint64_t>(std::ranges::count_if(s_.pending, [&](auto const& q) {
        return q.what.at <= t && q.what.what == event::kind::success;
      }));
    };
    auto const tell_early = [&](flight f) {
      f.successes -= std::min(f.successes, unheard_at(p.what.at));
      tell(p.what, f, out_at(p.what.at), heads_);
    };
    p.told = true;
    if (auto const at = flight_of(p.what.turn); at != s_.flights.end()) return tell_early(*at);
    for (auto const& q : s_.pending)
      if (q.on && q.on->number == p.what.turn && q.from == p.from)
        return tell_early({.of = p.from,
                           .on = *q.on,
                           .sent = q.what.at,
                           .out = out_at(q.what.at),
                           .successes = s_.law.so_far.successes + unheard_at(q.what.at)});
  }

  void obey(event const& e, flight const& f) {
    auto const rtt = e.at - f.sent;
    auto const left = std::max<std::int64_t>(*e.remaining, 0);
    s_.resets = later(e.at, std::clamp(*e.reset, duration(0), hold_max));
    if (*e.reset <= 2 * rtt || s_.resets <= now_) {
      s_.remaining.reset();
      return;
    }
    std::int64_t since = 0;  // dealt after it, and not answered
    for (auto const& m : s_.members)
      for (auto const& t : m.planned)
        if (!t.withdrawn) since += t.cost;
    for (auto const& q : s_.pending)
      if (q.on && q.what.at > e.at) since += q.what.cost;
    for (auto const& other : s_.flights)
      if (other.of != none && other.on.number > f.on.number) since += other.on.cost;
    s_.remaining = left - std::min(left, since);
  }

  /// Permits that are dealt to members are taken, though one may wait for a turn: else a law of
  /// slots would never see its permits bind, and not ask for more.
  int parted(event const& e) const {
    return s_.law.top.slots && !e.idle ? static_cast<int>(std::min(s_.law.allowed(), 1e6)) : 0;
  }

  void tell(event const& e, flight const& f, int out, int heads) {
    bool const before_cut = e.at < s_.law.last.at;  // heard after it: nothing grows by that
    sample const s{.sent = {.sent = f.sent,
                            .epoch = f.on.epoch,
                            .successes = f.successes,
                            .sends = f.on.sends,
                            .in_flight = std::max(f.out, 1),
                            .paced = f.on.paced,
                            .prompt = f.on.prompt,
                            .cost = f.on.cost},
                   .in_flight = std::max({out, 1, parted(e)}),
                   .rtt = std::max(e.at - f.sent, duration(0)),
                   .app_limited = before_cut || e.app_limited || (e.idle && !f.on.paced),
                   .capped = before_cut || e.capped,
                   .heard = heads};
    auto const u = mix(f.on.number);
    auto const hear = [&] {
      if (e.what == event::kind::success)
        s_.law.on_success(e.at, s, u);
      else if (e.what == event::kind::throttle)
        s_.law.on_throttle(e.at, s, e.short_of, u);
      else
        s_.law.on_failure(e.at, s, u);
    };
    auto const before = s_.law;
    hear();
    bool const cut = s_.law.so_far.epoch != before.so_far.epoch;
    if (!cut && s_.law.luck.row.unsent <= before.luck.row.unsent) return;
    cut_ = true;
    s_.law = before;  // the cut is one of what has gone, not of what is planned; a row goes at once
    s_.recalled = s_.recalled || !cut;
    auto const from = cut ? e.at : later(now_, news_of(s_, lead_cut));
    take_back(from, [&](turn const& t) { return cut || t.at >= from; });
    hear();
  }

  /// Takes back planned turns, as far as nothing is known to have gone on them.
  template <class Which>
  void take_back(time_point at, Which which) {
    for (auto& m : s_.members) take_back(at, m, which);
  }

  /// The same, of one member.
  template <class Which>
  void take_back(time_point at, member_state& m, Which which) {
    std::int64_t cost = 0;
    std::uint64_t turns = 0;
    for (auto& t : m.planned) {
      if (t.withdrawn || !which(t)) continue;
      t.withdrawn = true;
      cost += t.cost;
      ++turns;
      give_back(t);
    }
    if (turns > 0) s_.law.take_back(turns, cost, at);
  }

  void give_back(turn const& t) {
    if (s_.remaining) *s_.remaining += t.cost;
    if (s_.ceiling && t.number >= s_.charged_from) s_.ceiling->give_back(now_, t.cost);
  }

  void charge(turn const& t) {
    s_.law.server.sent(now_, static_cast<double>(t.cost));
    if (s_.remaining) *s_.remaining -= t.cost;
    if (s_.ceiling) s_.ceiling->take(now_, t.cost);
  }

  /// What a member has not used in time it will not use.
  void lapse() {
    auto const late = s_.law.top.slots ? late_slots : late_max;
    std::int64_t cost = 0;
    std::uint64_t turns = 0;
    for (auto& m : s_.members)
      std::erase_if(m.planned, [&](turn const& t) {
        if (later(t.at, late) >= std::min(m.reported, now_)) return false;
        if (!t.withdrawn) cost += t.cost, ++turns;
        return true;
      });
    if (turns == 0) return;
    s_.law.take_back(turns, cost, never);
    if (s_.remaining) *s_.remaining += cost;
  }

  // ── turns ───────────────────────────────────────────────────────────────────────────────────

  /// The first members that want, from the front of the ring on, are active; those after them are
  /// to report ten times a second, so that they are ready when their term comes.
  void choose_active() {
    std::vector<std::size_t> ring, were_active;
    s_.live = 0;
    for (std::size_t i = 0; i < s_.members.size(); ++i) {
      auto& m = s_.members[i];
      if (std::exchange(m.active, false)) were_active.push_back(i);
      s_.live += m.live;
      if (m.live && m.wants > 0) ring.push_back(i);
    }
    s_.sharing = static_cast<std::int32_t>(ring.size());
    if (ring.empty()) return;
    auto const all = ring.size();
    auto const first =
        std::ranges::lower_bound(ring, s_.front, {}, [&](auto i) { return s_.members[i].id; });
    std::rotate(ring.begin(), first == ring.end() ? ring.begin() : first, ring.end());
    auto many = all;
    if (all > active_all) {
      auto const paced = static_cast<std::size_t>(std::min(s_.law.pace() / active_rate, 1e6));
      many = std::clamp(paced, active_min, all);
    }
    if (s_.law.top.slots)  // one that has few permits cannot use a turn while they are out
      many = std::min(many, std::max<std::size_t>(
                                1, static_cast<std::size_t>(s_.law.allowed() / pooled_permits)));
    if (many < all) slide(ring, many);
    auto const next = many + many / 4 + 1;  // these are active within a quarter of a term
    for (std::size_t k = 0; k < std::min(all, next); ++k) {
      auto& m = s_.members[ring[k]];
      m.quick_until = later(now_, leaves_in);
      m.active = k < many;
    }
    if (s_.law.top.slots)
      for (auto const i : were_active)
        if (!s_.members[i].active) hand_over(s_.members[i]);
  }

  /// Takes back the turns of a member whose term has ended that would be late, since it has no
  /// permits for them: those that come next have its permits as soon as its last turn is used.
  void hand_over(member_state& m) {
    auto const answer = std::max(s_.law.wait.mean, 1e-3);
    auto keeps = static_cast<std::int64_t>(m.permits * to_seconds(ahead) / answer);
    take_back(never, m, [&](turn const&) { return keeps-- <= 0; });
  }

  /// Lets as many members leave the front of the ring as had their term, one after the other: if
  /// all left at once, what they still have out would keep the permits of the next.
  void slide(std::vector<std::size_t>& ring, std::size_t many) {
    auto const term = term_of(s_);
    auto const each = term / static_cast<std::int64_t>(many);
    if (s_.term < later(now_, -term) || s_.term > now_) s_.term = later(now_, -each);
    auto const gone = std::min<std::int64_t>((now_ - s_.term) / each, std::ssize(ring));
    s_.term += gone * each;
    std::rotate(ring.begin(), ring.begin() + gone, ring.end());
    s_.front = s_.members[ring.front()].id;
  }

  /// Returns how many turns it has.
  static std::int32_t turns_of(member_state const& m) {
    return static_cast<std::int32_t>(std::ranges::count(m.planned, false, &turn::withdrawn));
  }

  bool permits_bind() const { return s_.law.top.slots || s_.out_max > 0; }

  /// No member has more than its share of what may be out.
  void share_permits() {
    auto allowed = std::min(s_.law.allowed(), 1e6);
    if (s_.out_max > 0) allowed = std::min(allowed, static_cast<double>(s_.out_max));
    auto const binds = permits_bind();
    auto left = static_cast<std::int64_t>(allowed);
    std::int64_t sharing = 0;
    due_.assign(s_.members.size(), 0);
    auto const outs = binds ? outs_at(now_) : std::vector<std::int32_t>{};
    for (std::size_t i = 0; i < s_.members.size(); ++i) {
      auto& m = s_.members[i];
      if (m.active) {
        ++sharing;
      } else if (binds) {  // after its term, it uses the turns that it has
        m.permits = std::min(std::max(m.permits, outs[i]), outs[i] + turns_of(m));
        left -= m.permits;
      }
    }
    if (sharing == 0) return;
    if (!binds) {  // equal shares of what is not answered; what is read besides is each one's own
      auto const unheard = std::max(allowed - static_cast<double>(s_.law.wait.heard), 1.0);
      auto const share =
          static_cast<std::int32_t>(std::ceil(unheard / static_cast<double>(sharing)));
      for (std::size_t i = 0; i < s_.members.size(); ++i) {
        auto& m = s_.members[i];  // after its term, it uses the turns that it has
        m.permits = m.active || !m.planned.empty() ? share + m.heads : 0;
        due_[i] = m.permits;
      }
      return;
    }
    // Equal shares of whole permits; the odd one goes round. What one has above
    // its share, or had until now and may not have heard, is taken from those of the others.
    auto const all = static_cast<std::int64_t>(allowed);
    auto place = now_.time_since_epoch() / one_more_for % sharing;
    std::int64_t above = all - std::max<std::int64_t>(left, 0);
    std::vector<std::pair<std::int64_t, std::size_t>> gains;
    for (std::size_t i = 0; i < s_.members.size(); ++i) {
      auto& m = s_.members[i];
      if (!m.active) continue;
      auto const due = std::min<std::int64_t>(all / sharing + (place < all % sharing), wants_max);
      due_[i] = static_cast<std::int32_t>(due);
      place = (place + 1) % sharing;
      above +=
          std::max<std::int64_t>({outs[i] - due, std::min<std::int64_t>(m.permits - due, 1), 0});
      gains.emplace_back(due - m.permits, i);
      m.permits = static_cast<std::int32_t>(due);
    }
    std::ranges::stable_sort(gains, std::greater{}, [](auto const& g) { return g.first; });
    for (auto const& [gain, i] : gains) {
      auto& m = s_.members[i];
      auto const lent = std::clamp<std::int64_t>(m.permits - outs[i], 0, above);
      m.permits -= static_cast<std::int32_t>(lent);
      above -= lent;
      if (!s_.law.top.slots) due_[i] = m.permits;  // no turn waits for a permit
    }
  }

  void deal() {
    auto const near = s_.law.top.at == 0 ? std::min(ahead, ahead_ramping + s_.way) : ahead;
    auto const until = later(now_, near + delay_of(s_.way));
    auto const first = s_.law.wait.mean == 0 && s_.law.so_far.epoch == 0;
    if (first && s_.began && now_ < later(*s_.began, first_alone)) return;
    struct dealt_to {
      member_state* m;
      std::int32_t has, may;  // turns that it has, and may still get
      std::int32_t due;       // permits
    };
    std::vector<dealt_to> ring;
    for (std::size_t i = 0; i < s_.members.size(); ++i) {
      auto& m = s_.members[i];
      if (!m.active || !m.quick || due_[i] == 0 || !present(m)) continue;
      auto const has = turns_of(m);
      if (m.wants > has) ring.push_back({&m, has, m.wants - has, due_[i]});
    }
    auto const last =
        std::ranges::upper_bound(ring, s_.last, {}, [](auto const& r) { return r.m->id; });
    std::rotate(ring.begin(), last, ring.end());
    // Where permits bind, one that has more of them uses up its turns sooner, and needs more.
    auto const after = [](dealt_to const& a, dealt_to const& b) {
      return std::int64_t{a.has + 1} * b.due > std::int64_t{b.has + 1} * a.due;
    };
    auto const by_permits = permits_bind();
    if (by_permits) std::ranges::make_heap(ring, after);
    std::size_t next = 0;
    auto const most = turns_may();
    for (std::int64_t turns = 0; !ring.empty() && turns < most; ++turns) {
      if (by_permits) {
        std::ranges::pop_heap(ring, after);
        next = ring.size() - 1;
      } else if (next >= ring.size()) {
        next = 0;
      }
      auto& to = ring[next];
      auto const t = ready(to.m->cost);
      if (t > until) return;
      plan(*to.m, t);
      ++to.has;
      if (--to.may == 0)
        ring.erase(ring.begin() + static_cast<std::ptrdiff_t>(next));
      else if (by_permits)
        std::ranges::push_heap(ring, after);
      else
        ++next;
      if (!std::exchange(s_.began, s_.began.value_or(now_)) && first) return;
    }
  }

  /// Returns how many turns may be dealt. What is remembered may be wrong by a factor, and what
  /// goes before that is heard is in vain.
  std::int64_t turns_may() const {
    std::int64_t most = turns_max;
    if (!s_.law.top.warm || permits_bind()) return most;
    most = std::min(
        most, unproven_max + unproven_more * static_cast<std::int64_t>(s_.law.so_far.successes));
    for (auto const& m : s_.members) most -= turns_of(m);
    most -= std::ranges::count_if(s_.flights, [](flight const& f) { return f.of != none; });
    return most - std::ranges::count_if(s_.pending, [](auto const& p) { return p.on.has_value(); });
  }

  time_point ready(std::int64_t cost) const {
    auto const news = news_of(s_, cut_ ? lead_cut : lead);
    auto t = std::max({s_.law.ready_at(cost), s_.held, later(now_, news)});
    if (s_.ceiling)
      t = std::max(t, s_.ceiling->ready_at(std::min<std::int64_t>(
                          cost, 1 + s_.ceiling->burst_tolerance / s_.ceiling->interval)));
    if (s_.remaining && *s_.remaining < cost && t < s_.resets) t = s_.resets;
    return t;
  }

  void plan(member_state& m, time_point at) {
    auto const paced = s_.law.ready_at(m.cost) >= at;
    if (s_.ceiling) s_.ceiling->take(at, m.cost);
    if (at >= s_.resets) s_.remaining.reset();
    if (s_.remaining) *s_.remaining -= m.cost;
    ++s_.dealt;
    auto const noted = s_.law.take(at, m.cost, mix(~s_.dealt));
    m.planned.push_back({.number = s_.dealt,
                         .at = at,
                         .cost = m.cost,
                         .epoch = noted.epoch,
                         .sends = noted.sends,
                         .paced = paced,
                         .prompt = noted.prompt});
    s_.last = m.id;
  }

  state s_;
  time_point now_;
  time_point last_report_ = time_point::min();
  bool cut_ = false;                 // in this step
  int out_ = 0, heads_ = 0;          // of all members
  std::vector<std::int32_t> due_{};  // permits of each, once those before it are back
  std::optional<std::pair<event, flight>> told_{};  // the latest request whose answer told a rest
};

}  // namespace

seek begun_anew(seek const& law) {
  return with_memory_of(law, 0s);
}

state combine(state before, std::span<report const> reports, time_point now) {
  return step(std::move(before), now).run(reports);
}

grant grant_of(state const& s, member_id to) {
  grant g{.version = s.version,
          .at = s.at,
          .slots = s.law.top.slots,
          .members = s.live,
          .sharing = std::max(s.sharing, 1),
          .pace = s.law.pace(),
          .epoch = s.law.so_far.epoch,
          .held = s.held,
          .law = s.law};
  auto const m = place_of(s.members, to);
  if (m == s.members.end()) return g;
  g.permits = m->permits;
  g.quick = m->quick_until >= s.at || m->out > 0 || !m->planned.empty();
  for (auto const& t : m->planned)
    if (!t.withdrawn) g.turns.push_back(t);
  return g;
}

std::vector<member_id> to_wake(state const& s, state const& before, time_point now) {
  std::vector<member_id> ids;
  for (auto const& m : s.members) {
    auto const was = place_of(before.members, m.id);
    auto const there = was != before.members.end();
    auto const known = there && !was->planned.empty() ? was->planned.back().number : 0;
    auto const comes_soon = [&](turn const& t) {
      return t.number > known && !t.withdrawn && t.at < later(now, near_turn + s.way);
    };
    auto const next = m.quick_until >= s.at && !m.quick && (!there || was->quick_until < before.at);
    auto const cut = m.quick && (s.recalled || s.law.so_far.epoch != before.law.so_far.epoch);
    auto const permitted =
        s.law.top.slots && there && m.permits > was->permits && !m.planned.empty();
    if (next || cut || permitted || std::ranges::any_of(m.planned, comes_soon)) ids.push_back(m.id);
  }
  return ids;
}

}  // namespace headway::fleet
