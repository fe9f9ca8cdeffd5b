#include "proxy/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "headway/driver/entropy.hpp"
#include "pacing/laws.hpp"
#include "watch/scopes.hpp"

namespace headway::app::proxy {
namespace {

constexpr duration follows_again = 100ms;  // looks whether the one before it has sent what waited
constexpr duration scope_idle_for = 150s;  // its last two minutes can still be seen
constexpr std::size_t clients_max = 1000;  // whose figures are kept
constexpr std::size_t clients_shown = 20;

// Of a server that refuses connections.
constexpr duration absent_max = 1min;  // until it is down, rather than restarted
constexpr duration asks_first = 100ms, asks_each = 1s;

/// The lanes look at no other host than ours.
profile profile_of(upstream_config const& u) {
  return u.words.profile ? profile::named(*u.words.profile) : profile::of_host(host_of(u.origin));
}

duration whole_seconds(duration d) {
  return std::max(std::chrono::ceil<std::chrono::seconds>(d), std::chrono::seconds(1));
}

}  // namespace

server::server(asio::io_context& io, upstream_config settings)
    : settings_(std::move(settings)),
      speaks_(profile_of(settings_)),
      pacing_(settings_of(settings_)),
      lanes_(pacing_),
      law_(settings_.words.law.value_or(std::string(shipped_laws().front().name))),
      wires_(io, settings_),
      chance_(entropy()),
      tells_costs_(!speaks_.costs_of_a_byte().empty()),
      timer_(io) {
  if (!settings_.cold) lanes_.recall();
  if (!settings_.header_commands.empty())
    renewal_ = std::make_unique<renewal>(io, settings_.header_commands, settings_.header_ttl,
                                         [this] { renewed(clock_now()); });
}

void server::follow(time_point now, std::shared_ptr<server> before) {
  before_ = std::move(before);
  follows(now);
}

bool server::follows(time_point now) {
  if (before_ && before_->waiting_ == 0 && !before_->follows(now) &&
      (!settings_.words.concurrency || before_->flying_ == 0)) {
    auto const& rate = before_->pacing_.governor.rate_ceiling;
    opens_ = before_->last_turn_ + (rate ? rate->interval + rate->burst_tolerance : duration(0));
    before_.reset();
  }
  return before_ || now < opens_;
}

std::string_view server::obstacle(time_point now) {
  if (absent_ && (asks_ != nullptr || now < absent_->asks_at)) return "no connection";
  return lacks_credential() ? "credential" : follows(now) ? "reload" : "";
}

// ── turns ────────────────────────────────────────────────────────────────────────────────────────

std::shared_ptr<scope> server::scope_of(time_point now, lane_key const& key) {
  auto* l = lanes_.at(now, key);
  if (l == nullptr) {  // those that nothing uses give way
    std::erase_if(scopes_,
                  [](auto const& s) { return s.second->is_idle() && s.second.use_count() == 1; });
    l = lanes_.at(now, key);
    if (l == nullptr) return nullptr;
  }
  auto& found = scopes_[l];
  if (!found) {
    found = std::make_shared<scope>();
    found->in = l;
    found->pin = lane_pin(*l);
    found->name = name_of(key, *l);
  }
  found->used = now;
  return found;
}

std::string server::name_of(lane_key const& key, lane const& l) const {
  if (key.credential.empty()) return l.title();
  return fmt::format("{} (key …{})", l.title(), key.credential.substr(key.credential.size() - 4));
}

std::optional<refusal> server::join(time_point now, waiter& w, lane_key const& key) {
  auto const s = w.where = scope_of(now, key);
  if (s == nullptr)
    return refusal{{503, "scopes", "too many limits are in use at once"}, duration(1s)};
  if (waiting_ >= settings_.queue_max) {
    auto const room = room_in(now, *s);
    return refusal{{503, "queue_full",
                    fmt::format("{} requests wait for {}; room in about {}", waiting_,
                                settings_.name, in_words(room))},
                   room};
  }
  if (s->in->parked() && s->in->parked_until() > w.deadline) return hold_of(now, *s);
  if (renewal_ && !renewal_->problem().empty()) return without_credential(now);
  if (w.told_patience)
    if (auto const wait = expected_wait(now, *s, w.first, w.client);
        wait && now + *wait > w.deadline)
      return refusal{
          {503, "deadline",
           fmt::format("its turn would come in about {}, after its deadline", in_words(*wait))},
          *wait};
  if (s->is_idle()) s->busy = now;
  number(w);
  w.is_ = waiter::phase::queued;
  w.place_ = s->queue.push(&w, w.first, w.client);
  wait_until(w);
  pump(now, *s);
  return std::nullopt;
}

void server::number(waiter& w) {
  if (free_.empty()) {
    w.number_ = static_cast<std::uint32_t>(waiters_.size());
    waiters_.push_back(&w);
  } else {
    w.number_ = free_.back();
    free_.pop_back();
    waiters_[w.number_] = &w;
  }
}

void server::unnumber(waiter& w) {
  w.is_ = waiter::phase::nowhere;
  free_.push_back(w.number_);
  waiters_[w.number_] = nullptr;
}

void server::wait_until(waiter& w) {
  w.due_ = due_.emplace(w.deadline, &w);
  ++waiting_;
}

void server::wait_no_more(waiter& w) {
  due_.erase(w.due_);
  --waiting_;
}

void server::leave(time_point now, waiter& w) {
  if (w.is_ == waiter::phase::nowhere) return;
  auto& s = *w.where;
  switch (std::exchange(w.is_, waiter::phase::nowhere)) {
    case waiter::phase::nowhere:
      break;
    case waiter::phase::at_door:
      s.in->cancel(now, w.id_);
      s.door = nullptr;
      s.queue.remove(w.place_);
      wait_no_more(w);
      break;
    case waiter::phase::queued:
      s.queue.remove(w.place_);
      wait_no_more(w);
      break;
    case waiter::phase::again:
      s.in->cancel(now, w.id_);
      --s.again;
      wait_no_more(w);
      break;
    case waiter::phase::flying:
      s.in->cancel(now, w.id_);
      s.in->wake_by(now);  // its permit is free
      --flying_;
      if (asks_ == &w) asks_ = nullptr, wake_all(now);
      break;
  }
  unnumber(w);
}

void server::fill_door(time_point now, scope& s) {
  if (s.queue.empty()) return;
  auto& next = *s.queue.first();
  if (s.door == &next) return;
  empty_door(now, s);
  auto const submitted = s.in->submit(now, next.what, next.number_);
  auto const* const id = std::get_if<ticket>(&submitted);
  if (id == nullptr) return;  // its bound is beyond ours, its cost is one, and nothing stops it
  next.id_ = *id;
  next.is_ = waiter::phase::at_door;
  s.door = &next;
}

void server::empty_door(time_point now, scope& s) {
  if (s.door == nullptr) return;
  s.in->cancel(now, s.door->id_);
  s.door->is_ = waiter::phase::queued;
  s.door = nullptr;
}

void server::pump(time_point now, scope& s) {
  auto& l = *s.in;
  l.resume(now);
  if (l.parked()) refuse_parked(now, s);
  fill_door(now, s);
  if (l.due(now)) {
    auto may_send = obstacle(now).empty();
    l.open(now, may_send);
    while (auto const turn = may_send ? l.next(now, chance_) : std::nullopt) {
      auto& w = *waiters_[turn->number];
      if (w.is_ == waiter::phase::at_door) {
        s.door = nullptr;
        s.queue.pop();
      } else {
        --s.again;
      }
      wait_no_more(w);
      if (turn->what == lane::turn::kind::send) {
        w.is_ = waiter::phase::flying;
        ++flying_;
        last_turn_ = now;
        s.sent.add(second_of(now));
        fill_door(now, s);
        if (absent_) asks_ = &w, may_send = false;
        w.on_turn(now);
      } else {
        unnumber(w);
        fill_door(now, s);
        if (turn->what == lane::turn::kind::never)
          w.on_refused({{413, "never_fits", turn->why}, std::nullopt});
        else
          w.on_refused(overdue(now, w));  // it is that old
      }
    }
    l.rest(now, may_send);
    if (follows(now)) l.wake_by(before_ ? later(now, follows_again) : opens_);
    if (absent_ && asks_ == nullptr && now < absent_->asks_at) l.wake_by(absent_->asks_at);
  }
  arm(now);
}

/// The server asks for more patience than they have.
void server::refuse_parked(time_point now, scope& s) {
  auto const until = s.in->parked_until();
  std::vector<waiter*> out;
  for (auto const& [at, w] : due_)
    if (w->where.get() == &s && at < until) out.push_back(w);
  for (auto* const w : out) {
    leave(now, *w);
    w->on_refused(hold_of(now, s));
  }
}

refusal server::hold_of(time_point now, scope const& s) const {
  auto const left = s.in->parked_until() - now;
  if (s.in->why(now).why == reason::server_broken)
    return {{503, "broken",
             fmt::format("{} answers nothing but failures; it is asked again in {}", settings_.name,
                         in_words(left))},
            left};
  auto const wish = s.in->asks_until() - now;
  auto const more = wish > left ? fmt::format("; it is asked again in {}", in_words(left)) : "";
  return {{503, "hold",
           fmt::format("{} asks to be left alone for {}{}", settings_.name,
                       in_words(std::max(wish, left)), more)},
          left};
}

refusal server::without_credential(time_point now) const {
  return {{503, "credential", std::string(renewal_->problem())}, renewal_->again_in(now)};
}

/// There are new values, or the commands failed again.
void server::renewed(time_point now) {
  if (!renewal_->problem().empty()) refuse_waiting(now, without_credential(now));
  if (renewal_->wanted()) return;
  for (auto const& [l, s] : scopes_) {
    s->in->wake_by(now);
    pump(now, *s);
  }
}

refusal server::absent() const {
  return {{502, "broken", fmt::format("{}: {}", settings_.name, in_utf8(printable(absent_->why)))},
          std::nullopt};
}

void server::wake_all(time_point now) {
  for (auto const& [l, s] : scopes_) s->in->wake_by(now);
  arm(now);
}

void server::refused_connection(time_point now, waiter& w, std::string_view why, bool waits) {
  if (!absent_ || now > later(absent_->asks_at, absent_max)) {  // nothing has asked for long
    absent_ =
        absence{.since = now, .asks_at = later(now, asks_first), .gap = asks_first, .why = {}};
    say(fmt::format("upstream {}: {}; requests wait until it is back, for {} at most",
                    settings_.name, in_utf8(printable(why)), in_words(absent_max)));
  } else if (asks_ == &w) {
    absent_->gap = std::min(2 * absent_->gap, asks_each);
    absent_->asks_at = later(now, absent_->gap);
  }
  absent_->why = why;
  leave(now, w);
  wake_all(now);  // its permit is free
  auto const down = now - absent_->since >= absent_max;
  if (down) refuse_waiting(now, absent());
  if (down || !waits) return w.on_refused(absent());
  turn_again(now, w);
}

void server::reached(time_point now) {
  if (!absent_) return;
  say(fmt::format("upstream {} is back after {}", settings_.name,
                  short_in_words(now - absent_->since)));
  absent_.reset();
  asks_ = nullptr;
  wake_all(now);
}

void server::hear(time_point now, waiter& w, judgement const& head, int status) {
  w.where->in->hear(now, w.id_, head, status, chance_());
}

lane::settled server::settle(time_point now, waiter& w, judgement const& told,
                             lane::attempt_end const& end) {
  auto& s = *w.where;
  count.hints_ignored += static_cast<std::uint64_t>(told.ignored);
  auto const result = s.in->settle(now, w.id_, told, end, chance_());
  --flying_;
  if (asks_ == &w) {
    say(fmt::format("upstream {} refuses connections no longer, but fails: {}", settings_.name,
                    in_utf8(printable(end.error))));
    absent_.reset();
    asks_ = nullptr;
    wake_all(now);
  }
  auto const name = result.taught == outcome::success    ? "success"
                    : result.taught == outcome::throttle ? "throttle"
                    : result.taught == outcome::failure  ? "failure"
                                                         : "ignore";
  ++count.since.attempts[name];
  count.since.by_scope.attempted(s.name, result.taught, now - end.sent);
  auto const second = second_of(now);
  if (result.taught == outcome::throttle) {
    s.throttled.add(second);
    count.throttled.add(second);
  } else if (result.taught == outcome::failure) {
    count.failed.add(second);
  }
  auto const parked = result.ruling.what == verdict::park;
  if (result.ruling.what == verdict::retry || (parked && !result.alone)) {
    w.is_ = waiter::phase::again;
    ++s.again;
    wait_until(w);
  } else {
    unnumber(w);
  }
  return result;
}

void server::turn_again(time_point now, waiter& w) {
  auto& s = *w.where;
  number(w);
  w.is_ = waiter::phase::queued;
  w.place_ = s.queue.push(&w, w.first, w.client, true);
  wait_until(w);
  pump(now, s);
}

/// Wakes for the next turn or deadline.
void server::arm(time_point now) {
  auto at = never;
  for (auto const& [l, s] : scopes_) at = std::min(at, l->parked() ? l->parked_until() : l->wake());
  if (!due_.empty()) at = std::min(at, due_.begin()->first);
  at = std::max(at, now);
  if (at == armed_) return;
  armed_ = at;
  if (at == never) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::chrono::nanoseconds(std::min<duration>(at - now, 1h)));
  timer_.async_wait([this, weak = weak_from_this()](error_code e) {
    auto const self = weak.lock();  // a reload may have taken it away
    if (e || !self) return;
    armed_ = never;
    auto const later = clock_now();
    expire(later);
    for (auto& [l, s] : scopes_)
      if (l->wake() <= later || l->parked()) pump(later, *s);
    arm(later);
  });
}

