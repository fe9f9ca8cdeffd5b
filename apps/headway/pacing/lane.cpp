#include "pacing/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "base/url.hpp"
#include "pacing/fleet_link.hpp"
#include "pacing/laws.hpp"
#include "pacing/settle.hpp"

namespace headway::app {
namespace {

constexpr int refused_in_a_row_max = 8;  // that a quota excuses
constexpr duration gather_max = 1ms;

/// Why a request waits for its turn, to people.
std::string_view words_of(reason held) noexcept {
  switch (held) {
    case reason::server_hint:
      return "the server asks to wait";
    case reason::others:
      return "the rest of this window is left to others that share it";
    case reason::paused:
      return "paused by headway ctl";
    case reason::window:
      return "answers to what is in flight";
    default:
      return to_string(held);
  }
}

}  // namespace

lane::lane(parts p) : parts_(std::move(p)), title_(short_name(parts_.name)) {}

std::variant<ticket, refused> lane::submit(time_point now, load what, std::uint32_t number) {
  if (stopped_) return refused{reason::cancelled, never};
  auto const answer = parts_.governor.submit(
      now, {.cost = what.cost, .failures = what.failures, .throttles = what.throttles});
  if (auto const* const id = std::get_if<ticket>(&answer)) {
    auto const slot = static_cast<std::uint32_t>(*id);
    if (slot >= entries_.size()) entries_.resize(slot + 1);
    entries_[slot] = {.what = std::move(what), .number = number};
    wake_ = now;
  }
  return answer;
}

void lane::call_back(ticket t) noexcept {
  of(t).called_back = true;
}

void lane::look_at_others(time_point now, bool may_send) {
  parts_.governor.look(now, held_.why != reason::none || !may_send);
}

void lane::open(time_point now, bool may_send) {
  wake_ = never;  // but for what follows
  held_ = {};
  if (paused()) held_ = {reason::paused, never};
  look_at_others(now, may_send);
  if (auto const fleet = hosts(); fleet && fleet->members > 0)  // those cut off spend theirs, too
    parts_.quotas.take_part(now, 1.0 / (fleet->members + fleet->unheard));
  parts_.quotas.share_pace(company() > 0);
}

std::optional<lane::turn> lane::next(time_point now, rng& chance) {
  if (paused()) return std::nullopt;
  if (auto const until = trouble_.ready_at(in_flight()); until > now && waiting() > 0) {
    held_ = {reason::backoff, until};
    return std::nullopt;
  }
  if (asks_until_ > now && flying() > 0 && waiting() > 0) {
    held_ = {reason::server_hint, never};
    return std::nullopt;
  }
  auto& governor = parts_.governor;
  auto& quotas = parts_.quotas;
  if (auto const parked = governor.parked(now); parked && parked->why == reason::refused_alone) {
    governor.cancel(now, parked->id);
    auto const& e = of(parked->id);
    auto const home = e.called_back || e.what.turn_only;
    return turn{e.number, home ? turn::kind::elsewhere : turn::kind::refused};
  }
  while (auto const first = stopped_ ? std::nullopt : governor.next(now)) {
    auto& e = of(*first);
    if (e.called_back) {
      governor.cancel(now, *first);
      return turn{e.number, turn::kind::elsewhere};
    }
    if (!e.what.turn_only) {
      if (auto why = quotas.never_fits(e.what.size)) {
        governor.cancel(now, *first);
        return turn{e.number, turn::kind::never, std::move(*why)};
      }
      if (auto const held = quotas.ready_at(now, e.what.size, parts_.wait_max); held.until > now) {
        held_ = {held.why, held.until};
        e.held = true;
        e.held_until = held.until;
        return std::nullopt;
      }
    }
    auto const u = chance();
    if (!governor.claim(now, e.what.cost, u)) {  // another was faster
      look_at_others(now, true);
      continue;
    }
    governor.start(now, *first, u,
                   e.held ? std::optional(std::min(e.held_until, now)) : std::nullopt);
    if (e.what.turn_only) {
      governor.cancel(now, *first);
      return turn{e.number, turn::kind::elsewhere};
    }
    e.receipt = quotas.take(now, e.what.size);
    e.attempt = through_.sent(now);
    e.heard = false;
    return turn{e.number};
  }
  return std::nullopt;
}

void lane::rest(time_point now, bool may_send) {
  through_.waits(now, waiting() > 0 && !paused());
  look_at_others(now, may_send);      // perhaps it waits no more
  if (!may_send || stopped_) return;  // until an answer
  auto const park_beyond = [&](time_point until) {
    if (until > later(now, parts_.wait_max)) parked_until_ = std::max(parked_until_, until);
  };
  if (auto const parked = parts_.governor.parked(now)) {
    if (parked->why == reason::server_broken)
      parked_until_ = std::max(parked_until_, parked->until);
    else
      park_beyond(parked->until);
  }
  if (held_.why != reason::none) {  // an answer wakes it, too
    parts_.governor.held(now, held_.why);
    wake_ = held_.until;
    if (held_.why == reason::quota && held_.until != never) park_beyond(held_.until);
    return;
  }
  wake_ = parts_.governor.wakeup(now);
  // A ceiling's burst makes up for lateness, and one wake for several turns is cheaper than one
  // each.
  if (auto const first = parts_.governor.why(now);
      first.why == reason::quota && first.until != never) {
    auto const spare = parts_.governor.busy_until() - first.until - 1ms;
    gathers_until_ = later(first.until, std::clamp(spare / 2, duration(0), gather_max));
  }
  if (waiting() > 0) wake_ = std::min(wake_, parts_.governor.look_again(now));
}

bool lane::held_elsewhere(time_point now, entry& e) const noexcept {
  return std::exchange(e.held, false) || held_.why != reason::none || gathers_until_ > now;
}

bool lane::exaggerates(judgement const& told) const noexcept {
  auto const much = [&](auto const& d) { return d && *d > parts_.hold_max; };
  return much(told.hold) ||
         std::ranges::any_of(told.quotas, [&](auto const& q) { return much(q.reset); });
}

std::optional<judgement> lane::corrected(time_point now, judgement const& said) {
  if (!resets_.any_in_ms() && !exaggerates(said)) return std::nullopt;
  auto told = said;
  for (auto& q : told.quotas)
    if (q.reset) q.reset = resets_.reset_of(q);
  return believed(now, std::move(told));
}

/// No answer shuts it for longer than hold_max.
judgement lane::believed(time_point now, judgement told) {
  auto const bound = [&](std::optional<duration>& wait, bool holds) {
    if (!wait || *wait <= parts_.hold_max) return;
    if (holds) asks_until_ = std::max(asks_until_, later(now, *wait));
    wait = parts_.hold_max;
  };
  bound(told.hold, true);
  for (auto& q : told.quotas) bound(q.reset, q.remaining && *q.remaining < 1);
  return told;
}

void lane::hear(time_point now, ticket t, judgement const& said, int status, fraction u) {
  auto& e = of(t);
  if (!e.heard) resets_.look(now, said.quotas);
  auto const less = corrected(now, said);
  auto const& head = less ? *less : said;
  auto taught = lesson_of(head, status, parts_.quotas, parts_.wait_max, parts_.governor.hosted());
  if (taught.what != outcome::success || std::exchange(e.heard, true)) return;
  parts_.quotas.hear(now, e.receipt, head.quotas);
  window_.look(head.quotas);
  taught.advice.shared = parts_.quotas.shared();
  taught.held_elsewhere = held_elsewhere(now, e);
  parts_.governor.learn(now, t, taught, u);
  wake_ = now;
}

lane::settled lane::settle(time_point now, ticket t, judgement const& said, attempt_end const& end,
                           fraction u) {
  if (said.what == reaction::served) asks_until_ = time_point::min();
  auto& e = of(t);
  if (throttles(said.what) || said.what == reaction::served)
    resets_.ended(end.sent, throttles(said.what));
  if (!e.heard) resets_.look(now, said.quotas);
  auto const less = corrected(now, said);
  auto const& told = less ? *less : said;
  auto taught =
      lesson_of(told, end.status, parts_.quotas, parts_.wait_max, parts_.governor.hosted());
  if (end.says_nothing) taught.what = outcome::ignore;
  lately_.add(taught.what, end.error);
  auto const refused = taught.what == outcome::throttle;
  if (refused) {
    ban_.throttled(now, end.sent);
    through_.refused(now, e.attempt, taught.advice.retry_after.has_value());
  } else if (taught.what == outcome::success) {
    through_.accepted(now, e.attempt, end.sent, static_cast<double>(e.what.cost));
  } else {
    through_.forget(e.attempt);
  }
  if (told.what == reaction::served) ban_.served(end.sent), accepted_at_ = now;
  for (auto const& c : told.costs)
    parts_.governor.cost(now, c.quota, parts_.quotas.expected(e.receipt, e.what.size, c.quota),
                         c.units);
  auto const news = std::span(told.quotas).subspan(e.heard ? told.in_fields : 0);
  window_.look(news);
  auto const blamed = parts_.quotas.settle(
      now, e.receipt, e.what.size,
      {.quotas = news, .costs = told.costs, .refused = refused, .hold = told.hold});
  // A server that goes on refusing whatever the quotas do is the law's, whatever it says.
  refused_in_a_row_ = refused ? refused_in_a_row_ + 1 : 0;
  auto const ours = blamed && refused_in_a_row_ <= refused_in_a_row_max;
  taught.held_elsewhere = ours || (!refused && held_elsewhere(now, e));
  if (ours && told.hold <= parts_.wait_max) taught.advice = {};  // the quotas wait for it
  taught.advice.shared = parts_.quotas.shared();
  taught.may_retry = end.may_repeat;
  auto const cuts = cuts_of(law_state());
  settled result{taught.what, parts_.governor.finish(now, t, taught, u)};
  if (refused && cuts_of(law_state()) != cuts) last_cut_ = {now, std::string(end.error)};
  auto const parks = result.ruling.what == verdict::park;
  result.alone = parks && result.ruling.why == reason::refused_alone;
  auto const waits = result.ruling.what == verdict::retry || parks;
  if (waits && (stopped_ || result.alone)) parts_.governor.cancel(now, t);
  if (parks && !stopped_ && !result.alone)
    parked_until_ = std::max(parked_until_, result.ruling.until);
  wake_ = now;
  return result;
}

void lane::pause(time_point now, bool yes) noexcept {
  if (yes == paused()) return;
  paused_since_ = yes ? now : never;
  held_ = {};
  wake_ = now;
}

void lane::limit(time_point now, std::optional<gcra> const& rate, int in_flight_max) {
  parts_.governor.limit(now, rate, in_flight_max);
  gathers_until_ = time_point::min();
  wake_ = now;
}

void lane::leave(time_point now, double share, shared_pace with) {
  parts_.governor.leave(now, share, std::move(with));
  wake_ = now;
}

void lane::cancel(time_point now, ticket t) {
  parts_.governor.cancel(now, t);
  parts_.quotas.forget(of(t).receipt);
  through_.forget(of(t).attempt);
  wake_by(now);  // its permit is free
}

void lane::unreached(time_point now, ticket t, time_point sent, std::string_view why, bool futile) {
  trouble_.unreached(now, sent, why, futile);
  lately_.add(outcome::failure, why);
  cancel(now, t);
}

void lane::failed(time_point now, time_point sent, bool first, std::string_view why) {
  trouble_.failed(now, sent, first, why, parts_.wait_max);
  wake_by(now);
}

bool lane::ended(time_point now, time_point sent, final_outcome how, int refused_by) {
  if (impasse::refuses_caller(refused_by))
    return trouble_.refused(now, sent, refused_by, parts_.wait_max);
  if (how == final_outcome::success || refused_by != 0)
    trouble_.served(sent, how == final_outcome::success);
  else
    trouble_.broken();
  return false;
}

held_back lane::why(time_point now) const {
  if (waiting() == 0) return {};
  return held_.why != reason::none ? held_ : parts_.governor.why(now);
}

hindrance::kind lane::plight(reason held) const noexcept {
  using enum hindrance::kind;
  if (trouble_.holds()) return impasse;
  auto const most = [&](int n) { return 2 * n > lately_.attempts(); };
  auto const again = held == reason::backoff || held == reason::retry_budget;
  if (held == reason::server_broken || most(lately_.broken()) || (again && lately_.broken() > 0))
    return broken;
  if (held == reason::server_hint || most(lately_.throttled()) || refuses_all()) return throttled;
  return held == reason::none ? none : turn;
}

hindrance lane::hindered(time_point now) const {
  auto const held = why(now);
  auto found = hindered_by(held, now);
  found.told = held.why == reason::server_hint || held.why == reason::quota;
  return found;
}

hindrance lane::hindered_by(held_back const& held, time_point now) const {
  using enum hindrance::kind;
  if (stopped_ || (waiting() == 0 && in_flight() == 0)) return {};
  auto const what = plight(held.why);
  auto const of = [&](int n) { return fmt::format("{} of {}", n, lately_.attempts()); };
  switch (what) {
    case none:
      return {};
    case turn: {
      auto words = std::string(is_ceiling(held.why) ? own_ceiling : words_of(held.why));
      auto const shared = held.why == reason::pace || held.why == reason::window;
      if (auto const fleet = hosts(); fleet && shared)
        words = why_in_fleet(*fleet, now, std::move(words));
      else if (auto const n = company(); shared && n > 0)
        words += fmt::format(", shared with {} other run{}", n, n > 1 ? "s" : "");
      return {what, title_, std::move(words), "", held.until};
    }
    case throttled: {
      auto const hint = held.why == reason::server_hint;
      if (lately_.throttled() == 0)
        return {what, title_, std::string(words_of(held.why)), "", held.until};
      return {
          what,
          title_,
          fmt::format("{}: {}", hint ? "asks to wait" : "throttled",
                      printable(lately_.throttled_by())),
          refuses_all() ? fmt::format("the last {}", refused_in_a_row_) : of(lately_.throttled()),
          held.until,
          refuses_all()};
    }
    case broken:
      return {what,
              title_,
              fmt::format("broken: {}", printable(lately_.broke_by())),
              of(lately_.broken()),
              held.until,
              held.why == reason::server_broken};
    case impasse:
      return {what,
              title_,
              (trouble_.answers() ? "" : "broken: ") + printable(trouble_.words()),
              trouble_.answers() ? "" : of(lately_.broken()),
              held.until,
              true};
  }
  return {};
}

std::string lane::findings() const {
  return app::findings(law_state(), {.quotas_bind = !quotas().findings().empty(),
                                     .own = ceilings().rate_ceiling,
                                     .window = window_,
                                     .through = through_,
                                     .knew = parts_.knew,
                                     .shared = company() > 0});
}

time_point lane::busy_until() const noexcept {
  return std::max({parts_.governor.busy_until(), parts_.quotas.busy_until(), trouble_.ready_at(0)});
}

}  // namespace headway::app
