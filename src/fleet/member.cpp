#include "headway/fleet/member.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/backoff/exponential.hpp"

namespace headway::fleet {
namespace {

constexpr duration silence = 310ms;  // nothing new was heard: it coasts
constexpr duration coasting_halves = 1min;
constexpr duration far = 2s;             // a turn so far from now is of another clock
constexpr duration asks_again = 1s;      // for a turn, where none is promised
constexpr duration together = tick / 4;  // acts so soon after a report go with the next
constexpr exponential_backoff repeats{.initial = tick, .multiplier = 2, .cap = 1s};
constexpr std::uint64_t began_anew = 2'000'000;  // µs: the engine's clock went back, and its state
constexpr double golden = 0.6180339887498949;    // spreads members of consecutive numbers
constexpr double expected = 0.25;                // seconds of arrivals that turns are asked for

/// A member's own place between 0 and 1.
double phase(member_id id) noexcept {
  auto const x = golden * id;
  return x - std::floor(x);
}

/// Returns whether a state of version `a` is not after one of version `b`.
bool not_after(std::uint64_t a, std::uint64_t b) noexcept {
  return a <= b && b - a < began_anew;
}

duration part(duration d, double share) noexcept {
  return from_seconds(to_seconds(d) * share);
}

}  // namespace

member::member(member_id id, any_law const& begins, ceilings with)
    : id_(id), law_(begins), with_(with) {}
member::~member() = default;

// ── turns ─────────────────────────────────────────────────────────────────────────────────────

void member::refresh(time_point now, int out, int waiting) noexcept {
  looked_ = std::max(looked_, now);
  auto const was = std::pair(std::exchange(out_, out), heads_);
  if (auto const before = std::exchange(out_at_success_, std::nullopt); before && out >= *before)
    ++heads_;
  heads_ = std::min(heads_, out);
  if (was != std::pair(out_, heads_))
    note({.what = event::kind::out, .out = out_, .heard = heads_, .at = now});
  began_waiting_ += std::max(0, waiting - waiting_);
  if (waiting == 0 || waiting_ == 0) wants_since_ = now;
  auto const begins = waiting > 0 && waiting_ == 0 && turns_.empty();
  waiting_ = waiting;
  if (begins && now >= later(spoke_, together)) wake(now);
  drop_late(now);
  if (slots_ && out < was.first && (out >= permits_ || (waiting > 0 && turns_.empty()))) {
    frees_ = true;
    wake(std::max(now, later(spoke_, together)));
  }
}

void member::drop_late(time_point now) noexcept {
  auto const late = slots_ ? late_slots : late_max;
  while (!turns_.empty() && later(turns_.front().at, late) < now) {
    used_ = turns_.front().number;
    turns_.pop_front();
  }
}

double member::share(time_point now) const noexcept {
  auto const minutes = std::min(60, static_cast<int>((now - heard_) / coasting_halves));
  return coast_share_ * pace_ / sharing_ / std::ldexp(1.0, minutes);
}

time_point member::coasts_from() const noexcept {
  auto const delay = delay_of(std::max(age() - tick, duration(0)));
  return later(std::max(fresh_, wants_since_), silence + delay + (quick_ ? 0ns : rest));
}

duration member::age() const noexcept {
  auto ages = ages_;
  std::ranges::sort(ages);
  return ages[ages.size() - 2];  // one may be of a process that was stopped
}

bool member::coasts(time_point now) const noexcept {
  return version_ > 0 && with_.interval == 0ns && now >= coasts_from() && share(now) > 0;
}

time_point member::ready_at(std::int64_t) const noexcept {
  if (claimed_) return claimed_->at;
  if (!turns_.empty()) return turns_.front().at;
  auto const coasts_at = std::max({coasts_from(), coast_next_, looked_});
  return coasts(coasts_at) ? std::max(coasts_from(), coast_next_) : later(looked_, asks_again);
}

double member::allowed() const noexcept {
  if (claimed_) return out_ + 1.0;
  return std::max<double>(permits_, turns_.empty() && coasts(looked_) ? 1 : 0);
}

bool member::claim(time_point now, std::int64_t cost, fraction) noexcept {
  looked_ = std::max(looked_, now);
  drop_late(now);
  if (held_ > now) return false;
  while (!turns_.empty() && turns_.front().at <= now) {
    if (out_ >= permits_) return false;
    auto const t = turns_.front();
    turns_.pop_front();
    used_ = t.number;
    if (owed_ >= t.cost) {
      owed_ -= t.cost;
      note({.what = event::kind::paid, .out = out_, .turn = t.number, .at = now});
      continue;
    }
    owed_ = std::max<std::int64_t>(owed_ + cost - t.cost, 0);
    claimed_ = t;
    return true;
  }
  if (!coasts(now) || out_ >= std::max(permits_, 1) || now < coast_next_) return false;
  auto const interval = from_seconds(static_cast<double>(cost) / share(now));
  if (coast_next_ < fresh_) {  // the first: each member at another moment
    coast_next_ = later(now, part(interval, phase(id_)));
    if (coast_next_ > now) return false;
  }
  coast_next_ = later(now, interval);
  claimed_ = turn{.at = now};
  return true;
}

stamp member::take(time_point now, std::int64_t cost, fraction) noexcept {
  auto const t = std::exchange(claimed_, std::nullopt).value_or(turn{.at = now});
  ++out_;
  waiting_ = std::max(0, waiting_ - 1);
  cost_ += (static_cast<double>(cost) - cost_) / 16;
  if (t.number == 0) {
    ++coasted_;
    note({.what = event::kind::out, .out = out_, .heard = heads_, .at = now});
  } else {
    note({.what = event::kind::sent,
          .out = out_,
          .heard = heads_,
          .turn = t.number,
          .at = now,
          .cost = cost});
  }
  return {.sent = now, .epoch = t.epoch, .sends = t.number};
}

// ── answers ───────────────────────────────────────────────────────────────────────────────────

void member::note(event e) {
  if (events_.size() >= events_max) {  // an answer without its send would teach nothing
    events_.clear();
    lost_ = true;
  }
  events_.push_back(e);
}

void member::note_answer(event::kind what, time_point now, sample const& s, resource r) noexcept {
  auto const told = told_at_ == now ? std::exchange(told_, hint{}) : hint{};
  if (s.sent.sends == 0) {  // it coasted: a law without its turn can only count it
    if (what == event::kind::throttle) coast_share_ /= 2;
    if (what != event::kind::success) return;
  }
  note({.what = what,
        .short_of = r,
        .app_limited = s.app_limited,
        .capped = s.capped,
        .idle = waiting_ == 0,
        .out = s.in_flight,
        .heard = s.heard,
        .turn = s.sent.sends,
        .at = now,
        .cost = s.sent.cost,
        .remaining = told.remaining,
        .reset = told.reset});
}

void member::on_success(time_point now, sample const& s, fraction) noexcept {
  heads_ = s.heard;
  out_at_success_ = s.in_flight;
  note_answer(event::kind::success, now, s, resource::unknown);
}

void member::on_throttle(time_point now, sample const& s, resource r, fraction) noexcept {
  note_answer(event::kind::throttle, now, s, r);
  // What comes by chance is no cut, and takes no turns back.
  auto const* const known = std::get_if<seek>(&law_.choice);
  if (s.sent.sends > 0 && (known == nullptr || known->luck.doubts() == 0)) {
    refused_ = std::max(refused_.value_or(0), s.sent.epoch);
    std::erase_if(turns_, [&](turn const& t) { return t.epoch <= s.sent.epoch; });
  }
  wake(now);
}

void member::on_failure(time_point now, sample const& s, fraction) noexcept {
  note_answer(event::kind::failure, now, s, resource::unknown);
}

void member::on_hint(time_point now, hint const& h) noexcept {
  told_ = h;
  told_at_ = now;
  if (!h.retry_after) return;
  hold(later(now, std::max(*h.retry_after, duration(0))));
}

void member::hold(time_point until) noexcept {
  if (until <= held_) return;
  held_ = until;
  wake(looked_);
}

// ── what it says and hears ────────────────────────────────────────────────────────────────────

time_point member::look_again(time_point now) const noexcept {
  return std::max(later(now, 1ms), speaks_at());
}

time_point member::speaks_at() const noexcept {
  return unheard_
             ? later(spoke_, std::max(repeats.delay(repeated_, {}, 0), quick_ ? 0ns : rest / 2))
             : speaks_;
}

report const& member::speak(time_point now) {
  auto const interval = quick_ ? tick : rest;
  speaks_ = later(now, report_.number == 0 ? part(interval, 0.5 + phase(id_)) : interval);
  if (unheard_) {
    spoke_ = now;
    repeated_ = std::min(repeated_ + 1, 16);
    return report_;
  }
  auto const passed = std::max(to_seconds(now - spoke_), to_seconds(tick) / 2);
  auto const rate = static_cast<double>(std::exchange(began_waiting_, 0)) / passed;
  if (report_.number > 0) arrivals_ += (rate - arrivals_) / 2;
  spoke_ = now;
  report_ = {.from = id_,
             .number = report_.number + 1,
             .at = now,
             .events = std::exchange(events_, {}),
             .wants = waiting_ + static_cast<std::int32_t>(std::min(expected * arrivals_, 1e4)),
             .cost = std::max<std::int64_t>(1, std::llround(cost_)),
             .quick = quick_,
             .leaves = leaving_,
             .refused = std::exchange(refused_, std::nullopt),
             .held = held_ > now ? held_ : time_point::min(),
             .lost = std::exchange(lost_, false),
             .with = with_,
             .age = age()};
  unheard_ = true;
  urgent_ = std::exchange(frees_, false);
  repeated_ = 0;
  return report_;
}

void member::hear(time_point now, grant const& g, std::uint64_t told, bool combines) {
  if (told == report_.number) unheard_ = false;
  auto const quick = g.quick || combines;
  if (quick && !quick_) wake(now);  // that it is ready
  quick_ = quick;
  if (g.version == 0 || not_after(g.version, version_)) return;
  if (g.version < version_) used_ = 0;  // numbers of turns began anew, too
  version_ = g.version;
  heard_ = now;
  ages_[news_++ % ages_.size()] = std::clamp(now - g.at, duration(0), ahead_most);
  permits_ = g.permits;
  slots_ = g.slots;
  pace_ = g.pace;
  sharing_ = std::max(g.sharing, 1);
  company_ = std::max(company_, g.members - 1);
  if (g.law) law_ = {*g.law};
  held_ = std::max(held_, std::min(g.held, later(now, hold_max)));
  adopt(now, g);
  if (missed_) return;
  fresh_ = now;
  coast_share_ = 1;
}

void member::adopt(time_point now, grant const& g) {
  auto const cut = not_after(version_, cut_version_);
  auto const used = used_;
  turns_.clear();
  for (auto const& t : g.turns)
    if (t.number > used_ && t.at <= later(now, far) && t.at >= later(now, -far) &&
        !(cut && t.epoch <= cut_epoch_) && turns_.size() < turns_max)
      turns_.push_back(t);
  drop_late(now);
  if (!turns_.empty() || !g.quick)
    missed_ = false;
  else if (used_ > used)
    missed_ = true;
}

void member::cut(time_point now, std::uint64_t version, std::uint64_t epoch,
                 time_point held) noexcept {
  held_ = std::max(held_, std::min(held, later(now, hold_max)));
  cut_version_ = version;
  cut_epoch_ = epoch;
  std::erase_if(turns_, [&](turn const& t) { return t.epoch <= epoch; });
}

void member::leave(time_point now) noexcept {
  leaving_ = true;
  wake(now);
}

}  // namespace headway::fleet