void server::expire(time_point now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    auto& w = *due_.begin()->second;
    auto why = overdue(now, w);
    leave(now, w);
    w.on_refused(std::move(why));
  }
}

refusal server::overdue(time_point now, waiter const& w) const {
  if (absent_) return absent();
  auto const held = w.where->in->why(now);
  return {
      {503, "deadline",
       fmt::format("its deadline passed while it waited for its turn ({})", to_string(held.why))},
      expected_wait(now, *w.where, w.first, w.client).value_or(1s)};
}

// ── estimates ────────────────────────────────────────────────────────────────────────────────────

namespace {

constexpr std::uint64_t turns_min = 5;  // of which a rate can be told

/// Turns a second, of the last ten in which it was busy; 0: not known.
double turns_a_second(time_point now, scope const& s) {
  auto const from = std::max(s.busy, now - 10s);
  auto const turns = s.sent.sum(second_of(now), second_of(now) - second_of(from));
  return turns < turns_min
             ? 0
             : static_cast<double>(turns) / to_seconds(std::max<duration>(now - from, 100ms));
}

}  // namespace

std::optional<duration> server::expected_wait(time_point now, scope const& s, priority first,
                                              std::string_view client) const {
  auto const held = s.in->why(now);
  auto const ahead = s.queue.ahead(first, client) + s.again;
  auto const parked = s.in->parked() ? s.in->parked_until() - now : duration(0);
  if (ahead == 0) return parked;
  auto const hold = held.why == reason::server_hint && held.until != never
                        ? std::max(held.until - now, duration(0))
                        : duration(0);
  auto const rate = turns_a_second(now, s);
  if (rate <= 0)
    return hold > 0ns || parked > 0ns ? std::optional(std::max(hold, parked)) : std::nullopt;
  return std::max(hold, parked) + from_seconds(static_cast<double>(ahead) / rate);
}

