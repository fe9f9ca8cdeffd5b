#include "headway/fleet/blob.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "law_layout.hpp"

namespace headway::fleet {
namespace {

constexpr double real_max = 1e18;
constexpr std::int64_t count_max = 1'000'000'000;
constexpr std::int64_t money_max = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t permits_max = 1'000'000;
constexpr duration ahead_max = 48h;  // of a time that something waits for

constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t code) noexcept {
  return code >> 1 ^ ((code & 1U) != 0 ? ~std::uint64_t{0} : 0);
}

/// What the two directions have in common: the last values, from which the next ones differ little.
struct context {
  time_point base{};
  turn last{};
};

/// Writes what fields() names; a number that is out of its range as the nearest one.
class writer : public context {
 public:
  template <class T>
  using as = T const;

  explicit writer(std::string& to) : to_(to) {}

  void code(std::uint64_t x) {
    for (; x >= 0x80; x >>= 7) byte(x | 0x80);
    byte(x);
  }
  void count(std::uint64_t x, std::uint64_t near = 0) { code(zigzag(x - near)); }
  template <class T>
  void whole(T x, std::int64_t least, std::int64_t most) {
    code(zigzag(static_cast<std::uint64_t>(std::clamp(std::int64_t{x}, least, most))));
  }
  template <class T>
  void choice(T x, T) {
    byte(static_cast<std::uint64_t>(x));
  }
  template <class... Flags>
  void flags(Flags... each) {
    std::uint64_t bits = 0;
    int at = 0;
    ((bits |= std::uint64_t{each} << at++), ...);
    byte(bits);
  }
  void real(double x, double = 0, double = 0) {
    auto const bits = std::bit_cast<std::uint64_t>(x);
    for (int at = 0; at < 64; at += 8) byte(bits >> at);
  }
  void span(duration d, duration least = duration::min()) { count(bits(std::max(d, least))); }
  void time(time_point t, duration = {}) {
    count(bits(t.time_since_epoch()), bits(base.time_since_epoch()));
  }
  void moment(time_point t, bool = false) { time(t); }
  template <class T, class F>
  void maybe(std::optional<T> const& x, F f) {
    flags(x.has_value());
    if (x) f(*x);
  }
  template <class T, class F>
  void list(std::vector<T> const& all, std::size_t, F f) {
    code(all.size());
    for (auto const& each : all) f(each);
  }
  void require(bool) {}

 private:
  static std::uint64_t bits(duration d) { return static_cast<std::uint64_t>(d.count()); }
  void byte(std::uint64_t x) { to_.push_back(static_cast<char>(x & 0xff)); }
  std::string& to_;
};

/// Reads the same, and says whether all of it was there and in range.
class reader : public context {
 public:
  template <class T>
  using as = T;

  explicit reader(std::string_view from) : from_(from) {}

  void require(bool holds) { good_ = good_ && holds; }
  bool good() const { return good_; }
  bool done() const { return good_ && from_.empty(); }
  std::string_view rest() const { return good_ ? from_ : std::string_view(); }