duration server::room_in(time_point now, scope const& s) const {
  auto const rate = turns_a_second(now, s);
  auto const held = s.in->why(now);
  auto wait = rate > 0 ? from_seconds(1 / rate) : duration(1s);
  if (held.why == reason::server_hint && held.until != never)
    wait = std::max(wait, held.until - now);
  return whole_seconds(wait);
}

// ── life ─────────────────────────────────────────────────────────────────────────────────────────

void server::tick(time_point now, std::map<std::string_view, duration>& where_time_went) {
  wires_.tick(now);
  expire(now);
  auto const second = second_of(now);
  for (auto it = scopes_.begin(); it != scopes_.end();) {
    auto& s = *it->second;
    pump(now, s);
    auto const waits = s.waits();
    s.waiting.add(second, static_cast<std::uint32_t>(waits));
    auto const flies = s.in->flying();
    if (waits > 0 || flies > 0) {
      auto const why = waits > 0 ? s.in->why(now).why : reason::none;
      auto const obstacle = waits > 0 ? this->obstacle(now) : "";
      auto const name = !obstacle.empty()     ? obstacle
                        : why == reason::none ? std::string_view("not waiting")
                                              : to_string(why);
      where_time_went[name] += 1s;
      if (why != reason::none && obstacle.empty()) count.since.by_scope.held(s.name, why, 1s);
      s.used = now;
    }
    if (s.used + scope_idle_for < now && it->second.use_count() == 1)
      it = scopes_.erase(it);
    else
      ++it;
  }
  std::erase_if(clients_, [&](auto const& c) { return c.second.latest + 120 < second; });
}

void server::served(time_point now, std::string const& client) {
  auto const second = second_of(now);
  auto found = clients_.find(client);
  if (found == clients_.end()) {
    if (clients_.size() >= clients_max) return;
    found = clients_.emplace(client, client_count{}).first;
  }
  found->second.served.add(second);
  found->second.latest = second;
}

void server::refuse_waiting(time_point now, refusal const& why) {
  while (!due_.empty()) {
    auto& w = *due_.begin()->second;
    leave(now, w);
    w.on_refused(why);
  }
}

void server::wake(time_point now) {
  for (auto& [l, s] : scopes_) pump(now, *s);
}

void server::keep() {
  if (!settings_.cold) lanes_.keep();
}

void server::know(server& before) {
  wires_.know(before.wires_);
  if (settings_.cold && before.settings_.cold) lanes_.recall(before.lanes_);
}

reason server::held_by(time_point now) const {
  for (auto const& [l, s] : scopes_)
    if (s->waits() > 0) return l->why(now).why;
  return reason::none;
}

// ── what it shows ────────────────────────────────────────────────────────────────────────────────

upstream_state server::state(time_point now) {
  auto u = count.since;
  auto const second = second_of(now);
  u.name = settings_.name;
  u.url = settings_.url;
  u.profile = speaks_.name();
  u.queue_max = settings_.queue_max;
  u.in_flight = flying_;
  u.connections = {wires_.idle(), wires_.busy()};
  u.last_minute = {count.requests.sum(second, 59), count.throttled.sum(second, 59),
                   count.failed.sum(second, 59),   count.refused.sum(second, 59),
                   count.left.sum(second, 59),     count.waits.quantile(now, 0.5),
                   count.waits.quantile(now, 0.99)};
  std::map<std::string, client_state, std::less<>> clients;
  for (auto const& [name, c] : clients_) clients[name] = {name, 0, c.served.sum(second, 59)};
  for (auto& [l, s] : scopes_) {
    scope_state shown;
    shown.name = s->name;
    shown.law = law_;
    shown.found = l->findings();
    if (auto const known = knowledge_of(l->law_state())) {
      if (known->rate > 0) shown.rate = known->rate;
      if (known->slots > 0) shown.window = known->slots;
    }
    shown.waiting = s->waits();
    shown.in_flight = static_cast<std::size_t>(l->flying());
    if (auto const held =
            s->in->parked() ? held_back{reason::server_hint, s->in->parked_until()} : l->why(now);
        held.why != reason::none) {
      shown.held.why = to_string(held.why);
      if (held.until != never) shown.held.for_time = std::max(held.until - now, duration(0));
    }
    if (auto const what = obstacle(now); shown.waiting > 0 && !what.empty())
      shown.held = {what, std::nullopt};
    for (auto const& q : l->quotas().look(now))
      shown.quotas.push_back({std::string(q.name), q.limit, q.remaining, q.reset});
    shown.expected_wait = expected_wait(now, *s, priority::normal, "");
    shown.expected_wait_interactive = expected_wait(now, *s, priority::interactive, "");
    shown.fleet = fleet_of(now, *l);
    shown.stopped = l->stopped();
    for (auto t = second - 120; t < second; ++t)
      shown.recent.push_back(
          {static_cast<int>(second - t), s->sent.at(t), s->throttled.at(t), s->waiting.at(t)});
    for (std::size_t p = 0; p < priorities; ++p)
      u.waiting[p] += s->queue.size(static_cast<priority>(p));
    s->queue.each_client([&](std::string const& name, std::size_t n) {
      auto& c = clients[name];
      c.name = name;
      c.waiting += n;
    });
    u.scopes.push_back(std::move(shown));
  }
  for (auto const& [at, w] : due_)
    if (w->is_ == waiter::phase::again) ++u.waiting[static_cast<std::size_t>(w->first)];
  std::ranges::sort(u.scopes, {}, &scope_state::name);
  for (auto& [name, c] : clients) u.clients.push_back(std::move(c));
  std::ranges::stable_sort(u.clients, [](auto const& a, auto const& b) {
    return std::pair(a.waiting, a.served_minute) > std::pair(b.waiting, b.served_minute);
  });
  if (u.clients.size() > clients_shown) u.clients.resize(clients_shown);
  return u;
}

}  // namespace headway::app::proxy