  std::uint64_t code() {
    std::uint64_t x = 0;
    for (int at = 0; at < 70; at += 7) {
      auto const next = byte();
      require(at < 63 || next < 2);
      x |= (next & 0x7f) << at;
      if (next >= 0x80) continue;
      require(next > 0 || at == 0);  // no longer than it need be
      return x;
    }
    require(false);
    return 0;
  }
  void count(std::uint64_t& x, std::uint64_t near = 0) { x = unzigzag(code()) + near; }
  template <class T>
  void whole(T& x, std::int64_t least, std::int64_t most) {
    auto const value = static_cast<std::int64_t>(unzigzag(code()));
    require(value >= least && value <= most);
    x = static_cast<T>(good_ ? value : 0);
  }
  template <class T>
  void choice(T& x, T most) {
    auto const value = byte();
    require(value <= static_cast<std::uint64_t>(most));
    x = good_ ? static_cast<T>(value) : T{};
  }
  template <class... Flags>
  void flags(Flags&... each) {
    auto bits = byte();
    ((each = (bits & 1U) != 0, bits >>= 1), ...);
    require(bits == 0);
  }
  void real(double& x, double least = -real_max, double most = real_max) {
    std::uint64_t bits = 0;
    for (int at = 0; at < 64; at += 8) bits |= byte() << at;
    x = std::bit_cast<double>(bits);
    require(x >= least && x <= most);  // false of what is not a number
  }
  void span(duration& d, duration least = duration::min()) {
    std::uint64_t bits = 0;
    count(bits);
    d = duration(static_cast<std::int64_t>(bits));
    require(d >= least);
  }
  /// `most`: it may be so much later than the base; without, at any time.
  void time(time_point& t, duration most = duration::max()) {
    std::uint64_t bits = 0;
    count(bits, static_cast<std::uint64_t>(base.time_since_epoch().count()));
    t = time_point(duration(static_cast<std::int64_t>(bits)));
    require(most == duration::max() || t <= later(base, most));
  }
  /// One that a law reckons with.
  void moment(time_point& t, bool may_never_come = false) {
    time(t);
    require((t >= time_point{} && t <= later(base, ahead_max)) || (may_never_come && t == never));
  }
  template <class T, class F>
  void maybe(std::optional<T>& x, F f) {
    bool there = false;
    flags(there);
    x.reset();
    if (there) f(x.emplace());
  }
  template <class T, class F>
  void list(std::vector<T>& all, std::size_t most, F f) {
    auto const size = code();
    require(size <= most && size <= from_.size());  // each takes a byte or more
    all.clear();
    for (std::uint64_t i = 0; i < size && good_; ++i) f(all.emplace_back());
  }

 private:
  std::uint64_t byte() {
    require(!from_.empty());
    if (!good_) return 0;
    auto const first = static_cast<unsigned char>(from_.front());
    from_.remove_prefix(1);
    return first;
  }
  std::string_view from_;
  bool good_ = true;
};

// ── the fields, once for both directions ──────────────────────────────────────────────────────
//
// A binding for each member of a struct: one that is added does not compile before it is named.

template <class C>
void fields(C& c, typename C::template as<turn>& t) {
  auto& [number, at, cost, epoch, sends, paced, prompt, withdrawn] = t;
  c.count(number, c.last.number);
  c.time(at);
  c.whole(cost, 1, cost_max);
  c.count(epoch, c.last.epoch);
  c.count(sends, c.last.sends);
  c.flags(paced, prompt, withdrawn);
  c.last = t;
}

template <class C>
void fields(C& c, typename C::template as<event>& e) {
  auto& [what, short_of, app_limited, capped, idle, out, heard, number, at, cost, remaining,
         reset] = e;
  c.choice(what, event::kind::out);
  c.choice(short_of, resource::quota);
  c.flags(app_limited, capped, idle);
  c.whole(out, 0, permits_max);
  c.whole(heard, 0, permits_max);
  c.count(number, c.last.number);
  c.last.number = number;
  c.time(at);
  c.whole(cost, 1, cost_max);
  c.maybe(remaining, [&](auto& x) { c.whole(x, -money_max, money_max); });
  c.maybe(reset, [&](auto& x) { c.span(x); });
}

template <class C>
void fields(C& c, typename C::template as<ceilings>& x) {
  auto& [interval, tolerance, out_max] = x;
  c.span(interval, 0ns);
  c.span(tolerance, 0ns);
  c.whole(out_max, 0, permits_max);
}

template <class C>
void fields(C& c, typename C::template as<report>& r) {
  auto& [from, number, at, events, wants, cost, quick, leaves, refused, held, lost, with, age] = r;
  c.whole(from, 0, std::numeric_limits<member_id>::max());
  c.count(number);
  c.time(at);
  c.base = at;
  c.list(events, events_max, [&](auto& e) { fields(c, e); });
  c.whole(wants, 0, permits_max);
  c.whole(cost, 1, cost_max);
  c.flags(quick, leaves, lost);
  c.maybe(refused, [&](auto& x) { c.count(x); });
  c.time(held);
  fields(c, with);
  c.span(age, 0ns);
}

template <class C>
void fields(C& c, typename C::template as<acceptances>& x) {
  auto& [sends, begin, successes, failures, refusals] = x;
  c.count(sends);
  c.count(begin);
  c.count(successes);
  c.count(failures);
  c.count(refusals);
}

template <class C>
void fields(C& c, typename C::template as<breakage>& x) {
  auto& [share, lately, usual, stubborn, safe, odds, answers, limit, told, asked, row, back, lasted,
         gone, alone] = x;
  c.real(share, 0, 1);
  c.real(lately, 0, 1);
  c.real(usual, 0, 1);
  c.real(stubborn, 0, 1);
  c.real(safe);
  c.real(odds, 0, breakage::helps_odds);
  c.whole(answers, 0, count_max);
  c.flags(limit);
  c.flags(told);
  c.flags(asked);
  c.whole(row, 0, count_max);
  c.moment(back);
  c.span(lasted, 0ns);
  c.moment(gone, true);
  c.flags(alone);
}

template <class C>
void fields(C& c, typename C::template as<test_row>& x) {
  auto& [unsent, refused, heard, what, gap, first, beyond] = x;
  c.whole(unsent, 0, depth::faster_tests);
  c.whole(refused, 0, count_max);  // a test whose turn was taken back may go, and another, too
  c.whole(heard, 0, count_max);
  c.choice(what, test_row::asks::pace);
  c.real(gap);
  c.count(first);
  c.count(beyond);
}

template <class C>
void fields(C& c, typename C::template as<depth>& x) {
  auto& [most, alike, limit, tests, refused, found, rate] = x;
  c.whole(most, 0, chance::tests);
  c.real(alike, 0, depth::row_for * depth::four_alike);
  c.real(limit, 0, depth::certain_limit);
  c.whole(tests, 0, count_max);
  c.whole(refused, 0, count_max);
  c.flags(found);
  c.real(rate);
}

template <class C>
void fields(C& c, typename C::template as<mixture>& x) {
  auto& [passed, found, asked] = x;
  c.whole(passed, 0, mixture::proof);
  c.flags(found);
  c.whole(asked, 0, mixture::whole - 1);
}

template <class C>
void fields(C& c, typename C::template as<chance>& x) {
  auto& [share, answers, odds, usual, ceiling, before, highest, repeats, unheard, low, row, mixed,
         saves] = x;
  c.real(share, 0, 1);
  c.real(answers, 0, chance::smoothing);
  c.real(odds, 0, 1 + chance::odds_max);
  c.real(usual, 0, 1);
  c.real(ceiling);
  c.real(before, 0, 1);
  c.real(highest);
  c.whole(repeats, 0, count_max);
  c.whole(unheard, 0, count_max);
  c.whole(low, 0, count_max);
  fields(c, row);
  fields(c, mixed);
  fields(c, saves);
}

template <class C>
void fields(C& c, typename C::template as<company::ceilings>& x) {
  auto& [found, error, variation] = x;
  c.real(found);
  c.real(error);
  c.real(variation);
}

template <class C>
void fields(C& c, typename C::template as<company>& x) {
  auto& [all, lasting, brief, shown, told, few, few_seconds, window] = x;
  fields(c, all);
  fields(c, lasting);
  c.flags(brief, shown);
  c.real(window.seconds, 0);
  c.real(window.units);
  c.whole(window.step, 0, 2);
  c.real(window.length, 0);
  c.whole(window.even, 0, spurt::most);
  c.whole(window.equal, 0, spurt::most);
  c.real(told, 0);
  c.real(few, 0);
  c.real(few_seconds, 0);
}

template <class C>
void fields(C& c, typename C::template as<excess>& x) {
  auto& [now, since, accepted, rows, seconds, variance, share, rounds, odds, heard, due, pause] = x;
  c.choice(now, excess::at::own);
  c.moment(since);
  c.whole(accepted, 0, excess::accepted_max);
  c.whole(rows, 0, excess::rows_max);
  c.real(seconds, 0);
  c.real(variance, 0);
  c.real(share, 0, 1);
  c.whole(rounds, 0, excess::rounds_max - 1);
  c.real(odds, 0, excess::certain);
  c.whole(heard, 0, excess::heard_max - 1);
  c.whole(due, 0, excess::pause_max);
  c.whole(pause, 1, excess::pause_max);
}

template <class C>
void fields(C& c, typename C::template as<demand>& x) {
  auto& [answered, refused, answers, idle, busy, closed, over] = x;
  c.moment(answered);
  c.moment(refused, true);
  c.real(answers, 0, demand::smoothing);
  c.real(idle, -1, 2);
  c.whole(busy, 0, count_max);
  c.real(closed);
  fields(c, over);
}

template <class C>
void fields(C& c, typename C::template as<vacancy>& x) {
  auto& [slots, refusal, row, unsent, first, beyond, flight, due] = x;
  c.real(slots, 0);
  c.real(refusal, 0);
  c.whole(row, 0, vacancy::row_max);
  c.whole(unsent, 0, vacancy::row_max);
  c.count(first);
  c.count(beyond);
  c.require(first <= beyond && beyond - first <= vacancy::row_max);
  c.whole(flight, 0, count_max);
  c.moment(due, true);
}

template <class C>
void fields(C& c, typename C::template as<foothold>& x) {
  auto& [now, share, answers, lately, usual, level, fewer, more, heard, row, passed, due, pause] =
      x;
  c.choice(now, foothold::at::lowered);
  c.real(share, 0, 1);
  c.real(answers, 0, foothold::smoothing);
  c.real(lately, 0, 1);
  c.real(usual, 0, 1);
  c.real(level, 0);
  c.real(fewer, 0, foothold::certain_held);
  c.real(more, 0, foothold::certain_held);
  c.whole(heard, 0, foothold::heard_max);
  c.whole(row, 0, count_max);
  c.whole(passed, 0, foothold::passed_min);
  c.whole(due, 0, foothold::later_max);
  c.whole(pause, 1, foothold::later_max);
}

template <class C>
void fields(C& c, typename C::template as<cuts>& x) {
  auto& [at, units, successes, rate, out, alike, first_rate, served, in_vain, since, vacant, hold] =
      x;
  c.moment(at);
  c.real(units);
  c.count(successes);
  c.real(rate);
  c.whole(out, 0, count_max);
  c.whole(alike, 0, count_max);
  c.real(first_rate);
  c.whole(served, 0, count_max);
  c.whole(in_vain, 0, count_max);
  fields(c, since);
  fields(c, vacant);
  fields(c, hold);
}

template <class C>
void fields(C& c, typename C::template as<ceiling>& x) {
  auto& [at, slots, touched, guess, resumed, settled, warm, climb_seconds, touch_rejects,
         flight_rejects, ease, answer, alone, calm] = x;
  c.real(at, 0);
  c.flags(slots, touched, guess, resumed, settled, warm);
  c.real(climb_seconds, 0);
  c.real(touch_rejects);
  c.whole(flight_rejects, 0, count_max);
  c.real(ease, 1e-9, 1);
  c.real(answer, 0);
  c.real(alone, 0);
  c.flags(calm.asks);
  c.whole(calm.ramps, 0, quiet::ramps_max);
  c.real(calm.at, 0);
}

template <class C>
void fields(C& c, typename C::template as<seek::tally>& x) {
  auto& [epoch, successes, units, unit] = x;
  c.count(epoch);
  c.count(successes);
  c.real(units);
  c.real(unit, 0.5, 2.0 * static_cast<double>(cost_max));
}

template <class C>
void fields(C& c, typename C::template as<seek::belief>& x) {
  auto& [share, pace, level, top, shut] = x;
  c.real(share, 0, 1);
  c.real(pace);
  c.real(level, 0);
  fields(c, top);
  c.whole(shut, 0, count_max);
}

template <class C>
void fields(C& c, typename C::template as<period>& x) {
  auto& [began, accepted, cut, shut, since, refused, probed, held, told, refusal, costs, closed,
         alike, lost, banned] = x;
  c.moment(began);
  c.real(accepted);
  c.whole(cut, 0, count_max);
  c.flags(shut, told);
  c.moment(since);
  c.moment(refused);
  c.moment(probed);
  c.moment(held);
  c.real(refusal, 0);
  c.real(costs, 0);
  c.real(closed);
  c.whole(alike, 0, count_max);
  c.whole(lost, 0, period::lost_max);
  c.real(banned.seconds, 0);
  c.real(banned.least, 0);
  c.real(banned.accepted);
  c.real(banned.open);
  c.whole(banned.alike, -ban::proof, count_max);
  c.whole(banned.cuts, 0, count_max);
}

template <class C>
void fields(C& c, typename C::template as<latency>& x) {
  auto& [mean, base, lowest, highest, total, answers, high, delivered, block, answered, room, heard,
         drains, usual, first] = x;
  c.real(mean, 0);
  c.real(base, 0);
  c.real(lowest, 0);
  c.real(highest, 0);
  c.real(total, 0);
  c.whole(answers, 0, count_max);
  c.whole(high, 0, count_max);
  c.real(delivered, 0);
  c.moment(block);
  c.moment(answered);
  c.real(room);
  c.whole(heard, 0, count_max);
  c.real(drains.risen, 0);
  c.real(drains.resume, 0);
  c.whole(drains.answers, 0, count_max);
  c.real(usual.answer, 0);
  c.real(usual.rate, 0);
  c.whole(usual.late, 0, 2 * calm::late_most);
  c.moment(usual.since);
  c.real(first.longest, 0);
  c.count(first.newest);
  c.whole(first.queued, 0, count_max);
}

template <class C>
void fields(C& c, typename C::template as<seek>& law) {
  auto& [level, waste, leave, top, turn, last, broken, luck, others, wanted, server, wait, so_far,
         trial, with] = law;
  c.real(level, std::numeric_limits<double>::min(), seek::rate_max);
  c.real(waste, 1e-9, 1);
  c.real(leave, 0, 0.999);
  fields(c, top);
  c.moment(turn.next);
  c.time(turn.behind);
  c.flags(turn.ahead);
  fields(c, last);
  fields(c, broken);
  fields(c, luck);
  fields(c, others);
  fields(c, wanted);
  fields(c, server);
  fields(c, wait);
  fields(c, so_far);
  fields(c, trial);
  {
    auto& [of_slots, drain, periods, failures, confidence, of_company, of_chance, of_demand,
           of_vacancy, bans, spurts, footholds, of_excess, mixtures, depths] = with;
    c.flags(of_slots, drain, periods, failures, confidence, of_company, of_chance, of_demand);
    c.flags(of_vacancy, bans, spurts, footholds, of_excess, mixtures, depths);
  }
}

template <class C>
void fields(C& c, typename C::template as<flight>& f) {
  auto& [of, on, sent, out, successes] = f;
  c.whole(of, 0, std::numeric_limits<member_id>::max());
  fields(c, on);
  c.moment(sent);
  c.whole(out, 0, count_max);
  c.count(successes);
}

template <class C>
void fields(C& c, typename C::template as<state::pending_event>& p) {
  auto& [from, what, told, on] = p;
  c.whole(from, 0, std::numeric_limits<member_id>::max());
  fields(c, what);
  c.flags(told);
  c.maybe(on, [&](auto& t) { fields(c, t); });
}

template <class C>
void fields(C& c, typename C::template as<member_state>& m) {
  auto& [id, heard, reported, live, quick, active, quick_until, wants, cost, out, heads, permits,
         with, age, planned] = m;
  c.whole(id, 0, std::numeric_limits<member_id>::max());
  c.count(heard);
  c.moment(reported);
  c.flags(live, quick, active);
  c.time(quick_until);
  c.whole(wants, 0, permits_max);
  c.whole(cost, 1, cost_max);
  c.whole(out, 0, permits_max);
  c.whole(heads, 0, permits_max);
  c.whole(permits, 0, permits_max);
  fields(c, with);
  c.span(age, 0ns);
  c.list(planned, turns_max, [&](auto& t) { fields(c, t); });
}

template <class C>
void fields(C& c, typename C::template as<gcra>& g) {
  auto& [interval, burst_tolerance, tat] = g;
  c.span(interval, 1ns);
  c.span(burst_tolerance, 0ns);
  c.time(tat);
}

template <class C>
void fields(C& c, typename C::template as<state>& s) {
  auto& [version, at, law, held, remaining, remaining_as_of, resets, ceiling, charged_from, out_max,
         recalled, live, sharing, way, members, pending, flights, dealt, last, front, term, began] =
      s;
  c.count(version);
  c.time(at);
  c.require(at >= time_point{} && at <= time_point(1'000'000h));
  c.base = at;
  fields(c, law);
  c.time(held, ahead_max);
  c.maybe(remaining, [&](auto& x) { c.whole(x, -money_max, money_max); });
  c.count(remaining_as_of);
  c.time(resets, ahead_max);
  c.maybe(ceiling, [&](auto& x) { fields(c, x); });
  c.count(charged_from);
  c.whole(out_max, 0, permits_max);
  c.flags(recalled);
  c.whole(live, 0, members_max);
  c.whole(sharing, 0, members_max);
  c.span(way, 0ns);
  c.count(dealt);
  c.last.number = dealt;
  c.list(members, members_max, [&](auto& m) { fields(c, m); });
  c.list(pending, events_max, [&](auto& p) { fields(c, p); });
  c.list(flights, events_max, [&](auto& f) { fields(c, f); });
  c.whole(last, 0, std::numeric_limits<member_id>::max());
  c.whole(front, 0, std::numeric_limits<member_id>::max());
  c.time(term);
  c.maybe(began, [&](auto& x) { c.moment(x); });
  for (auto const& p : pending) c.require(p.what.at >= time_point{} && p.what.at <= s.at);
  // What is found by bisection is in order.
  c.require(std::ranges::adjacent_find(members, std::greater_equal{}, &member_state::id) ==
            members.end());
  c.require(std::ranges::is_sorted(flights, {}, [](flight const& f) { return f.on.number; }));
  c.require(std::ranges::is_sorted(pending, {}, [](auto const& p) { return p.what.at; }));
}

/// The common part, but for the law, which other builds cannot read.
template <class C>
void fields(C& c, typename C::template as<grant>& g) {
  c.count(g.version);
  c.time(g.at);
  c.base = g.at;
  c.whole(g.members, 0, members_max);
  c.whole(g.sharing, 1, members_max);
  c.real(g.pace, 0);
  c.count(g.epoch);
  c.flags(g.slots);
  c.time(g.held, ahead_max);
}

template <class C>
void own_fields(C& c, typename C::template as<grant>& g) {
  c.whole(g.permits, 0, permits_max);
  c.flags(g.quick);
  c.list(g.turns, turns_max, [&](auto& t) {
    fields(c, t);
    c.base = t.at;
  });
}

// ── heads ─────────────────────────────────────────────────────────────────────────────────────

constexpr std::string_view report_head = "hwR1";
constexpr std::string_view common_head = "hwC1";
constexpr std::string_view own_head = "hwO2";
constexpr std::string_view law_head = "hwL" HEADWAY_LAW_LAYOUT;
constexpr std::string_view state_head = "hwS" HEADWAY_LAW_LAYOUT;

/// Takes the head off a blob; false where it has another.
bool take_head(std::string_view& blob, std::string_view head) {
  if (!blob.starts_with(head)) return false;
  blob.remove_prefix(head.size());
  return true;
}

template <class T>
std::string whole_blob(std::string_view head, T const& value) {
  std::string bytes(head);
  writer to(bytes);
  fields(to, value);
  return bytes;
}

template <class T>
std::optional<T> read_whole(std::string_view blob, std::string_view head, std::size_t most) {
  if (blob.size() > most || !take_head(blob, head)) return std::nullopt;
  reader from(blob);
  std::optional<T> value(std::in_place);
  fields(from, *value);
  if (!from.done()) value.reset();
  return value;
}

}  // namespace

std::string to_blob(report const& r) {
  return whole_blob(report_head, r);
}
std::string to_blob(state const& s) {
  return whole_blob(state_head, s);
}
std::optional<report> read_report(std::string_view blob) {
  return read_whole<report>(blob, report_head, report_bytes_max);
}
std::optional<state> read_state(std::string_view blob) {
  return read_whole<state>(blob, state_head, state_bytes_max);
}

std::string common_blob(grant const& g) {
  auto bytes = whole_blob(common_head, g);
  writer to(bytes);
  to.base = g.at;
  if (g.law) {
    bytes += law_head;
    fields(to, *g.law);
  }
  return bytes;
}

std::string own_blob(grant const& g) {
  std::string bytes(own_head);
  writer to(bytes);
  own_fields(to, g);
  return bytes;
}

std::optional<grant> read_grant(std::string_view common, std::string_view own) {
  if (!take_head(common, common_head)) return std::nullopt;
  grant g;
  reader from(common);
  fields(from, g);
  auto after = from.rest();
  if (take_head(after, law_head)) {
    reader law(after);
    law.base = g.at;
    fields(law, g.law.emplace());
    if (!law.done()) return std::nullopt;
  } else if (!from.good() || (!after.empty() && !after.starts_with("hwL"))) {
    return std::nullopt;
  }
  if (own.empty()) return g;
  if (!take_head(own, own_head)) return std::nullopt;
  reader last(own);
  own_fields(last, g);
  if (!last.done()) return std::nullopt;
  return g;
}

}  // namespace headway::fleet
